import type { EndingProps, MessageProps } from "@props";
import type { Turn } from "../inspect/data";
import { said, type SessionState } from "../session/state";

/** Which of the two is shown: all that was said, or what the model is sent. */
export type View = "log" | "window";

/** One row of a conversation. */
export type Row =
  | { kind: "message"; key: string; message: MessageProps; isSent: boolean }
  | { kind: "summary"; key: string; message: MessageProps }
  | { kind: "tool"; key: string; turn: Turn }
  | { kind: "past"; key: string }
  | { kind: "later"; key: string; hidden: number }
  /** `last` is the last message, unless something was said since the conversation was cleared */
  | { kind: "earlier"; key: string; last: string | null }
  | { kind: "pending"; key: string; content: string }
  | { kind: "answer"; key: string; content: string }
  | { kind: "ending"; key: string; ending: EndingProps };

/** What rows are made of. */
export type Shown = Pick<
  SessionState,
  "contextProps" | "log" | "pending" | "writing" | "streaming"
> & {
  /** the turns of the log, where they may be seen: tool calls are shown between the messages */
  turns?: Turn[] | undefined;
};

/**
 * Return the rows of a conversation.
 *
 * The log shows every message where it was said; a summary stands as a line right before the first
 * message behind all that it stands for. Where nothing is summarised, what is not in the window any
 * more was cleared: it is there when it is asked for (`earlier`).
 */
export function rowsOf(state: Shown, view: View, earlier: boolean): Row[] {
  const rows = view === "window" ? windowRows(state) : logRows(state, earlier);
  const ending = endingOf(state);
  if (ending && state.pending === null) rows.push({ kind: "ending", key: "ending", ending });
  if (state.pending !== null)
    rows.push({ kind: "pending", key: "pending", content: state.pending });
  if (state.writing) rows.push({ kind: "answer", key: "answer", content: state.streaming });
  return rows;
}

/** Return the rows of what the model saw at an earlier turn. */
export function pastRows(view: string[], hidden: number): Row[] {
  const rows: Row[] = view.map((key) => ({ kind: "past", key }));
  return [...rows, { kind: "later", key: "later", hidden }];
}

/** Return how the last answer ended, if there is something to say about it. */
export function endingOf({ contextProps, writing }: Pick<Shown, "contextProps" | "writing">) {
  const { ending } = contextProps;
  return ending && ending.kind !== "done" && !writing ? ending : null;
}

function windowRows({ contextProps }: Shown): Row[] {
  return contextProps.messages.map((message) =>
    message.role === "summary"
      ? { kind: "summary", key: message.id, message }
      : { kind: "message", key: message.id, message, isSent: true },
  );
}

function logRows({ contextProps, log, turns = [], writing }: Shown, earlier: boolean): Row[] {
  const window = new Set(said(contextProps).map((message) => message.id));
  const summaries = summariesBefore(contextProps.messages, log);
  const tools = toolsBefore(turns, log, writing);
  const rows: Row[] = [];
  let hidden = 0;
  if (summaries.size === 0 && log.length) {
    const first = log.findIndex((message) => window.has(message.id));
    hidden = first < 0 ? log.length : first;
    const last = hidden === log.length ? log.at(-1) : null;
    if (hidden) rows.push({ kind: "earlier", key: "earlier", last: last?.id ?? null });
  }
  const before = (id: string | null) => {
    for (const turn of tools.get(id) ?? []) rows.push({ kind: "tool", key: turn.id, turn });
    for (const summary of summaries.get(id) ?? [])
      rows.push({ kind: "summary", key: summary.id, message: summary });
  };
  for (const message of earlier ? log : log.slice(hidden)) {
    before(message.id);
    rows.push({ kind: "message", key: message.id, message, isSent: window.has(message.id) });
  }
  before(null);
  return rows;
}

/** Return the calls of tools by the message of the log that they stand before; null: behind all. */
function toolsBefore(turns: Turn[], log: MessageProps[], writing: boolean) {
  const found = new Map<string | null, Turn[]>();
  const shown = new Set(log.map((message) => message.id));
  let waiting: Turn[] = [];
  let isBegun = false;
  let called: string | null = null;
  turns.forEach((turn, index) => {
    if (shown.has(turn.id)) {
      // Calls before the oldest message that is here come with its page.
      if (waiting.length && isBegun) found.set(turn.id, waiting);
      waiting = [];
      isBegun = true;
    }
    const isOpen = turn.role === "assistant" && writing && index === turns.length - 1;
    if (turn.role === "assistant") called = turn.tool;
    // A result may not name its tool; the call before it does.
    const tool = turn.tool ?? called ?? "tool";
    if (turn.role === "tool" || (isOpen && turn.tool)) waiting.push({ ...turn, tool });
  });
  if (waiting.length) found.set(null, waiting);
  return found;
}

/**
 * Return the summaries of a window by the id of the first message behind all that they stand for;
 * null where the log holds none.
 *
 * A message that was restored from the middle of what is summarised has messages behind it that the
 * window does not hold: the summary stands behind those.
 */
function summariesBefore(
  messages: MessageProps[],
  log: MessageProps[],
): Map<string | null, MessageProps[]> {
  const places = new Map(log.map((message, place) => [message.id, place]));
  const window = new Set(messages.map((message) => message.id));
  const found = new Map<string | null, MessageProps[]>();
  let waiting: MessageProps[] = [];
  messages.forEach((message, index) => {
    if (message.role !== "summary") return;
    waiting.push(message);
    const rest = messages.slice(index + 1);
    const next = rest.findIndex(({ role }) => role === "summary");
    const behind = (next < 0 ? rest : rest.slice(0, next)).filter(({ id }) => places.has(id));
    const end = next < 0 ? log.length : (places.get(behind.at(-1)?.id ?? "") ?? 0);
    const missing = log.findLastIndex(({ id }, place) => place < end && !window.has(id));
    const first = behind.find(({ id }) => (places.get(id) ?? 0) > missing) ?? behind.at(-1);
    const isLast = next < 0 && behind.every(({ id }) => (places.get(id) ?? 0) < missing);
    if (!first && next >= 0) return;
    found.set(isLast ? null : (first?.id ?? null), waiting);
    waiting = [];
  });
  return found;
}
