import type { ChatProps, MessageProps } from "@props";
import type { Forecast, InspectionSource } from "../inspect/data";
import type { PillData } from "../pills/document";
import { type PillSources, serverSources } from "../pills/sources";
import { backoff, waited } from "./backoff";

/** A chat, and how it stands. */
export interface Opened {
  sessionId: string;
  contextProps: ChatProps;
}

/** What a server lets this page do. */
export interface Settings {
  inspect: boolean;
  models: string[];
  editor: boolean;
  /** whether a message can name files or symbols */
  names: boolean;
  store: string | null;
}

/** A chat in the list. */
export interface Listed {
  id: string;
  title: string;
  at: string | null;
  pressure: number | null;
  model: string | null;
  readOnly: boolean;
}

/** The chats, newest first, and those that were deleted and can be restored for `undo` seconds. */
export interface Lists {
  chats: Listed[];
  deleted: (Listed & { undo: number })[];
}

/** What of a chat in the list can be changed. */
export interface Changes {
  title?: string;
  model?: string;
  deleted?: boolean;
}

/** A page of all that was said, oldest first; `before` is where the page before it ends. */
export interface HistoryPage {
  messages: MessageProps[];
  before: string | null;
}

/** What a server said of a request that it did not take. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    detail: string,
    /** the class of the server's error; empty where it named none */
    readonly kind = "",
    /** it says what is wrong with an attachment */
    readonly isAttachment = false,
    /** what a message over the budget needs, and what fits */
    readonly overflow: { tokens: number; most: number } | null = null,
  ) {
    super(detail);
    this.name = "Refused";
  }
}

/** Nothing came back: the server is not there, or the way to it is broken. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
    this.name = "Unreachable";
  }
}

/** What of a server's answers is worth another try: it was too busy, or its store did not take it, and nothing has changed. */
const AGAIN = new Set([429, 502, 503, 504]);
const TRIES = 6;

export interface ClientOptions {
  /** where the server is; the page's own unless said */
  base?: string;
  /** a bearer token, where the server asks for one */
  token?: string | null;
  fetch?: typeof fetch;
}

/** Ask a server of chats (docs/server.md) for what its routes do. */
export class Client {
  private readonly base: string;
  private readonly token: string | null;
  private readonly ask: typeof fetch;

  constructor({
    base = "",
    token = null,
    fetch: ask = (...said) => globalThis.fetch(...said),
  }: ClientOptions = {}) {
    this.base = base;
    this.token = token;
    this.ask = ask;
  }

  /** Return what the server lets this page do. */
  settings(): Promise<Settings> {
    return this.json("GET", "/settings");
  }

  list(): Promise<Lists> {
    return this.json("GET", path());
  }

  /** Rename a chat, let another model answer in it, or delete or restore it. */
  patch(session: string, changed: Changes): Promise<ChatProps> {
    return this.changed("PATCH", path(session), changed);
  }

  /** Attach a file to a chat. */
  async upload(session: string, file: File): Promise<void> {
    const body = new FormData();
    body.append("file", file, file.name);
    await this.request("POST", path(session, "uploads"), { body });
  }

  /** Open what a pill names in the user's editor. */
  async open(session: string, name: string): Promise<void> {
    const body = JSON.stringify({ name, type: "file" });
    const headers = { "Content-Type": "application/json" };
    await this.request("POST", path(session, "source", "open"), { body, headers });
  }

  /** Return what the model sees of a chat, and why; the right `inspect` is needed. */
  inspect(session: string): InspectionSource {
    const get = <T>(...what: string[]) => this.json<T>("GET", path(session, ...what));
    return {
      inspection: () => get("inspect"),
      timeline: async () => (await get<{ entries: never[] }>("inspect", "timeline")).entries,
      receipts: async () => (await get<{ receipts: never[] }>("receipts")).receipts,
      turns: async (ids) => {
        const asked = new URLSearchParams(ids.map((id) => ["id", id]));
        const where = `${path(session, "inspect", "turns")}?${asked}`;
        return (await this.json<{ turns: never[] }>("GET", where)).turns;
      },
      search: async (query) => {
        const where = `${path(session, "inspect", "search")}?${new URLSearchParams({ q: query })}`;
        return (await this.json<{ found: never[] }>("GET", where)).found;
      },
    };
  }

  /** Return what sending a message would do. */
  forecast(session: string, content: string, pills: PillData[]): Promise<Forecast> {
    return this.json("POST", path(session, "inspect", "draft"), { content, pills });
  }

  create(): Promise<Opened> {
    return this.json("POST", path());
  }

  show(session: string): Promise<Opened> {
    return this.json("GET", path(session));
  }

  fork(session: string, message: string | null): Promise<Opened> {
    return this.json("POST", path(session, "fork"), { message_id: message });
  }

  history(session: string, before: string | null, limit: number): Promise<HistoryPage> {
    const asked = new URLSearchParams({
      limit: String(limit),
      ...(before === null ? {} : { before }),
    });
    return this.json("GET", `${path(session, "history")}?${asked}`);
  }

  /** Say something, with the pills in it; asked again under one key where nothing came back, it is taken in once. */
  async send(
    session: string,
    content: string,
    key: string,
    pills: PillData[] = [],
  ): Promise<ChatProps> {
    return this.changed(
      "POST",
      path(session, "messages"),
      pills.length ? { content, pills } : { content },
      key,
    );
  }

  /** Return who knows what can be attached in a chat. */
  sources(session: () => Promise<string>): PillSources {
    return serverSources({ session, base: this.base, token: this.token, fetch: this.ask });
  }

  edit(session: string, message: string, content: string): Promise<ChatProps> {
    return this.changed("PUT", path(session, "messages", message), { content });
  }

  /** Do what has no words of its own: compress, clear, cancel, regenerate; with a message: recall, pin. */
  act(session: string, what: string, message?: string): Promise<ChatProps> {
    return this.changed(
      "POST",
      message === undefined ? path(session, what) : path(session, "messages", message, what),
    );
  }

  /** Open the stream of a chat's events, behind the one that was seen last. */
  async events(
    session: string,
    last: string | null,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const answer = await this.request("GET", path(session, "events"), {
      headers: { Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) },
      signal,
    });
    if (!answer.body) throw new Unreachable();
    return answer.body;
  }

  /** Change a chat by a route of its own: rules, undo, rewind. */
  change(session: string, method: string, where: string[], body?: unknown): Promise<ChatProps> {
    return this.changed(method, path(session, ...where), body);
  }

  private async changed(
    method: string,
    where: string,
    body?: unknown,
    key?: string,
  ): Promise<ChatProps> {
    return (await this.json<{ contextProps: ChatProps }>(method, where, body, key)).contextProps;
  }

  private async json<T>(method: string, where: string, body?: unknown, key?: string): Promise<T> {
    const options: RequestInit = body === undefined ? {} : { body: JSON.stringify(body) };
    options.headers = {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
    // Only what may be asked twice is: what changes nothing, and what is taken once under its key.
    const tries = method === "GET" || key !== undefined ? TRIES : 1;
    for (let tried = 1; ; tried++) {
      try {
        const answer = await this.request(method, where, options);
        return (await answer.json().catch(() => {
          throw new Unreachable();
        })) as T;
      } catch (error) {
        const again =
          error instanceof Unreachable || (error instanceof Refused && AGAIN.has(error.status));
        if (!again || tried >= tries) throw error;
      }
      await waited(backoff(tried - 1), NEVER);
    }
  }

  private async request(
    method: string,
    where: string,
    options: RequestInit = {},
  ): Promise<Response> {
    const headers = new Headers(options.headers);
    if (this.token) headers.set("Authorization", `Bearer ${this.token}`);
    let answer: Response;
    try {
      answer = await this.ask(`${this.base}/api${where}`, {
        ...options,
        method,
        headers,
        cache: "no-store",
      });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Unreachable();
    }
    if (!answer.ok) throw await refusalOf(answer);
    return answer;
  }
}

const NEVER = new AbortController().signal;

function path(...names: string[]): string {
  return ["sessions", ...names].map((name) => `/${encodeURIComponent(name)}`).join("");
}

interface Refusal {
  /** a text, or a list of what is wrong with a body */
  detail?: unknown;
  error?: string;
  pills?: unknown;
  tokens?: number;
  most?: number;
}

/** Return what a server answered as an error. */
async function refusalOf(answer: Response): Promise<Refused> {
  const said = ((await answer.json().catch(() => null)) ?? {}) as Refusal;
  return new Refused(
    answer.status,
    detailOf(said) ?? `The server answered ${answer.status}.`,
    said.error,
    said.pills !== undefined,
    said.tokens !== undefined && said.most !== undefined
      ? { tokens: said.tokens, most: said.most }
      : null,
  );
}

function detailOf({ detail }: Refusal): string | null {
  if (Array.isArray(detail))
    return detail.map((each: { msg?: string }) => each.msg ?? "").join("; ");
  return typeof detail === "string" ? detail : null;
}
