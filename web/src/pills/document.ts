import {
  DuplicatePillError,
  InvalidPillNameError,
  InvalidTextError,
  PositionError,
  UnknownPillError,
} from "./errors";
import { findPills, isName, isPath, points } from "./names";

export type PillType = "file" | "symbol" | "buffer";

/** One pill of a document: its name, its type, and where it starts, in UTF-16 units. */
export interface Pill {
  readonly name: string;
  readonly type: PillType;
  readonly start: number;
}

/** What a server is told of a pill (docs/server.md): where it starts counts Unicode characters. */
export interface PillData {
  name: string;
  type: PillType;
  start: number;
  text_properties: { pill: string; face: string; rear_nonsticky: boolean; keymap: string };
}

export interface DocumentData {
  text: string;
  pills: PillData[];
}

const TYPES: readonly string[] = ["file", "symbol", "buffer"] satisfies PillType[];
const HALF = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Return what stands in the document: `[@name]`. */
export function written(pill: { name: string }): string {
  return `[@${pill.name}]`;
}

/** Return the position behind the closing bracket. */
export function endOf(pill: Pill): number {
  return pill.start + pill.name.length + 3;
}

/** Return a pill whose name and type are looked at. */
export function pillOf(name: string, type: string, start: number): Pill {
  if (!isName(name) || !isType(type)) throw new InvalidPillNameError(name);
  return { name, type, start };
}

function isType(type: string): type is PillType {
  return TYPES.includes(type);
}

/**
 * The twin of Python's `PillDocument`: text and the pills in it; every edit returns another document.
 *
 * Both are held to the same cases (vectors.json). Positions count UTF-16 units, as an editor's do; Python counts characters, and
 * `toData`, `fromData`, `unitsTo` and `pointsTo` translate.
 */
export class PillDocument {
  private constructor(
    readonly text: string,
    readonly pills: readonly Pill[],
  ) {}

  static readonly EMPTY = new PillDocument("", []);

  /** Return the document of a text without pills. */
  static of(text: string): PillDocument {
    if (HALF.test(text)) throw new InvalidTextError();
    return new PillDocument(text, []);
  }

  /** Return the document in which every `[@name]` of `text` is a pill; a name's second time stays text. */
  static parse(text: string, type: PillType = "file"): PillDocument {
    const found = new Map<string, Pill>();
    for (const { name, start } of findPills(PillDocument.of(text).text))
      if (!found.has(name)) found.set(name, { name, type, start });
    return new PillDocument(text, [...found.values()]);
  }

  /** Return the document of `text` with every one of `pills` made anew that is still written in it, at the nearest such place. */
  static recover(text: string, pills: Iterable<Pill>): PillDocument {
    const places = new Map<string, number[]>();
    for (const { name, start } of findPills(PillDocument.of(text).text)) {
      const known = places.get(name);
      if (known) known.push(start);
      else places.set(name, [start]);
    }
    const found = new Map<string, Pill>();
    for (const { name, type, start } of pills) {
      const written = places.get(name);
      if (written && !found.has(name))
        found.set(name, { name, type, start: nearest(written, text, start) });
    }
    return new PillDocument(text, sorted(found.values()));
  }

  /** Return the document that a server or a clipboard shows; what is none is refused, what is damaged is made anew. */
  static fromData(data: unknown): PillDocument {
    if (!isRecord(data) || typeof data.text !== "string" || !Array.isArray(data.pills))
      throw new InvalidTextError();
    const { text } = data;
    return PillDocument.recover(
      text,
      data.pills.filter(isRecord).map(({ name, type, start }) => {
        return pillOf(String(name), String(type), unitsTo(text, Number(start) || 0));
      }),
    );
  }

  /** Return what a server is told: the JSON of Python's `document_to_json`. */
  toData(): DocumentData {
    const properties = {
      face: "sly-agent-q-context-pill-face",
      rear_nonsticky: true,
      keymap: "sly-agent-q-context-pill-map",
    };
    const pills = this.pills.map(({ name, type, start }) => {
      return {
        name,
        type,
        text_properties: { pill: name, ...properties },
        start: pointsTo(this.text, start),
      };
    });
    return { text: this.text, pills };
  }

  /** The context list: the names of all pills, in the order they stand. */
  get context(): string[] {
    return this.pills.map((pill) => pill.name);
  }

  /** Return the pill that the character at `position` belongs to. */
  pillAt(position: number): Pill | undefined {
    this.check(position);
    return this.pills.find((pill) => pill.start <= position && position < endOf(pill));
  }

  pill(name: string): Pill {
    const found = this.pills.find((pill) => pill.name === name);
    if (!found) throw new UnknownPillError(name);
    return found;
  }

  /** Return the document with `text` at `at`; it never joins a pill. */
  insertText(at: number, text: string): PillDocument {
    this.checkGap(at);
    return this.replaced(at, at, PillDocument.of(text).text);
  }

  /** Return the document with the pill `[@name]` at `at`. */
  insertPill(
    name: string,
    at: number,
    type: string = "file",
    duplicate: "error" | "update" = "error",
  ): PillDocument {
    this.checkGap(at);
    const pill = pillOf(name, type, at);
    if (type === "file" && !isPath(name)) throw new InvalidPillNameError(name);
    if (!this.context.includes(name)) return this.replaced(at, at, written(pill), pill);
    if (duplicate === "update") return this.updatePill(name, { type });
    throw new DuplicatePillError(name);
  }

  /** Return the document with another one at `at`; a pill whose name is attached here stays text. */
  insertDocument(at: number, other: PillDocument): PillDocument {
    const room = this.insertText(at, other.text);
    const fresh = other.pills
      .filter((pill) => !this.context.includes(pill.name))
      .map((pill) => ({ ...pill, start: pill.start + at }));
    return new PillDocument(room.text, sorted([...room.pills, ...fresh]));
  }

  removePill(name: string): PillDocument {
    const pill = this.pill(name);
    return this.replaced(pill.start, endOf(pill), "");
  }

  /** Return the document whose pill `name` names something else, in the same place. */
  updatePill(
    name: string,
    { newName, type }: { newName?: string | undefined; type?: string | undefined },
  ): PillDocument {
    const old = this.pill(name);
    return this.removePill(name).insertPill(newName ?? name, old.start, type ?? old.type);
  }

  /** Return the document without the characters from `start` up to `end`; a pill touched anywhere goes as a whole. */
  deleteRange(start: number, end: number): PillDocument {
    this.check(start);
    this.check(end);
    if (end < start) throw new PositionError(end);
    if (start === end) return this;
    const [from, to] = widened(this.pills, start, end);
    return this.replaced(from, to, "");
  }

  private replaced(start: number, end: number, text: string, pill?: Pill): PillDocument {
    const moved = text.length - (end - start);
    const before = this.pills.filter((each) => endOf(each) <= start);
    const behind = this.pills
      .filter((each) => each.start >= end)
      .map((each) => ({ ...each, start: each.start + moved }));
    return new PillDocument(this.text.slice(0, start) + text + this.text.slice(end), [
      ...before,
      ...(pill ? [pill] : []),
      ...behind,
    ]);
  }

  private check(position: number): void {
    if (!(position >= 0 && position <= this.text.length)) throw new PositionError(position);
  }

  private checkGap(position: number): void {
    const pill = this.pillAt(position);
    if (pill && position > pill.start) throw new PositionError(position);
  }
}

/** Return the range from `start` to `end` with every pill that it touches as a whole. */
export function widened(pills: readonly Pill[], start: number, end: number): [number, number] {
  const touched = pills.filter((pill) => Math.max(pill.start, start) < Math.min(endOf(pill), end));
  return [
    Math.min(start, ...touched.map((pill) => pill.start)),
    Math.max(end, ...touched.map(endOf)),
  ];
}

/** Return in UTF-16 units where the character of that number stands; what is outside of the text stays as far outside. */
export function unitsTo(text: string, count: number): number {
  let units = 0;
  let left = count;
  while (left > 0 && units < text.length) {
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
    left--;
  }
  return units + left;
}

/** Return how many characters stand before a place that is counted in UTF-16 units. */
export function pointsTo(text: string, units: number): number {
  return points(text.slice(0, units));
}

/** Return which of `places`, in their order, is the nearest to `place`, as Python counts: in characters. */
function nearest(places: number[], text: string, place: number): number {
  if (places.includes(place)) return place;
  const wanted = place < 0 ? place : pointsTo(text, place) + Math.max(0, place - text.length);
  let [best, least, seen, count] = [0, Infinity, 0, 0];
  for (const each of places) {
    count += points(text.slice(seen, each));
    seen = each;
    if (Math.abs(count - wanted) < least) [best, least] = [each, Math.abs(count - wanted)];
  }
  return best;
}

function sorted(pills: Iterable<Pill>): Pill[] {
  return [...pills].sort((one, other) => one.start - other.start);
}

function isRecord(data: unknown): data is Record<string, unknown> {
  return typeof data === "object" && data !== null;
}
