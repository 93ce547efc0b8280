/** The classes of a window's tokens, in the order of a request. */
export const CLASSES = ["system", "pinned", "summarised", "verbatim"] as const;
export type Kind = (typeof CLASSES)[number];

/** How much of a window each class takes, and where compression begins. */
export interface Room {
  tokens: number;
  maxTokens: number;
  pressuredAbove: number;
  free: number;
  reserve: number;
  tools: number;
  classes: Record<Kind, number>;
}

/** A message of the log without its text, and whether the model still has it. */
export interface Turn {
  id: string;
  role: string;
  kind: Kind;
  tokens: number;
  fate: string;
  gist: string | null;
  place: number;
  at: string | null;
  tool: string | null;
}

/** A summary that the model reads, with the sources of each line. */
export interface Summary {
  id: string;
  tokens: number;
  sources: string[];
  lines: { text: string; sources: string[] }[];
}

export interface Rule {
  id: string;
  text: string;
  kind: string;
  scope: string;
  messageId: string;
}

/** A rule that has ended: replaced, revoked or removed; `by` is the message that ended it, or "removed". */
export interface EndedRule extends Rule {
  how: string;
  by: string;
}

export interface Cost {
  calls: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  usd: number | null;
  durationMs: number;
}

/** What the model sees now, and why. */
export interface Inspection {
  revision: number;
  state: string;
  states: string[];
  regions: Record<string, string>;
  model: string | null;
  readOnly: boolean;
  window: Room;
  turns: Turn[];
  summaries: Summary[];
  rules: Rule[];
  ended: EndedRule[];
  cost: Cost;
}

/** A message with its text, and what became of it. */
export interface TurnDetail {
  id: string;
  role: string;
  kind: Kind;
  tokens: number;
  place: number;
  at: string | null;
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  tool: string | null;
  callId: string | null;
  /** who set its class, and what took it out of the window; a report and a summary lack them */
  class?: string;
  classBy?: string | null;
  classWhy?: string | null;
  classAt?: string | null;
  left?: string | null;
  since?: number | null;
  leftAt?: string | null;
  leftBy?: string | null;
  leftWhy?: string | null;
}

/** The window after one event of the session. */
export interface Moment {
  kind: string | null;
  at: string | null;
  state: string;
  maxTokens: number;
  tokens: [number, number, number, number];
  came: string[];
  went: string[];
  /** where in the window each message that came stands */
  places: number[];
}

/** What a compression kept, summarised and dropped. */
export interface Receipt {
  id: string;
  revision: number;
  at: string;
  before: { tokens: number };
  after: { tokens: number };
  atoms: { turns: string[]; fate: string; why: string; gist: string | null }[];
  summariser: { name: string } | null;
  stands: boolean;
}

/** What sending a message would do. */
export interface Forecast {
  tokens: number;
  most: number;
  fits: boolean;
  windowTokens: number;
  pressure: number;
  summarised: string[];
}

/** Where an inspection comes from: a server, or the data of a report. */
export interface InspectionSource {
  inspection: () => Promise<Inspection>;
  timeline: () => Promise<Moment[]>;
  receipts: () => Promise<Receipt[]>;
  turns: (ids: string[]) => Promise<TurnDetail[]>;
  search: (query: string) => Promise<{ id: string; snippet: string }[]>;
}

/** All of a session in one file, as `polycontext inspect` writes it. */
export interface Report {
  title: string;
  inspection: Inspection;
  timeline: { entries: Moment[] };
  receipts: { receipts: Receipt[] };
  turns: { turns: TurnDetail[] };
}

/** Return the report that this page holds; null on a server's page. */
export async function embeddedReport(): Promise<Report | null> {
  const packed = document.getElementById("polycontext-report")?.textContent;
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const data = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(data).json()) as Report;
}

/** Return a source that answers from a report, without a network. */
export function reportSource(report: Report): InspectionSource {
  const details = new Map(report.turns.turns.map((turn) => [turn.id, turn]));
  return {
    inspection: async () => report.inspection,
    timeline: async () => report.timeline.entries,
    receipts: async () => report.receipts.receipts,
    turns: async (ids) => ids.flatMap((id) => details.get(id) ?? []),
    search: async (query) => {
      const wanted = query.toLowerCase();
      const found = report.inspection.turns.flatMap(({ id }) => {
        const text = details.get(id)?.text ?? "";
        const at = text.toLowerCase().indexOf(wanted);
        return at < 0 ? [] : [{ id, snippet: text.slice(Math.max(0, at - 30), at + 90) }];
      });
      return found.slice(-20).reverse();
    },
  };
}

/** Return the messages in the window after an event, in its order. */
export function viewAt(entries: Moment[], at: number): string[] {
  let view: string[] = [];
  for (const { came, went, places } of entries.slice(0, at + 1)) {
    if (went.length) {
      const gone = new Set(went);
      view = view.filter((id) => !gone.has(id));
    }
    came.forEach((id, index) => view.splice(places[index] ?? view.length, 0, id));
  }
  return view;
}

/** Return what took a message out of the window, from the timeline and receipts of a report. */
export function departureOf(
  id: string,
  entries: Moment[],
  receipts: Receipt[],
): Pick<TurnDetail, "left" | "since" | "leftAt" | "leftBy" | "leftWhy"> {
  const since = entries.findLastIndex((entry) => entry.went.includes(id));
  const receipt = receipts.findLast((each) => each.revision === since);
  const atom = receipt?.atoms.find(({ turns }) => turns.includes(id));
  return {
    left: entries[since]?.kind ?? null,
    since: since < 0 ? null : since,
    leftAt: entries[since]?.at ?? null,
    leftBy: receipt?.summariser?.name ?? null,
    leftWhy: atom?.why ?? null,
  };
}
