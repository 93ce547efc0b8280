import type { Summary, Turn } from "./data";

/** What keeping a message does. */
export const KEEPS = "Keep: never summarise it. This cannot be undone.";

/** Names of the classes, as a person reads them. */
export const NAMES = {
  system: "System",
  pinned: "Kept",
  summarised: "Summarised",
  verbatim: "Verbatim",
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
  "word for word": "Seen verbatim",
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

/** Return whether the model still reads some words of a message: in it, or in the summary that stands for it. */
export function seenAs({ id, fate, gist }: Turn, summaries: Summary[], words: string): string {
  if (fate !== "summarised") return fateOf(fate);
  const lines = summaries.find((each) => each.id === gist)?.lines ?? [];
  const read = new Set(
    lines.flatMap(({ text, sources }) => (sources.includes(id) ? wordsOf(text) : [])),
  );
  const wanted = wordsOf(words);
  const kept = wanted.filter((word) => read.has(word)).length;
  if (!kept) return "Not seen: summarised";
  return kept === wanted.length ? "Seen in the summary" : "Partly in the summary";
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Return the part of a text around the first of the words that were searched for. */
export function around(text: string, query: string): string {
  const low = text.toLowerCase();
  const at = wordsOf(query)
    .map((word) => low.indexOf(word))
    .filter((place) => place >= 0)
    .sort((one, other) => one - other)[0];
  return at === undefined || at < BEFORE ? text : `…${text.slice(at - BEFORE)}`;
}

/** Characters that are shown before a word that was found. */
const BEFORE = 8;

/** Return a text with a capital letter at its beginning. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const STEPS: Record<string, string> = {
  compress: "summarised",
  recall: "brought back",
  undo: "undone",
  clear: "cleared",
  rewind: "taken back",
  expire: "expired",
  refill: "brought back",
};

/** Return what a kind of step does with messages. */
export function stepOf(kind: string | null): string {
  return STEPS[kind ?? ""] ?? "added";
}

const WRITERS: Record<string, string> = {
  extractive: "an extract of its sentences",
  append: "the rules for new messages",
  classifier: "the classifier",
  promote: "you",
  caller: "the program",
  gist: "the compression",
};

/** Return who wrote a summary or decided what may be done with a message. */
export function writerOf(name: string): string {
  return WRITERS[name] ?? name;
}

/** Return a reason in the words of the page. */
export function reasonOf(why: string): string {
  return why.replace(/\bturn(s?)\b/g, "message$1").replace("the gist", "the summary");
}

/** Tell whether the model still reads the message itself. */
export function isSeen({ fate }: Pick<Turn, "fate">): boolean {
  return fate.startsWith("w") || fate === "cut";
}

/** Return who said something. */
export function speakerOf(turn: { role: string; tool: string | null; kind: string }): string {
  const { role, tool, kind } = turn;
  if (kind === "summarised") return "Summary";
  if (role === "user") return "You";
  if (role === "assistant") return "Assistant";
  if (role === "system") return "System";
  return tool ?? "Tool";
}

/** Return the money that was spent; small amounts with more digits. */
export function money(usd: number): string {
  return `$${usd.toFixed(usd && usd < 0.1 ? 4 : 2)}`;
}
