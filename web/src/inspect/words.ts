import type { Turn } from "./data";

/** Names of the classes, as a person reads them. */
export const NAMES = {
  system: "System",
  pinned: "Pinned",
  summarised: "Summarised",
  verbatim: "Word for word",
  free: "Free",
} as const;

/** Return a whole number with separators. */
export function number(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** Return a share in per cent. */
export function share(part: number, whole: number): string {
  return `${whole > 0 ? Math.round((part / whole) * 100) : 0} %`;
}

/** Return a number of things, with its noun in the singular or plural. */
export function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

const FATES: Record<string, string> = {
  "word for word": "Seen word for word",
  "without its parts": "Seen without its files",
  "word for word, superseded": "Seen; a newer one replaces it",
  superseded: "Replaced by a newer one",
  cut: "Seen shortened",
  summarised: "Summarised",
  dropped: "Dropped",
  forgotten: "Erased",
  expired: "Expired",
};

/** Return what became of a message, as a person reads it. */
export function fateOf(fate: string): string {
  return FATES[fate] ?? fate;
}

/** Tell whether the model still reads the message itself. */
export function isSeen({ fate }: Pick<Turn, "fate">): boolean {
  return fate.startsWith("w") || fate === "cut";
}

/** Return who said something. */
export function speakerOf({ role, tool }: { role: string; tool: string | null }): string {
  if (role === "user") return "You";
  if (role === "assistant") return "Assistant";
  if (role === "system") return "System";
  return tool ?? (role === "tool" ? "Tool" : "Summary");
}

/** Return the money that was spent; small amounts with more digits. */
export function money(usd: number): string {
  return `$${usd.toFixed(usd && usd < 0.1 ? 4 : 2)}`;
}
