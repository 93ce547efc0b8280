import type { Pill, PillType } from "./document";

/** A name that can be attached, and for a symbol where it is defined. */
export interface Candidate {
  name: string;
  type: PillType;
  detail: string;
}

/** What a pill names, to look at. */
export interface Source {
  name: string;
  type: PillType;
  content: string;
  path: string | null;
  startLine: number | null;
  notice: string | null;
}

/** Who knows names, and what stands behind them; `source` rejects with the words that a user is shown. */
export interface PillSources {
  complete(prefix: string, signal: AbortSignal): Promise<Candidate[]>;
  source(pill: Pick<Pill, "name" | "type">): Promise<Source>;
}

/** Names that are offered at once: as many as are seen without scrolling. */
const MOST = "10";

/** What a server says of a request that it does not take. */
export class SourceRefused extends Error {}

export interface ServerOptions {
  /** the chat; one may be begun for it */
  session: () => Promise<string>;
  /** where the server is; the page's own unless said */
  base?: string;
  token?: string | null;
  fetch?: typeof fetch;
}

/** Return the sources that a server's chat has (docs/server.md). */
export function serverSources({
  session,
  base = "",
  token = null,
  fetch: ask = (...said) => globalThis.fetch(...said),
}: ServerOptions): PillSources {
  async function get<T>(
    what: string,
    query: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<T> {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const where = `${base}/api/sessions/${encodeURIComponent(await session())}/${what}?${new URLSearchParams(query)}`;
    const answer = await ask(where, { headers, cache: "no-store", ...(signal ? { signal } : {}) });
    const said: unknown = await answer.json();
    if (!answer.ok)
      throw new SourceRefused(wordsOf(said) ?? `The server answered ${answer.status}.`);
    return said as T;
  }
  return {
    complete: async (prefix, signal) =>
      (await get<{ completions: Candidate[] }>("completions", { prefix, limit: MOST }, signal))
        .completions,
    source: ({ name, type }) => get<Source>("source", { name, type }),
  };
}

/** Return why a pill cannot be had; of what is no pill's fault, what the server says. */
function wordsOf(said: unknown): string | undefined {
  const { detail, pills } = said as { detail?: unknown; pills?: { problem: string }[] };
  return pills?.[0]?.problem ?? (typeof detail === "string" ? detail : undefined);
}
