import type { ChatProps, MessageProps } from "@props";
import type { HistoryPage } from "./client";
import type { Connection } from "./listen";

/** Props before anything is known: an empty chat that takes a message. */
export const INITIAL: ChatProps = {
  messages: [],
  pressure: 0,
  status: "ready",
  phase: "ready",
  answering: false,
  ending: null,
  canSend: true,
  actions: { send: true, compress: false, clear: false },
};

/** All that a page knows of a chat. */
export interface SessionState {
  /** what the server said last */
  contextProps: ChatProps;
  connection: Connection;
  /** whether an answer is being written */
  writing: boolean;
  /** whether another answer was asked for, of which nothing was heard yet */
  asked: boolean;
  /** the words of it so far */
  streaming: string;
  /** what is on its way to the server */
  pending: string | null;
  /** what went wrong last, in words */
  problem: string | null;
  /** what was said, oldest first, as far back as was asked for */
  log: MessageProps[];
  /** before which message the next page is; null at the beginning */
  before: string | null;
  /** how often the log was found to be behind the window: each time its newest page is asked for */
  behind: number;
  /** whether the log's newest page is here */
  known: boolean;
}

export const NOTHING: SessionState = {
  contextProps: INITIAL,
  connection: "connecting",
  asked: false,
  writing: false,
  streaming: "",
  pending: null,
  problem: null,
  log: [],
  before: null,
  behind: 0,
  known: false,
};

export type Change =
  | { type: "opened" }
  | { type: "connection"; connection: Connection }
  | { type: "props"; props: ChatProps }
  | { type: "delta"; text: string }
  | { type: "problem"; what: string | null }
  | { type: "pending"; content: string | null }
  | { type: "asked" }
  | { type: "cancelled" }
  | { type: "newest"; page: HistoryPage }
  | { type: "older"; page: HistoryPage; before: string };

/** Return what a page knows after a change. */
export function reduce(state: SessionState, change: Change): SessionState {
  switch (change.type) {
    case "opened":
      return NOTHING;
    case "connection":
      return state.connection === change.connection
        ? state
        : { ...state, connection: change.connection };
    case "props":
      return followed(state, change.props);
    case "delta":
      return { ...state, asked: false, writing: true, streaming: state.streaming + change.text };
    case "problem":
      return { ...state, asked: false, problem: change.what };
    case "pending":
      return { ...state, pending: change.content };
    case "asked":
      return { ...state, asked: true, writing: true, problem: null };
    case "cancelled":
      return { ...state, asked: false, writing: false, streaming: "" };
    case "newest":
      return renewed(state, change.page);
    case "older":
      // An answer that comes after the log was cut elsewhere belongs to no place in it.
      if (state.before !== change.before) return state;
      return { ...state, log: [...change.page.messages, ...state.log], before: change.page.before };
  }
}

/** Return the messages of the window that somebody said: summaries were said by nobody, and stand in no log. */
export function said(props: ChatProps): MessageProps[] {
  return props.messages.filter((message) => message.role !== "summary");
}

/** Take in how all stands: the server says whether an answer is being written, unless another one was asked for just now. */
function followed(state: SessionState, props: ChatProps): SessionState {
  const writing = props.answering || (state.asked && said(props).at(-1)?.role === "user");
  const log = state.known ? appended(state.log, props) : null;
  return {
    ...state,
    contextProps: props,
    asked: false,
    writing,
    streaming: "",
    pending: writing ? null : state.pending,
    problem: writing ? null : state.problem,
    log: log ?? state.log,
    behind: state.behind + (log ? 0 : 1),
  };
}

/** Return the log with what is new in the window behind it, or null where the window does not go on from it: something was taken back or summed up. */
function appended(log: MessageProps[], props: ChatProps): MessageProps[] | null {
  const window = said(props);
  const last = log.at(-1);
  const place = last ? window.findIndex((message) => message.id === last.id) : -1;
  if (last && place < 0) return null;
  const kept = new Map(window.map((message) => [message.id, message]));
  return [...log.map((message) => kept.get(message.id) ?? message), ...window.slice(place + 1)];
}

/** Return the state with the newest page in the place of the log's end, and of what was taken back. */
function renewed(state: SessionState, { messages, before }: HistoryPage): SessionState {
  const first = messages[0];
  const place = first ? state.log.findIndex((message) => message.id === first.id) : -1;
  // A page that does not touch what is here begins the log anew.
  const log = place < 0 ? messages : [...state.log.slice(0, place), ...messages];
  return {
    ...state,
    known: true,
    log: appended(log, state.contextProps) ?? log,
    before: place < 0 ? before : state.before,
  };
}
