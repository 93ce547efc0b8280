import type { MessageProps } from "@props";
import { type KeyboardEvent, useState } from "react";
import { Markdown } from "./Markdown";
import { timeOf } from "./words";

/** What can be done with a message. */
export interface MessageActions {
  onEdit: (message: string, content: string) => Promise<boolean>;
  onPin: (message: string) => Promise<boolean>;
  onRecall: (message: string) => Promise<boolean>;
  onFork: (message: string) => void;
}

interface Props extends MessageActions {
  message: MessageProps;
  /** whether the model is still sent it as it was said */
  isSent: boolean;
  /** whether the conversation can be changed now */
  isIdle: boolean;
  /** the words of an edit that is not done yet; null where there is none */
  draft: string | null;
  onDraft: (draft: string | null) => void;
}

/** Show one message, what became of it, and what can be done with it. */
export function Message({ message, isSent, isIdle, draft, onDraft, onEdit, onPin, onRecall, onFork }: Props) {
  const isOwn = message.role === "user";
  return (
    <article className="message" data-role={message.role} data-sent={isSent} aria-label={isOwn ? "You" : "Assistant"}>
      <header>
        <span className="who">{isOwn ? "You" : "Assistant"}</span>
        <time dateTime={message.timestamp}>{timeOf(message.timestamp)}</time>
        {message.isPreserved && isSent && (
          <span className="badge" title="This message is kept verbatim">
            Kept
          </span>
        )}
        {!isSent && (
          <span className="badge" title="The model has at most a summary of this message">
            Not sent any more
          </span>
        )}
        {draft === null && (
          <div className="actions" role="group" aria-label="Actions of this message">
            {isOwn && isSent && (
              <button type="button" disabled={!isIdle} onClick={() => onDraft(message.content)}>
                Edit
              </button>
            )}
            {isSent && !message.isPreserved && (
              <button type="button" disabled={!isIdle} onClick={() => void onPin(message.id)}>
                Keep
              </button>
            )}
            {!isSent && (
              <button type="button" disabled={!isIdle} onClick={() => void onRecall(message.id)}>
                Restore
              </button>
            )}
            <button type="button" onClick={() => onFork(message.id)}>
              Branch
            </button>
            <Copy text={message.content} />
          </div>
        )}
      </header>
      {draft === null ? (
        <Markdown text={message.content} />
      ) : (
        <Editing
          draft={draft}
          onDraft={onDraft}
          onDone={async () => {
            if (await onEdit(message.id, draft)) onDraft(null);
          }}
        />
      )}
    </article>
  );
}

function Editing({ draft, onDraft, onDone }: { draft: string; onDraft: Props["onDraft"]; onDone: () => Promise<void> }) {
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
        ref={(place) => place?.focus()}
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
          Leave it
        </button>
      </div>
    </form>
  );
}

function Copy({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  // Not there where a page comes over plain HTTP.
  if (!globalThis.navigator?.clipboard) return null;
  return (
    <button type="button" onClick={() => void navigator.clipboard.writeText(text).then(() => setDone(true))} onBlur={() => setDone(false)}>
      {done ? "Copied" : "Copy"}
    </button>
  );
}
