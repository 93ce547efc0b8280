import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Inspection, InspectionSource, Moment, Receipt, TurnDetail } from "./data";

/** The details of messages, asked for together and once each. */
export class Details {
  private readonly known = new Map<string, Promise<TurnDetail | null>>();
  private waiting: { id: string; take: (turn: TurnDetail | null) => void }[] = [];

  constructor(private readonly source: InspectionSource) {}

  get(id: string): Promise<TurnDetail | null> {
    const known = this.known.get(id);
    if (known) return known;
    const asked = new Promise<TurnDetail | null>((take) => {
      if (!this.waiting.length) setTimeout(() => void this.ask(), 10);
      this.waiting.push({ id, take });
    });
    this.known.set(id, asked);
    return asked;
  }

  private async ask(): Promise<void> {
    const asked = this.waiting;
    this.waiting = [];
    for (let at = 0; at < asked.length; at += 100) {
      const part = asked.slice(at, at + 100);
      const found = await this.source.turns(part.map(({ id }) => id)).catch(() => []);
      for (const { id, take } of part) {
        const turn = found.find((each) => each.id === id) ?? null;
        if (!turn) this.known.delete(id);
        take(turn);
      }
    }
  }
}

/** What is known of a session's context; null until it is. */
export interface Inspected {
  source: InspectionSource;
  now: Inspection;
  timeline: Moment[] | null;
  receipts: Receipt[];
  details: Details;
}

/** Milliseconds without a change before an inspection is asked for again. */
const PAUSE = 250;

/** Keep an inspection in step with a session: asked for anew whenever `changed` is another value. */
export function useInspection(
  source: InspectionSource | null,
  changed: unknown,
  isOpen: boolean,
): Inspected | null {
  const [now, setNow] = useState<Inspection | null>(null);
  const [receipts, setReceipts] = useState<Receipt[]>([]);
  const [timeline, setTimeline] = useState<Moment[] | null>(null);
  const shown = useRef<InspectionSource | null>(null);

  useEffect(() => {
    if (shown.current !== source) {
      setNow(null);
      setTimeline(null);
      setReceipts([]);
    }
    if (!source) return;
    let wanted = true;
    const take =
      <T>(set: (value: T) => void) =>
      (value: T) =>
        wanted && set(value);
    const timer = setTimeout(
      () => {
        shown.current = source;
        const nothing = () => undefined;
        source.inspection().then(take(setNow), nothing);
        source.receipts().then(take(setReceipts), nothing);
        if (isOpen) source.timeline().then(take(setTimeline), nothing);
      },
      shown.current === source ? PAUSE : 0,
    );
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [source, changed, isOpen]);

  return useMemo(
    () => source && now && { source, now, timeline, receipts, details: new Details(source) },
    [source, now, timeline, receipts],
  );
}

/** Return the details of a message, once they are there. */
export function useDetail(details: Details, id: string): TurnDetail | null {
  const [found, setFound] = useState<TurnDetail | null>(null);
  useEffect(() => {
    let wanted = true;
    void details.get(id).then((turn) => wanted && setFound((before) => turn ?? before));
    return () => {
      wanted = false;
    };
  }, [details, id]);
  return found?.id === id ? found : null;
}

/** Return the search of a log for words, and how to ask for others. */
export function useSearch(source: InspectionSource) {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<{ id: string; snippet: string }[] | null>(null);
  const last = useRef("");
  const search = useCallback(
    (words: string) => {
      setQuery(words);
      last.current = words;
      if (!words.trim()) return setFound(null);
      setTimeout(() => {
        if (last.current !== words) return;
        source.search(words.trim()).then(
          (each) => last.current === words && setFound(each),
          () => setFound([]),
        );
      }, 150);
    },
    [source],
  );
  return { query, found, search };
}
