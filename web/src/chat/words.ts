import type { ChatProps } from "@props";
import type { Room } from "../inspect/data";
import { number } from "../inspect/words";
import type { SessionState } from "../session/state";

/** What the phases of a conversation are called, and what they mean. */
const PHASES: Record<string, { name: string; meaning: string }> = {
  ready: { name: "Ready", meaning: "There is room." },
  thinking: { name: "Thinking", meaning: "Waiting for the model's answer." },
  pressured: { name: "Pressured", meaning: "Little room is left." },
  compressed: { name: "Compressed", meaning: "Earlier messages were summarised." },
  understanding: { name: "Reading", meaning: "The agent is finding out what you want." },
  acting: { name: "Working", meaning: "The agent is taking a step." },
  replying: { name: "Writing", meaning: "The agent is writing its reply." },
};

/** Return what a phase is called; one that only the server knows shows as its status. */
export function phaseOf({ phase, status }: Pick<ChatProps, "phase" | "status">) {
  return PHASES[phase] ?? PHASES[status]!;
}

/** Return how much is used, in per cent. */
export function percent(pressure: number): number {
  return Math.round(pressure * 100);
}

/** Return why a message has to wait, or what will happen when it is sent; an empty text where there is nothing to say. */
export function reasonOf({ contextProps, connection, writing, pending }: SessionState): string {
  const { phase, actions } = contextProps;
  if (pending !== null) return "Sending…";
  if (writing) return "The model is writing. Wait for it, or stop it.";
  if (!actions.send && phase === "pressured")
    return "The context is full. Compress or clear it to continue.";
  if (!actions.send)
    return "The model is waiting for a tool. You can send a message when the tool is done.";
  if (connection === "lost")
    return "No connection. Your message is sent when the connection is back.";
  if (phase === "pressured")
    return "The context is nearly full. Earlier messages will be summarised before your next one.";
  return "";
}

/** Part of the room before compression from which on it is announced. */
const SOON = 0.15;

/** Return that earlier messages will soon be summarised, if so. */
export function soonOf(room: Room | undefined): string {
  const left = room ? room.pressuredAbove - room.tokens : 0;
  if (!room || left <= 0 || left > room.pressuredAbove * SOON) return "";
  return `The context is nearly full. After ${number(left)} more tokens, earlier messages are summarised.`;
}

/** Return when something was said, as the reader's place writes it. */
export function timeOf(timestamp: string, now: Date = new Date()): string {
  const when = new Date(timestamp);
  if (Number.isNaN(when.getTime())) return "";
  const today = when.toDateString() === now.toDateString();
  return today
    ? when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
