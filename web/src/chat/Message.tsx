import type { MessageProps } from "@props";
import { CircleHelp, File, GitBranch, Pencil, Pin, Undo2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { CopyButton } from "./Code";
import { Markdown } from "./Markdown";
import { attachmentOf } from "./pillText";
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
  onSource?: ((name: string) => void) | undefined;
}

interface Props extends MessageActions {
  message: MessageProps;
  /** whether the model is still sent it as it was said */
  isSent: boolean;
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
        <Attachment name={attached} onSource={props.onSource} />
      ) : (
        <Markdown text={message.content} />
      )}
      {message.isPreserved && isSent && (
        <span className="badge">
          <Pin aria-hidden /> Kept word for word
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
            <Act name="Keep" isDisabled={!isChangeable} onAct={() => void props.onPin(message.id)}>
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
  isDisabled?: boolean;
  onAct: () => void;
  children: ReactNode;
}

function Act({ name, isDisabled = false, onAct, children }: ActProps) {
  return (
    <button
      type="button"
      className="icon"
      aria-label={name}
      title={name}
      disabled={isDisabled}
      onClick={onAct}
    >
      {children}
    </button>
  );
}

function Attachment({ name, onSource }: { name: string; onSource: MessageActions["onSource"] }) {
  const shown = (
    <>
      <File aria-hidden />
      <b>{name}</b>
    </>
  );
  return onSource ? (
    <button type="button" className="file" onClick={() => onSource(name)}>
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
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void onDone();
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
      <p>Later messages will be removed.</p>
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
