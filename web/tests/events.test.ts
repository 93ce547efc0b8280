import { expect, test } from "vitest";
import { readEvents, type ServerEvent } from "../src/session/events";
import { Stream } from "./fakes";

async function read(...pieces: (string | Uint8Array)[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(control) {
      for (const piece of pieces)
        control.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      control.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

test("an event has a kind, data of several lines, and an id", async () => {
  expect(await read("event: props\nid: f-1\ndata: a\ndata: b\n\n")).toEqual([
    { kind: "props", data: "a\nb", id: "f-1" },
  ]);
});

test("a comment, a field without a value, a field that is not known and an empty event are no events", async () => {
  expect(await read(": ping\n\nretry: 5\n\ndata\n\nevent: x\n\n")).toEqual([
    { kind: "message", data: "", id: null },
  ]);
});

test("an id stays until another one comes, as the standard says", async () => {
  expect((await read("id: 7\ndata: a\n\ndata: b\n\n")).map((event) => event.id)).toEqual([
    "7",
    "7",
  ]);
});

test("what the stream ends in the middle of is no event", async () => {
  expect(await read("data: whole\n\ndata: half\n")).toEqual([
    { kind: "message", data: "whole", id: null },
  ]);
});

test("wherever the bytes are cut, and whatever ends a line, the events are the same", async () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = new TextEncoder().encode(
      `event: delta\ndata: "Grüße, 雪 🙂"\nid: 1\n\n: ping\n\ndata: x\n\n`.replaceAll("\n", end),
    );
    const whole = await read(bytes, end === "\r" ? "\n" : "");
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(await read(bytes.slice(0, cut), bytes.slice(cut), end === "\r" ? "\n" : "")).toEqual(
        whole,
      );
    }
    expect(whole.map((event) => event.data)).toEqual(['"Grüße, 雪 🙂"', "x"]);
  }
});

test("each piece says that the server is there, and who stops reading lets go of the connection", async () => {
  const stream = new Stream();
  let alive = 0;
  stream.write(": ping\ndata: x\n\n");
  for await (const event of readEvents(stream.body, () => alive++)) {
    expect(event.data).toBe("x");
    break;
  }
  expect(alive).toBe(1);
  expect(stream.isCancelled).toBe(true);
});
