import type { ChatProps, MessageProps } from "@props";
import { INITIAL } from "../src/session/state";

/** Return a message of somebody's. */
export function message(
  id: string,
  role: MessageProps["role"] = "user",
  content = id,
): MessageProps {
  return { id, role, content, timestamp: "2026-05-01T12:00:00+00:00", isPreserved: false };
}

/** Return props with these messages: `u…` are the user's, `a…` the assistant's, `s…` summaries. */
export function props(ids: string, more: Partial<ChatProps> = {}): ChatProps {
  const roles = { u: "user", a: "assistant", s: "summary" } as const;
  const messages = ids.split(" ").filter(Boolean);
  return {
    ...INITIAL,
    ...more,
    messages: messages.map((id) => message(id, roles[id[0] as "u" | "a" | "s"])),
  };
}

/** A stream of a response that a test writes. */
export class Stream {
  private control!: ReadableStreamDefaultController<Uint8Array>;
  private readonly encoder = new TextEncoder();
  isCancelled = false;
  readonly body = new ReadableStream<Uint8Array>({
    start: (control) => {
      this.control = control;
    },
    cancel: () => {
      this.isCancelled = true;
    },
  });

  write(text: string): void {
    this.control.enqueue(this.encoder.encode(text));
  }

  event(kind: string, data: unknown, id?: string): void {
    this.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n${id ? `id: ${id}\n` : ""}\n`);
  }

  end(): void {
    this.control.close();
  }

  break(): void {
    // Whoever read it may have let go of it before.
    if (!this.isCancelled) this.control.error(new TypeError("network error"));
  }
}

/** A request as a server sees it. */
export interface Asked {
  method: string;
  path: string;
  headers: Headers;
  body: unknown;
  signal: AbortSignal | null;
}

/** Answer with a stream, which breaks where the request is given up, as a browser has it. */
export function streamed(stream: Stream): (asked: Asked) => Response {
  return ({ signal }) => {
    signal?.addEventListener("abort", () => stream.break());
    return new Response(stream.body);
  };
}

/** Stand for a server: `answer` is asked for each request, and throws where it cannot be reached. */
export function server(answer: (asked: Asked) => Response | Promise<Response>): {
  fetch: typeof fetch;
  asked: Asked[];
} {
  const asked: Asked[] = [];
  const answered: typeof fetch = async (where, options = {}) => {
    const one = {
      method: options.method ?? "GET",
      path: String(where),
      headers: new Headers(options.headers),
      body: typeof options.body === "string" ? (JSON.parse(options.body) as unknown) : null,
      signal: options.signal ?? null,
    };
    asked.push(one);
    return answer(one);
  };
  return { fetch: answered, asked };
}

export function json(said: unknown, status = 200): Response {
  return new Response(JSON.stringify(said), { status });
}
