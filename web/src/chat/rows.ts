import type { MessageProps } from "@props";
import { said, type SessionState } from "../session/state";

/** Which of the two is shown: all that was said, or what the model is sent. */
export type View = "log" | "window";

/** One row of a conversation. */
export type Row =
  | { kind: "message"; key: string; message: MessageProps; isSent: boolean }
  | { kind: "summary"; key: string; message: MessageProps }
  | { kind: "earlier"; key: string }
  | { kind: "pending"; key: string; content: string }
  | { kind: "answer"; key: string; content: string };

/** What rows are made of. */
export type Shown = Pick<SessionState, "contextProps" | "log" | "pending" | "writing" | "streaming">;

/**
 * Return the rows of a conversation.
 *
 * The log shows every message where it was said; a summary stands as a line right before the first message behind what it stands for. Where nothing is
 * summed up, what is not in the window any more was cleared: it is there when it is asked for (`earlier`).
 */
export function rowsOf(state: Shown, view: View, earlier: boolean): Row[] {
  const rows = view === "window" ? windowRows(state) : logRows(state, earlier);
  if (state.pending !== null) rows.push({ kind: "pending", key: "pending", content: state.pending });
  if (state.writing) rows.push({ kind: "answer", key: "answer", content: state.streaming });
  return rows;
}

function windowRows({ contextProps }: Shown): Row[] {
  return contextProps.messages.map((message) =>
    message.role === "summary"
      ? { kind: "summary", key: message.id, message }
      : { kind: "message", key: message.id, message, isSent: true },
  );
}

function logRows({ contextProps, log }: Shown, earlier: boolean): Row[] {
  const window = new Set(said(contextProps).map((message) => message.id));
  const summaries = summariesBefore(contextProps.messages, new Set(log.map((message) => message.id)));
  const rows: Row[] = [];
  let hidden = 0;
  if (summaries.size === 0 && log.length) {
    const first = log.findIndex((message) => window.has(message.id));
    hidden = first < 0 ? log.length : first;
    if (hidden) rows.push({ kind: "earlier", key: "earlier" });
  }
  for (const message of earlier ? log : log.slice(hidden)) {
    for (const summary of summaries.get(message.id) ?? []) rows.push({ kind: "summary", key: summary.id, message: summary });
    rows.push({ kind: "message", key: message.id, message, isSent: window.has(message.id) });
  }
  for (const summary of summaries.get(null) ?? []) rows.push({ kind: "summary", key: summary.id, message: summary });
  return rows;
}

/** Return the summaries of a window by the id of the first message behind them that the log holds; null where there is none. */
function summariesBefore(messages: MessageProps[], log: Set<string>): Map<string | null, MessageProps[]> {
  const found = new Map<string | null, MessageProps[]>();
  let waiting: MessageProps[] = [];
  for (const message of messages) {
    if (message.role === "summary") waiting.push(message);
    else if (waiting.length && log.has(message.id)) {
      found.set(message.id, waiting);
      waiting = [];
    }
  }
  if (waiting.length) found.set(null, waiting);
  return found;
}
