import { useEffect, useMemo, useRef, useState } from "react";
import { Composer } from "../composer/Composer";
import { said } from "../session/state";
import type { ContextSession } from "../session/useContextSession";
import { Conversation } from "./Conversation";
import { Gauge } from "./Gauge";
import { rowsOf, type View } from "./rows";
import { reasonOf } from "./words";

interface Props {
  chat: ContextSession;
  /** goes on elsewhere from right behind a message, or from here */
  onFork: (message: string | null) => void;
}

/** Show one conversation: what was said, how full its context is, and what can be done. */
export function ChatPanel({ chat, onFork }: Props) {
  const { contextProps, log, writing, streaming, pending, connection, problem } = chat;
  const [view, setView] = useState<View>("log");
  const [earlier, setEarlier] = useState(false);
  // A chat begins with a view of its own, not with that of the one before.
  useEffect(() => {
    setView("log");
    setEarlier(false);
  }, [chat.session]);
  const rows = useMemo(
    () => rowsOf({ contextProps, log, pending, writing, streaming }, view, earlier),
    [contextProps, log, pending, writing, streaming, view, earlier],
  );
  const isIdle = !writing && pending === null;
  const isUnanswered = isIdle && said(contextProps).at(-1)?.role === "user";

  return (
    <section className="chat" aria-label="Chat">
      <header className="bar">
        <Gauge pressure={contextProps.pressure} status={contextProps.status} phase={contextProps.phase} />
        <div className="bar-actions">
          <button type="button" disabled={!isIdle || !contextProps.actions.compress} onClick={() => void chat.onCompress()}>
            Compress
          </button>
          <button type="button" disabled={!isIdle || !contextProps.actions.clear} onClick={() => void chat.onClear()}>
            Clear
          </button>
        </div>
      </header>
      {connection === "lost" && !chat.needsToken && !chat.missing && (
        <div className="banner" role="status">
          <span>Connection lost. Reconnecting…</span>
          <button type="button" onClick={chat.onReconnect}>
            Try now
          </button>
        </div>
      )}
      {problem !== null && (
        <div className="banner problem" role="alert">
          <span>{problem}</span>
          {isUnanswered && (
            <button type="button" onClick={() => void chat.onRegenerate()}>
              Try again
            </button>
          )}
          <button type="button" onClick={chat.onDismiss}>
            Dismiss
          </button>
        </div>
      )}
      {rows.length === 0 ? (
        <Welcome isKnown={chat.known || chat.session === null} isMissing={chat.missing} />
      ) : (
        <Conversation
          rows={rows}
          view={view}
          isIdle={isIdle}
          isWhole={chat.before === null}
          isEarlierShown={earlier}
          onOlder={chat.onOlder}
          onView={setView}
          onEarlier={setEarlier}
          onEdit={chat.onEdit}
          onPin={chat.onPin}
          onRecall={chat.onRecall}
          onFork={onFork}
        />
      )}
      <Announced chat={chat} />
      <footer id="message">
        <div className="answering">
          {writing && (
            <button type="button" onClick={() => void chat.onCancel()}>
              Stop
            </button>
          )}
          {isIdle && said(contextProps).length > 0 && (
            <button type="button" onClick={() => void chat.onRegenerate()}>
              Answer again
            </button>
          )}
        </div>
        <Composer
          disabled={!isIdle || !contextProps.actions.send || chat.missing}
          reason={reasonOf(chat)}
          onSend={chat.onSend}
          sources={chat.sources}
        />
      </footer>
    </section>
  );
}

function Welcome({ isKnown, isMissing }: { isKnown: boolean; isMissing: boolean }) {
  if (isMissing) return <p className="welcome">This chat does not exist. Choose another one, or start a new one.</p>;
  if (!isKnown) return <p className="welcome">Opening…</p>;
  return (
    <div className="welcome">
      <h2>Start a conversation</h2>
      <p>The bar above shows how full the context is. When it fills up, earlier messages are summarised for the model; you still see all of them here.</p>
    </div>
  );
}

/** Tell a screen reader what is new, once and whole: rows come and go with scrolling, and an answer comes word by word. */
function Announced({ chat }: { chat: ContextSession }) {
  const last = said(chat.contextProps).at(-1);
  const heard = useRef<string | null>(null);
  const [text, setText] = useState("");
  const { known } = chat;
  useEffect(() => {
    // What was there when the page was opened is not new.
    if (known && heard.current !== null && last && last.id !== heard.current && last.role === "assistant") setText(`Assistant: ${last.content}`);
    if (known) heard.current = last?.id ?? "";
  }, [known, last]);
  return (
    <div className="unseen" role="log" aria-live="polite" aria-label="New messages">
      {text}
    </div>
  );
}
