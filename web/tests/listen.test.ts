import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoff, FIRST, MOST } from "../src/session/backoff";
import { Client } from "../src/session/client";
import { listen, SILENCE } from "../src/session/listen";
import { type Asked, json, server, Stream, streamed } from "./fakes";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Listen to a server that gives one answer after another, and say what was heard. */
function listening(...answers: ((asked: Asked) => Response)[]) {
  const heard: string[] = [];
  const ending = new AbortController();
  const { fetch, asked } = server((one) => {
    const answer = answers.shift();
    if (!answer) throw new TypeError("nobody is there");
    return answer(one);
  });
  const ended = listen(
    new Client({ fetch, token: "secret" }),
    "s1",
    {
      event: (event) => heard.push(`${event.kind} ${event.data}`),
      connection: (now) => heard.push(now),
      refused: (error) => heard.push(`refused ${error.status}`),
    },
    ending.signal,
  );
  return { heard, asked, ended, ending };
}

test("the wait doubles up to a limit, and two pages do not wait the same", () => {
  expect([0, 1, 2].map((tries) => backoff(tries, () => 1))).toEqual([FIRST, 2 * FIRST, 4 * FIRST]);
  expect(backoff(0, () => 0)).toBe(FIRST / 2);
  expect(backoff(1000, () => 1)).toBe(MOST);
});

test("who is there is said, and a connection that breaks goes on behind the last event", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const { heard, asked, ending, ended } = listening(streamed(first), streamed(second));
  await vi.advanceTimersByTimeAsync(0);
  first.event("props", 1, "f-1");
  await vi.advanceTimersByTimeAsync(0);
  first.break();
  await vi.advanceTimersByTimeAsync(FIRST);
  second.event("delta", 2, "f-2");
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual(["connecting", "open", "props 1", "lost", "open", "delta 2"]);
  expect(
    asked.map(({ headers }) => [headers.get("authorization"), headers.get("last-event-id")]),
  ).toEqual([
    ["Bearer secret", null],
    ["Bearer secret", "f-1"],
  ]);
  ending.abort();
  await ended;
});

test("a server that is away is asked again and again, less and less often", async () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const { heard, asked, ending, ended } = listening();
  await vi.advanceTimersByTimeAsync(FIRST * (1 + 2 + 4 + 8) + 1);
  expect(asked.length).toBe(5);
  expect(new Set(heard)).toEqual(new Set(["connecting", "lost"]));
  ending.abort();
  await ended;
});

test("a server that takes every connection and drops it is not asked all the time", async () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const dropped = () => {
    const stream = new Stream();
    stream.end();
    return new Response(stream.body);
  };
  const { asked, ending, ended } = listening(...Array.from({ length: 50 }, () => dropped));
  await vi.advanceTimersByTimeAsync(FIRST * (1 + 2 + 4 + 8) + 1);
  expect(asked.length).toBe(5);
  ending.abort();
  await ended;
});

test("a server that is heard again is waited for as at first when it goes again", async () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const away = () => {
    throw new TypeError("nobody is there");
  };
  const back = new Stream();
  const { asked, ending, ended } = listening(away, away, away, streamed(back));
  await vi.advanceTimersByTimeAsync(FIRST * (1 + 2 + 4));
  expect(asked.length).toBe(4);
  back.event("props", 1);
  await vi.advanceTimersByTimeAsync(0);
  back.break();
  await vi.advanceTimersByTimeAsync(FIRST);
  expect(asked.length).toBe(5);
  ending.abort();
  await ended;
});

test("a connection on which nothing is said for long is given up", async () => {
  const [silent, second] = [new Stream(), new Stream()];
  const { heard, ending, ended } = listening(streamed(silent), streamed(second));
  await vi.advanceTimersByTimeAsync(SILENCE - 1);
  silent.write(": ping\n\n");
  await vi.advanceTimersByTimeAsync(SILENCE - 1);
  expect(heard).toEqual(["connecting", "open"]);
  await vi.advanceTimersByTimeAsync(FIRST + 2);
  expect(heard).toEqual(["connecting", "open", "lost", "open"]);
  ending.abort();
  await ended;
});

test("a machine that has a network again does not wait", async () => {
  const { asked, ending, ended } = listening();
  await vi.advanceTimersByTimeAsync(0);
  globalThis.dispatchEvent(new Event("online"));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.length).toBe(2);
  ending.abort();
  await ended;
});

test.each([401, 403, 404])("an answer of %i is final", async (status) => {
  const { heard, asked, ended } = listening(() => json({ detail: "no" }, status));
  await ended;
  expect(heard).toEqual(["connecting", "lost", `refused ${status}`]);
  expect(asked.length).toBe(1);
});

test("whoever stops listening lets go of the connection, and hears nothing more", async () => {
  const stream = new Stream();
  const { heard, asked, ending, ended } = listening(streamed(stream));
  await vi.advanceTimersByTimeAsync(0);
  stream.event("props", 1);
  ending.abort();
  await ended;
  expect(heard).toEqual(["connecting", "open"]);
  expect(asked.map((one) => one.signal?.aborted)).toEqual([true]);
});
