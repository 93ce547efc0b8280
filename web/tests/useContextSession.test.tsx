import { act, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Client } from "../src/session/client";
import { useContextSession } from "../src/session/useContextSession";
import { type Asked, json, props as some, server, Stream, streamed } from "./fakes";

beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true }));
afterEach(() => void vi.useRealTimers());

/** Hear of a chat at a server that says what `answer` says, and otherwise that all is well. */
function heard(
  answer: (asked: Asked) => Response | undefined = () => undefined,
  session: string | null = "s1",
) {
  const streams: Stream[] = [];
  const { fetch, asked } = server((one) => {
    const own = answer(one);
    if (own) return own;
    if (one.path.endsWith("/events")) {
      const stream = new Stream();
      streams.push(stream);
      return streamed(stream)(one);
    }
    if (one.path.includes("/history"))
      return json({ messages: some("u1 a1").messages, before: null });
    if (one.path === "/api/sessions")
      return json({ sessionId: "new", contextProps: some("") }, 201);
    return json({ contextProps: some("u1 a1") });
  });
  const client = new Client({ fetch });
  const begun: string[] = [];
  const hook = renderHook(() =>
    useContextSession({ client, session, onBegun: (id) => begun.push(id) }),
  );
  const tell = async (kind: string, data: unknown, id = "f-1") => {
    await waitFor(() => expect(streams.length).toBeGreaterThan(0));
    await act(async () => streams.at(-1)?.event(kind, data, id));
  };
  return { hook, asked, streams, tell, begun, now: () => hook.result.current };
}

const posts = (asked: Asked[]) =>
  asked.filter((one) => one.method !== "GET").map((one) => `${one.method} ${one.path}`);

test("props come with the events, and the log's newest page behind the first of them", async () => {
  const { tell, now, hook } = heard();
  await tell("props", some("u1 a1", { pressure: 0.4 }));
  await waitFor(() => expect(now().known).toBe(true));
  expect([now().contextProps.pressure, now().connection, now().log.length]).toEqual([
    0.4,
    "open",
    2,
  ]);
  await tell("props", some("u1 a1 u2"));
  await tell("delta", { text: "Pl" });
  await tell("delta", { text: "ums" });
  expect([now().streaming, now().writing, now().log.at(-1)?.id]).toEqual(["Plums", true, "u2"]);
  await tell("problem", { what: "The model did not answer." });
  expect(now().problem).toBe("The model did not answer.");
  hook.unmount();
});

test("each action asks for its route", async () => {
  const { asked, now, hook, tell } = heard();
  await tell("props", some("u1 a1"));
  await act(async () => {
    await now().onCompress();
    await now().onClear();
    await now().onCancel();
    await now().onRegenerate();
    await now().onEdit("u/1", "pears");
    await now().onPin("u1");
    await now().onRecall("u1");
  });
  expect(posts(asked)).toEqual([
    "POST /api/sessions/s1/compress",
    "POST /api/sessions/s1/clear",
    "POST /api/sessions/s1/cancel",
    "POST /api/sessions/s1/regenerate",
    "PUT /api/sessions/s1/messages/u%2F1",
    "POST /api/sessions/s1/messages/u1/pin",
    "POST /api/sessions/s1/messages/u1/recall",
  ]);
  hook.unmount();
});

test("a message whose answer is lost goes out again under the same key", async () => {
  let lost = 2;
  const { asked, now, hook } = heard((one) => {
    if (one.method === "POST" && lost-- > 0) throw new TypeError("network error");
    return undefined;
  });
  let taken: Promise<boolean> | undefined;
  await act(async () => {
    taken = now().onSend("plums");
  });
  expect(now().pending).toBe("plums");
  await act(async () => {
    await vi.advanceTimersByTimeAsync(2000);
    expect(await taken).toBe(true);
  });
  const keys = asked
    .filter((one) => one.method === "POST")
    .map((one) => one.headers.get("idempotency-key"));
  expect(keys.length).toBe(3);
  expect(new Set(keys).size).toBe(1);
  expect([now().pending, now().problem]).toEqual([null, null]);
  hook.unmount();
});

test("a message that was given up keeps its key when it is sent again, and another one has its own", async () => {
  let down = true;
  const { asked, now, hook } = heard((one) => {
    if (one.method === "POST" && down) throw new TypeError("network error");
    return undefined;
  });
  const send = async (content: string) => {
    let taken = false;
    await act(async () => {
      const sending = now().onSend(content);
      await vi.advanceTimersByTimeAsync(60_000);
      taken = await sending;
    });
    return taken;
  };
  expect(await send("plums")).toBe(false);
  expect(now().problem).toBe("The server cannot be reached.");
  down = false;
  expect(await send("plums")).toBe(true);
  const before = asked
    .filter((one) => one.method === "POST")
    .map((one) => one.headers.get("idempotency-key"));
  expect(new Set(before).size).toBe(1);
  expect(await send("plums")).toBe(true);
  expect(
    asked
      .filter((one) => one.method === "POST")
      .at(-1)
      ?.headers.get("idempotency-key"),
  ).not.toBe(before[0]);
  hook.unmount();
});

test("the first message begins a chat", async () => {
  const { asked, now, hook, begun } = heard(undefined, null);
  await act(async () => void (await now().onSend("plums")));
  expect(begun).toEqual(["new"]);
  expect(posts(asked)).toEqual(["POST /api/sessions", "POST /api/sessions/new/messages"]);
  hook.unmount();
});

test("what is refused is said in a sentence for the person who chats, and asked once", async () => {
  const refusal = {
    error: "SessionWriteError",
    detail: "write refused: an answer is being written. Wait for it, or cancel it.",
  };
  const { asked, now, hook } = heard((one) =>
    one.method === "POST" ? json(refusal, 409) : undefined,
  );
  await act(async () => {
    expect(await now().onSend("plums")).toBe(false);
    expect(await now().onCompress()).toBe(false);
  });
  expect(now().problem).toBe("An answer is still being written. Wait for it, or stop it.");
  expect(posts(asked).length).toBe(2);
  act(() => now().onDismiss());
  expect(now().problem).toBe(null);
  hook.unmount();
});

test.each([
  [401, "needsToken"],
  [404, "missing"],
] as const)("an answer of %i to a listener says that %s", async (status, which) => {
  const { now, hook } = heard((one) =>
    one.path.endsWith("/events") ? json({ detail: "no" }, status) : undefined,
  );
  await waitFor(() => expect(now()[which]).toBe(true));
  hook.unmount();
});

test("older pages are asked for once each, until there are none", async () => {
  const { asked, now, hook, tell } = heard((one) => {
    if (!one.path.includes("/history")) return undefined;
    return one.path.includes("before=u1")
      ? json({ messages: some("u0 a0").messages, before: null })
      : json({ messages: some("u1 a1").messages, before: "u1" });
  });
  await tell("props", some("u1 a1"));
  await waitFor(() => expect(now().before).toBe("u1"));
  await act(async () => void (await Promise.all([now().onOlder(), now().onOlder()])));
  expect(now().log.map((each) => each.id)).toEqual(["u0", "a0", "u1", "a1"]);
  await act(async () => void (await now().onOlder()));
  expect(asked.filter((one) => one.path.includes("before=")).length).toBe(1);
  hook.unmount();
});

test("naming context begins a chat once, and the message goes to it with its pills", async () => {
  const { asked, now, hook, begun } = heard(
    (one) => (one.path.includes("/completions") ? json({ completions: [] }) : undefined),
    null,
  );
  const { signal } = new AbortController();
  await act(
    async () =>
      void (await Promise.all([
        now().sources.complete("@a", signal),
        now().sources.complete("@ab", signal),
      ])),
  );
  expect(begun).toEqual(["new"]);
  const pill = {
    name: "a",
    type: "file" as const,
    start: 0,
    text_properties: { pill: "a", face: "", rear_nonsticky: true, keymap: "" },
  };
  await act(async () => void (await now().onSend("[@a]", [pill])));
  expect(posts(asked)).toEqual(["POST /api/sessions", "POST /api/sessions/new/messages"]);
  expect(asked.find((one) => one.path.endsWith("/messages"))?.body).toEqual({
    content: "[@a]",
    pills: [pill],
  });
  hook.unmount();
});
