import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { ArrowDown, ChevronRight, FoldVertical } from "lucide-react";
import { SummarySheet } from "../inspect/SummarySheet";
import type { Inspected } from "../inspect/useInspection";
import { EndingRow } from "./Ending";
import { Markdown } from "./Markdown";
import { Message, type MessageActions } from "./Message";
import { PastTurn } from "./PastTurn";
import type { Row, View } from "./rows";
import { ToolRow } from "./ToolRow";

interface Props extends MessageActions {
  rows: Row[];
  view: View;
  isIdle: boolean;
  isWhole: boolean;
  isEarlierShown: boolean;
  isReadOnly: boolean;
  inspected: Inspected | null;
  /** the message to bring into sight; null where there is none */
  sought: string | null;
  /** how often the newest row was asked for */
  jumps: number;
  onAgain: () => void;
  onOlder: () => Promise<boolean>;
  onView: (view: View) => void;
  onEarlier: (shown: boolean) => void;
  /** takes a clear back, to right behind the last message */
  onUnclear: (last: string) => void;
}

/** Pixels of a row before it is measured, and how near to the top the page before is asked for. */
const GUESS = 120;
const NEAR = 1200;

/** Show the rows of a conversation: those alone that can be seen are in the page, and the newest stays in sight unless the reader went elsewhere. */
export function Conversation({
  rows,
  view,
  isIdle,
  isWhole,
  isEarlierShown,
  isReadOnly,
  inspected,
  sought,
  jumps,
  onAgain,
  onOlder,
  onView,
  onEarlier,
  onUnclear,
  ...actions
}: Props) {
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

  useEffect(() => {
    if (!jumps) return;
    wasAtEnd.current = true;
    virtual.scrollToEnd();
  }, [jumps, virtual]);

  // Where a keyboard or a notice takes room away, whoever reads the newest words goes on reading them.
  useEffect(() => {
    if (!place.current) return;
    const element = place.current;
    const scrolled = () => {
      wasAtEnd.current = virtual.isAtEnd(80);
      setAway(!virtual.isAtEnd(400));
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

  const [isAway, setAway] = useState(false);
  const soughtAt = rows.findIndex((row) => row.key === sought);
  useEffect(() => {
    if (soughtAt >= 0) virtual.scrollToIndex(soughtAt, { align: "center" });
  }, [soughtAt, virtual]);

  const turns = new Map(inspected?.now.turns.map((turn) => [turn.id, turn]));
  const ended = new Set(inspected?.now.ended.map((rule) => rule.messageId));
  const newest = rows.findLast((row) => row.kind === "message")?.key;
  const onWhy = actions.onWhy;

  function shown(row: Row) {
    switch (row.kind) {
      case "message":
        return (
          <Message
            message={row.message}
            isSent={row.isSent}
            isEnded={ended.has(row.key)}
            tokens={turns.get(row.key)?.tokens}
            isIdle={isIdle}
            isReadOnly={isReadOnly}
            isNewest={row.key === newest}
            draft={draft?.message === row.message.id ? draft.text : null}
            onDraft={(text) => setDraft(text === null ? null : { message: row.message.id, text })}
            {...actions}
          />
        );
      case "summary":
        return (
          <Summary
            row={row}
            view={view}
            inspected={inspected}
            onView={onView}
            onTurn={onWhy}
            onRecall={isReadOnly ? undefined : actions.onRecall}
          />
        );
      case "tool":
        return inspected && onWhy ? (
          <ToolRow turn={row.turn} details={inspected.details} onTurn={onWhy} />
        ) : null;
      case "past":
        return inspected && onWhy ? (
          <PastTurn id={row.key} inspected={inspected} onTurn={onWhy} />
        ) : null;
      case "later":
        return <p className="soft later">{row.hidden} later steps are hidden</p>;
      case "ending":
        return <EndingRow ending={row.ending} onAgain={isReadOnly ? null : onAgain} />;
      case "earlier": {
        const { last } = row;
        return (
          <div className="summary">
            <p>The conversation was cleared: the model starts anew.</p>
            <button
              type="button"
              aria-expanded={isEarlierShown}
              onClick={() => onEarlier(!isEarlierShown)}
            >
              {isEarlierShown ? "Hide it" : "Show it"}
            </button>
            {last !== null && isIdle && !isReadOnly && (
              <button type="button" onClick={() => onUnclear(last)}>
                Undo
              </button>
            )}
          </div>
        );
      }
      case "pending":
        return (
          <article className="message pending" data-role="user" data-sent="true" aria-label="You">
            <Markdown text={row.content} />
            <small className="soft">sending…</small>
          </article>
        );
      case "answer":
        return <Answer text={row.content} />;
    }
  }

  return (
    <div className="conversation-place">
      <div
        ref={place}
        className="conversation"
        role="region"
        aria-label="Conversation"
        tabIndex={0}
      >
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
      {isAway && (
        <button type="button" className="newest" onClick={() => virtual.scrollToEnd()}>
          <ArrowDown aria-hidden />
          Newest
        </button>
      )}
    </div>
  );
}

interface SummaryProps {
  row: Extract<Row, { kind: "summary" }>;
  view: View;
  inspected: Inspected | null;
  onView: (view: View) => void;
  onTurn: ((id: string) => void) | undefined;
  onRecall: ((id: string) => Promise<boolean>) | undefined;
}

/** Show where messages were summarised; where it may be seen, what the model reads instead. */
function Summary({ row, view, inspected, onView, onTurn, onRecall }: SummaryProps) {
  const [isOpen, setOpen] = useState(false);
  const summary = inspected?.now.summaries.find(({ id }) => id === row.message.id);
  return (
    <>
      <div className="summary">
        {summary && onTurn ? (
          <button
            type="button"
            className="cut"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <FoldVertical aria-hidden />
            Summarised for the model: {row.message.content}
            <ChevronRight aria-hidden className="chevron" />
          </button>
        ) : (
          <p>Summarised for the model: {row.message.content}</p>
        )}
        <button
          type="button"
          className="plain"
          aria-pressed={view === "window"}
          onClick={() => onView(view === "log" ? "window" : "log")}
        >
          {view === "log" ? "Show what the model sees" : "Show all messages"}
        </button>
      </div>
      {isOpen && summary && inspected && onTurn && (
        <SummarySheet
          summary={summary}
          inspected={inspected}
          onTurn={onTurn}
          onRecall={onRecall && ((id) => void onRecall(id))}
        />
      )}
    </>
  );
}

/** Show an answer that is being written. Its words may come faster than they can be laid out: what came in between is left out then. */
function Answer({ text }: { text: string }) {
  return (
    <article
      className="message"
      data-role="assistant"
      data-sent="true"
      aria-label="Assistant"
      aria-busy="true"
    >
      <Markdown text={useDeferredValue(text)} />
      <span className="writing">
        <i className="live" /> writing…
      </span>
    </article>
  );
}
