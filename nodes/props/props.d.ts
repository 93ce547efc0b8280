// Generated from polycontext.nodes.props.component_renderer by `just write props_contract`.

/** One message to show. */
export interface MessageProps {
  /** the id of the turn or of the summary */
  id: string;
  /** the speaker; a summary replaces earlier messages */
  role: "user" | "assistant" | "summary";
  /** the text; for an attachment its name, as [@name]; for a summary, the number of messages it replaces */
  content: string;
  /** the time, as ISO 8601 with an offset */
  timestamp: string;
  /** whether it is kept verbatim */
  isPreserved: boolean;
}

/** How the last answer ended. */
export interface EndingProps {
  /** how it ended */
  kind: "done" | "stopped" | "cut_off" | "refused" | "empty" | "too_long" | "failed" | "timed_out" | "died";
  /** the id of the answer, or of the last message before it */
  messageId: string;
  /** what to tell the user */
  text: string;
  /** when to ask again, if the service says so */
  retryAt: string | null;
}

/** The actions that the session accepts now; none while a streamed answer is open.

A session that compresses automatically makes room for a message. */
export interface ActionProps {
  /** whether a user turn is accepted */
  send: boolean;
  /** whether a compression is accepted */
  compress: boolean;
  /** whether the conversation may be cleared */
  clear: boolean;
}

/** The props of a chat component. */
export interface ChatProps {
  /** the messages of user and assistant, oldest first */
  messages: MessageProps[];
  /** tokens used / max tokens; above 1 if a turn exceeded the budget */
  pressure: number;
  /** the status of the conversation */
  status: "ready" | "thinking" | "compressed";
  /** more than the status: the step of an agent, such as acting, pressured, or another state */
  phase: string;
  /** whether an answer is being written */
  answering: boolean;
  /** how the last answer ended, if it is known */
  ending: EndingProps | null;
  /** false while pressured, calls are open or an answer streams in */
  canSend: boolean;
  /** the actions to offer */
  actions: ActionProps;
}
