import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { Markdown } from "./Markdown";
import { Message, type MessageActions } from "./Message";
import type { Row, View } from "./rows";

interface Props extends MessageActions {
  rows: Row[];
  view: View;
  isIdle: boolean;
  isWhole: boolean;
  isEarlierShown: boolean;
  onOlder: () => Promise<boolean>;
  onView: (view: View) => void;
  onEarlier: (shown: boolean) => void;
}

/** Pixels of a row before it is measured, and how near to the top the page before is asked for. */
const GUESS = 120;
const NEAR = 1200;

/** Show the rows of a conversation: those alone that can be seen are in the page, and the newest stays in sight unless the reader went elsewhere. */
export function Conversation({ rows, view, isIdle, isWhole, isEarlierShown, onOlder, onView, onEarlier, ...actions }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [draft, setDraft] = useState<{ message: string; text: string } | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => place.current,
    estimateSize: () => GUESS,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    // Pages that come in above move nothing; what comes in below is followed by whoever is there.
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 80,
  });

  const begun = rows.length > 0;
  useEffect(() => {
    if (begun) virtual.scrollToEnd();
  }, [begun, virtual]);

  // A row is as high as was guessed until it is measured: whoever was at the end stays there.
  const wasAtEnd = useRef(true);
  const height = virtual.getTotalSize();
  useEffect(() => {
    if (wasAtEnd.current) virtual.scrollToEnd();
  }, [height, virtual]);

  // Where a keyboard or a notice takes room away, whoever reads the newest words goes on reading them.
  useEffect(() => {
    if (!place.current) return;
    const element = place.current;
    const scrolled = () => {
      wasAtEnd.current = virtual.isAtEnd(80);
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    const resized = new ResizeObserver(() => wasAtEnd.current && virtual.scrollToEnd());
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", scrolled);
      resized.disconnect();
    };
  }, [virtual]);

  const offset = virtual.scrollOffset ?? 0;
  const asks = begun && !isWhole && view === "log" && offset < NEAR;
  useEffect(() => {
    if (asks) void onOlder();
  }, [asks, onOlder]);

  function shown(row: Row) {
    switch (row.kind) {
      case "message":
        return (
          <Message
            message={row.message}
            isSent={row.isSent}
            isIdle={isIdle}
            draft={draft?.message === row.message.id ? draft.text : null}
            onDraft={(text) => setDraft(text === null ? null : { message: row.message.id, text })}
            {...actions}
          />
        );
      case "summary":
        return (
          <div className="summary">
            <p>Summarised for the model: {row.message.content}</p>
            <button type="button" aria-pressed={view === "window"} onClick={() => onView(view === "log" ? "window" : "log")}>
              {view === "log" ? "Show what the model sees" : "Show all messages"}
            </button>
          </div>
        );
      case "earlier":
        return (
          <div className="summary">
            <p>The conversation was cleared: the model knows nothing of what was said before.</p>
            <button type="button" aria-expanded={isEarlierShown} onClick={() => onEarlier(!isEarlierShown)}>
              {isEarlierShown ? "Hide it" : "Show it"}
            </button>
          </div>
        );
      case "pending":
        return (
          <article className="message pending" data-role="user" data-sent="true" aria-label="You">
            <header>
              <span className="who">You</span>
              <span>sending…</span>
            </header>
            <Markdown text={row.content} />
          </article>
        );
      case "answer":
        return <Answer text={row.content} />;
    }
  }

  return (
    <div ref={place} className="conversation" role="region" aria-label="Conversation" tabIndex={0}>
      <div className="rows" role="list" style={{ height }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                role="listitem"
                className="row"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {shown(row)}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

/** Show an answer that is being written. Its words may come faster than they can be laid out: what came in between is left out then. */
function Answer({ text }: { text: string }) {
  return (
    <article className="message" data-role="assistant" data-sent="true" aria-label="Assistant" aria-busy="true">
      <header>
        <span className="who">Assistant</span>
        <span className="writing">writing…</span>
      </header>
      <Markdown text={useDeferredValue(text)} />
    </article>
  );
}
