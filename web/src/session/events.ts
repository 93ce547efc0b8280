/** One server-sent event: its kind, its data, and the id with which a listener goes on behind it. */
export interface ServerEvent {
  kind: string;
  data: string;
  id: string | null;
}

/** Read the lines of a stream, wherever its pieces are cut: within a line, within a letter, between \r and \n. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      held += decoder.decode(value, { stream: !done });
      // A \r at the end may be the first half of a line's end.
      const lines = held.split(/\r\n|\n|\r(?!$)/);
      held = lines.pop() ?? "";
      yield* lines;
      if (done) return;
    }
  } finally {
    // Whoever stops reading lets go of the connection.
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Read server-sent events out of a response's body (HTML Living Standard, "Parsing an event stream").
 *
 * `EventSource` cannot say who asks: it sends no Authorization header. An event that the stream ends in is no event; `alive` is called for each
 * line, comments too, by which a listener knows that the server is there.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  alive: () => void = () => undefined,
): AsyncGenerator<ServerEvent> {
  let kind = "";
  let data: string[] = [];
  let id: string | null = null;
  for await (const line of linesOf(stream)) {
    alive();
    if (line === "") {
      if (data.length) yield { kind: kind || "message", data: data.join("\n"), id };
      kind = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") kind = value;
    else if (field === "data") data.push(value);
    else if (field === "id" && !value.includes("\0")) id = value;
  }
}
