import type { MessageProps } from "@props";
import { CircleHelp, File, GitBranch, Pencil, Pin, Undo2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { KEEPS, number } from "../inspect/words";
import { CopyButton } from "./Code";
import { Markdown } from "./Markdown";
import { attachmentOf, isRevocation } from "./pillText";
import { timeOf } from "./words";

/** What can be done with a message. */
export interface MessageActions {
  onEdit: (message: string, content: string) => Promise<boolean>;
  onPin: (message: string) => Promise<boolean>;
  onRecall: (message: string) => Promise<boolean>;
  onFork: (message: string) => void;
  /** says what became of a message; left out where nobody may know */
  onWhy?: ((message: string) => void) | undefined;
  /** opens what a message attaches; left out where nothing opens it */
  onSource?: ((name: string, instead: () => void) => void) | undefined;
}

interface Props extends MessageActions {
  message: MessageProps;
  /** whether the model is still sent it as it was said */
  isSent: boolean;
  /** whether it stated a rule that has ended */
  isEnded: boolean;
  /** the tokens of a file that it attaches, where they are known */
  tokens: number | undefined;
  /** whether the conversation can be changed now */
  isIdle: boolean;
  isReadOnly: boolean;
  /** whether it is the newest, whose actions can always be seen and are reached by Tab */
  isNewest: boolean;
  /** the words of an edit that is not done yet; null where there is none */
  draft: string | null;
  onDraft: (draft: string | null) => void;
}

/** Show one message, what became of it, and what can be done with it. */
export function Message(props: Props) {
  const { message, isSent, isIdle, isReadOnly, isNewest, draft, onDraft, onWhy } = props;
  const isOwn = message.role === "user";
  const attached = isOwn ? attachmentOf(message.content) : null;
  const isChangeable = isIdle && !isReadOnly;
  if (isOwn && isRevocation(message.content))
    return <p className="soft notice">{message.content}</p>;
  return (
    <article
      className="message"
      id={`message-${message.id}`}
      data-role={message.role}
      data-sent={isSent}
      data-pinned={message.isPreserved && isSent}
      data-newest={isNewest}
      aria-label={isOwn ? "You" : "Assistant"}
    >
      {draft !== null ? (
        <Editing
          draft={draft}
          onDraft={onDraft}
          onDone={async () => {
            if (await props.onEdit(message.id, draft)) onDraft(null);
          }}
        />
      ) : attached !== null ? (
        <Attachment
          name={attached}
          tokens={props.tokens}
          onOpen={props.onSource && (() => props.onSource?.(attached, () => onWhy?.(message.id)))}
        />
      ) : (
        <Markdown text={message.content} />
      )}
      {message.isPreserved && isSent && (
        <span className="badge">
          <Pin aria-hidden /> {props.isEnded ? "Kept, though its rule has ended" : "Kept"}
        </span>
      )}
      {!isSent && <span className="unseen">Not sent any more</span>}
      {draft === null && (
        <Actions isNewest={isNewest}>
          {isOwn && isSent && attached === null && (
            <Act name="Edit" isDisabled={!isChangeable} onAct={() => onDraft(message.content)}>
              <Pencil aria-hidden />
            </Act>
          )}
          {isSent && !message.isPreserved && (
            <Act
              name="Keep"
              title={KEEPS}
              isDisabled={!isChangeable}
              onAct={() => void props.onPin(message.id)}
            >
              <Pin aria-hidden />
            </Act>
          )}
          {!isSent && (
            <Act
              name="Restore"
              isDisabled={!isChangeable}
              onAct={() => void props.onRecall(message.id)}
            >
              <Undo2 aria-hidden />
            </Act>
          )}
          <Act name="Branch" onAct={() => props.onFork(message.id)}>
            <GitBranch aria-hidden />
          </Act>
          {onWhy && (
            <Act name="What became of it" onAct={() => onWhy(message.id)}>
              <CircleHelp aria-hidden />
            </Act>
          )}
          <CopyButton text={message.content} name="Copy" />
          <time dateTime={message.timestamp}>{timeOf(message.timestamp)}</time>
        </Actions>
      )}
    </article>
  );
}

/** Hold the actions of a message: one stop for Tab, and only at the newest; arrows go on. */
function Actions({ isNewest, children }: { isNewest: boolean; children: ReactNode }) {
  function pressed(event: KeyboardEvent<HTMLElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const side = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && !side) return;
    event.preventDefault();
    const own = [...event.currentTarget.querySelectorAll("button")];
    const bars = [...document.querySelectorAll<HTMLElement>(".conversation .actions")];
    const bar = side ? bars[bars.indexOf(event.currentTarget) + side] : undefined;
    const next = step
      ? own[own.indexOf(event.target as HTMLButtonElement) + step]
      : bar?.querySelector("button");
    next?.focus();
  }
  return (
    <div
      className="actions"
      role="toolbar"
      aria-label="Actions of this message"
      data-entry={isNewest}
      // At each change: a button may come later, and a newer message too.
      ref={(bar) => entered(bar)}
      onKeyDown={pressed}
    >
      {children}
    </div>
  );
}

/** Let Tab reach the first button of the newest message alone. */
function entered(bar: HTMLElement | null): void {
  bar?.querySelectorAll("button").forEach((button, index) => {
    button.tabIndex = bar.dataset.entry === "true" && index === 0 ? 0 : -1;
  });
}

interface ActProps {
  name: string;
  /** what it does, where the name alone does not say so */
  title?: string;
  isDisabled?: boolean;
  onAct: () => void;
  children: ReactNode;
}

function Act({ name, title = name, isDisabled = false, onAct, children }: ActProps) {
  return (
    <button
      type="button"
      className="icon"
      aria-label={name}
      title={title}
      disabled={isDisabled}
      onClick={onAct}
    >
      {children}
    </button>
  );
}

interface AttachmentProps {
  name: string;
  tokens: number | undefined;
  onOpen: (() => void) | undefined;
}

function Attachment({ name, tokens, onOpen }: AttachmentProps) {
  const shown = (
    <>
      <File aria-hidden />
      <b>{name}</b>
      {tokens !== undefined && <small className="soft">{number(tokens)} tokens</small>}
    </>
  );
  return onOpen ? (
    <button type="button" className="file" onClick={onOpen}>
      {shown}
    </button>
  ) : (
    <span className="file">{shown}</span>
  );
}

interface EditingProps {
  draft: string;
  onDraft: Props["onDraft"];
  onDone: () => Promise<void>;
}

function Editing({ draft, onDraft, onDone }: EditingProps) {
  const [isFocused, setFocused] = useState(false);
  function pressed(event: KeyboardEvent) {
    if (event.key === "Escape") onDraft(null);
    // As in the box of new messages: Shift+Enter begins a line.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (draft.trim()) void onDone();
  }
  return (
    <form
      className="editing"
      onSubmit={(event) => {
        event.preventDefault();
        void onDone();
      }}
    >
      <textarea
        aria-label="Your message, edited"
        // Whoever asked to edit wants to write.
        ref={(place) => {
          if (!isFocused) place?.focus();
        }}
        onFocus={() => setFocused(true)}
        rows={Math.min(12, draft.split("\n").length + 1)}
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={pressed}
      />
      <p>Later messages are removed from this chat. To keep them, branch first.</p>
      <div>
        <button type="submit" className="primary" disabled={!draft.trim()}>
          Send again
        </button>
        <button type="button" onClick={() => onDraft(null)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
