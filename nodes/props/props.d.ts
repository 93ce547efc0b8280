// Generated from polycontext.nodes.props.component_renderer; `just props` writes it anew.

/** One message to show. */
export interface MessageProps {
  /** the turn's id; a summary has one of its own */
  id: string;
  /** who said it; a summary stands for earlier messages */
  role: "user" | "assistant" | "summary";
  /** what was said; of an attachment its name, as [@name]; of a summary, how many messages it stands for */
  content: string;
  /** when, as ISO 8601 with an offset */
  timestamp: string;
  /** whether it stays word for word */
  isPreserved: boolean;
}

/** Which actions the session would accept now.

One that compresses by itself makes room for a send. */
export interface ActionProps {
  /** whether a user turn would be taken */
  send: boolean;
  /** whether a compression would be taken */
  compress: boolean;
  /** whether the conversation may be cleared */
  clear: boolean;
}

/** The props of a chat component. */
export interface ChatProps {
  /** what user and assistant said, oldest first */
  messages: MessageProps[];
  /** tokens used / max tokens; above 1 where a turn took the window over its budget */
  pressure: number;
  /** what the conversation is at */
  status: "ready" | "thinking" | "pressured" | "compressed";
  /** whether an answer is being written now */
  answering: boolean;
  /** the machine's word: false while pressured, and while calls are open */
  canSend: boolean;
  /** what a button may offer */
  actions: ActionProps;
}
