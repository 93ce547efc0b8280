import { Refused } from "./client";

/** Sentences for the person who chats, by the name of the server's error: its own text is for programs. */
const BY_ERROR: Record<string, string> = {
  ContextOverflowError: "This message is too long. Shorten it, or attach it as a file.",
  SessionWriteError: "An answer is still being written. Wait for it, or stop it.",
  OrderError: "The assistant is still using a tool. Try again in a moment.",
  DemotionError: "This message is kept already.",
  FloorError: "A message that was kept or brought back since would be summarised again.",
  UnknownResourceError: "This message no longer exists. Reload the page.",
};

const BY_STATUS: Record<number, string> = {
  401: "The server did not accept your token.",
  403: "You may not do that here.",
  404: "This chat no longer exists.",
  409: "This chat has changed in another window. Reload the page and try again.",
  413: "This is too large to send.",
  429: "Too many requests. Wait a minute and try again.",
};

/** What needs room other than a message, by the route that asks for it. */
const NEEDS: Record<string, string> = {
  undo: "This compression can no longer be undone: the context would need",
  recall: "There is no room to bring this back: the context would need",
  pin: "There is no room to keep this: the context would need",
};

/** Return what to tell the person who chats about an error, and about what they asked for. */
export function sentenceOf(error: unknown, asked = ""): string {
  if (!(error instanceof Refused)) return error instanceof Error ? error.message : String(error);
  // What is wrong with an attachment is said of it by name.
  if (error.isAttachment) return error.message;
  if (error.overflow) {
    const [needed, most] = [error.overflow.tokens, error.overflow.most].map((each) =>
      each.toLocaleString("en"),
    );
    const needs = NEEDS[asked];
    if (needs) return `${needs} ${needed} tokens, and ${most} fit.`;
    return `This message needs ${needed} tokens; at most ${most} fit. Shorten it, or attach it as a file.`;
  }
  const known = BY_ERROR[error.kind] ?? BY_STATUS[error.status];
  return (
    known ??
    (error.status < 500
      ? "This could not be done. Change the message and try again."
      : "The server could not save this. Try again.")
  );
}
