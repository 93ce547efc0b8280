import { backoff, waited } from "./backoff";
import { type Client, Refused } from "./client";
import { readEvents, type ServerEvent } from "./events";

/** Whether what changes is heard. */
export type Connection = "connecting" | "open" | "lost";

/** What becomes of listening. */
export interface Heard {
  event: (event: ServerEvent) => void;
  connection: (now: Connection) => void;
  /** the server is there and does not let this listener in; nothing more is tried */
  refused: (error: Refused) => void;
}

/** A server that says nothing for so many milliseconds, not even that it is there, is gone; it is to say so every 15 seconds. */
export const SILENCE = 45_000;

/** Answers that no other try changes. */
const FINAL = new Set([400, 401, 403, 404, 422]);

/**
 * Hear a chat's events until `signal` ends it; a connection that breaks is made anew, each time after a longer wait, and goes on behind the
 * event that was heard last. What the server holds no more it replaces by how all stands.
 */
export async function listen(
  client: Client,
  session: string,
  heard: Heard,
  signal: AbortSignal,
): Promise<void> {
  let last: string | null = null;
  let tries = 0;
  heard.connection("connecting");
  while (!signal.aborted) {
    const connection = new AbortController();
    const stopped = () => connection.abort();
    signal.addEventListener("abort", stopped, { once: true });
    let watch: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(stopped, SILENCE);
    };
    try {
      alive();
      const stream = await client.events(session, last, connection.signal);
      heard.connection("open");
      for await (const event of readEvents(stream, alive)) {
        if (signal.aborted) return;
        // Not before something is heard: a server that takes every connection and drops it must not be asked all the time.
        tries = 0;
        last = event.id ?? last;
        heard.event(event);
      }
    } catch (error) {
      if (error instanceof Refused && FINAL.has(error.status) && !signal.aborted) {
        heard.connection("lost");
        heard.refused(error);
        return;
      }
    } finally {
      clearTimeout(watch);
      signal.removeEventListener("abort", stopped);
      connection.abort();
    }
    if (signal.aborted) return;
    heard.connection("lost");
    await waitedOrOnline(backoff(tries++), signal);
  }
}

/** Wait, but not when the machine is told that it has a network again. */
async function waitedOrOnline(milliseconds: number, signal: AbortSignal): Promise<void> {
  const either = new AbortController();
  const online = () => either.abort();
  globalThis.addEventListener?.("online", online, { once: true });
  await waited(milliseconds, AbortSignal.any([signal, either.signal]));
  globalThis.removeEventListener?.("online", online);
}
