import { createParser } from "eventsource-parser";

/** One server-sent event: its kind, its data, and the id with which a listener goes on behind it. */
export interface ServerEvent {
  kind: string;
  data: string;
  id: string | null;
}

/**
 * Read server-sent events from a response's body.
 *
 * `EventSource` cannot say who asks: it sends no Authorization header. An event that the stream
 * ends in is no event. `alive` is called for each piece that arrives, comments too, by which a
 * listener knows that the server is there.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  alive: () => void = () => undefined,
): AsyncGenerator<ServerEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let ready: ServerEvent[] = [];
  let last: string | null = null;
  const parser = createParser({
    onEvent: ({ event = "message", data, id }) => {
      last = id ?? last;
      ready.push({ kind: event, data, id: last });
    },
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      parser.feed(decoder.decode(value, { stream: true }));
      const events = ready;
      ready = [];
      yield* events;
    }
  } finally {
    // A reader that stops releases the connection.
    await reader.cancel().catch(() => undefined);
  }
}
