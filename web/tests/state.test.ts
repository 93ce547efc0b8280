import type { ChatProps } from "@props";
import { expect, test } from "vitest";
import { type Change, NOTHING, reduce, type SessionState } from "../src/session/state";
import { message, props } from "./fakes";

function after(...changes: Change[]): SessionState {
  return changes.reduce(reduce, NOTHING);
}

const said = (ids: string, more: Partial<ChatProps> = {}): Change => ({
  type: "props",
  props: props(ids, more),
});
const newest = (ids: string, before: string | null = null): Change => ({
  type: "newest",
  page: { messages: props(ids).messages, before },
});
const delta = (text: string): Change => ({ type: "delta", text });
const ids = (state: SessionState) => state.log.map((each) => each.id).join(" ");

test("the first props are those of a chat of which the log is asked for", () => {
  const state = after(said("u1 a1"));
  expect([state.behind, state.known, state.writing, state.log]).toEqual([1, false, false, []]);
  expect(ids(reduce(state, newest("u0 a0 u1 a1", "u0")))).toBe("u0 a0 u1 a1");
});

test("a file that was attached is not answered", () => {
  const attached = { ...props(""), messages: [message("u1", "user", "[@stock.csv]")] };
  const state = after(said(""), newest(""), { type: "props", props: attached });
  expect([state.writing, ids(state)]).toEqual([false, "u1"]);
});

test("a message that the server answers is being answered until the assistant's own stands", () => {
  const sent = after(said(""), newest(""), said("u1", { answering: true }));
  expect([sent.writing, ids(sent)]).toEqual([true, "u1"]);
  const streaming = [delta("Hel"), delta("lo")].reduce(reduce, sent);
  expect([streaming.streaming, streaming.writing]).toEqual(["Hello", true]);
  const answered = reduce(streaming, said("u1 a1"));
  expect([answered.writing, answered.streaming, ids(answered), answered.behind]).toEqual([
    false,
    "",
    "u1 a1",
    1,
  ]);
});

test("a message in the user's name that nobody answers, such as a revoked rule, is not waited for", () => {
  expect(after(said("u1 a1"), newest("u1 a1"), said("u1 a1 u2")).writing).toBe(false);
});

test("an answer that ended without a word is not waited for", () => {
  const sent = said("u1", { answering: true });
  expect(after(said(""), newest(""), sent, said("u1")).writing).toBe(false);
});

test("who comes in the middle of an answer sees that one is written", () => {
  const state = after(said("u1"), newest("u1"), delta("lo"));
  expect([state.writing, state.streaming]).toEqual([true, "lo"]);
  expect(reduce(state, said("u1 a1")).writing).toBe(false);
});

test("a compression that sums up the last answer asks for none", () => {
  expect(after(said("u1 a1 u2 a2"), newest("u1 a1 u2 a2"), said("u1 s1 u2")).writing).toBe(false);
  expect(after(said("u2 a2"), newest("u1 a1 u2 a2"), said("u1")).writing).toBe(false);
});

test("an answer that was asked for again is waited for until something is heard of it", () => {
  const again = after(said("u1 a1"), newest("u1 a1"), { type: "asked" });
  expect(again.writing).toBe(true);
  expect(reduce(again, said("u1")).writing).toBe(true);
  expect(reduce(again, said("u1 a2")).writing).toBe(false);
  expect([said("u1"), said("u1")].reduce(reduce, again).writing).toBe(false);
  expect(
    [{ type: "problem", what: "none" } as const, said("u1")].reduce(reduce, again).writing,
  ).toBe(false);
  expect([said("u1"), delta("Pl"), said("u1 a2")].reduce(reduce, again).writing).toBe(false);
  expect(reduce(again, { type: "cancelled" }).writing).toBe(false);
});

test("what was taken back leaves the log when its newest page comes, and older pages stay", () => {
  const shown = after(said("u2 a2"), newest("u1 a1 u2 a2", "u1"), {
    type: "older",
    before: "u1",
    page: { messages: props("u0 a0").messages, before: null },
  });
  const edited = reduce(shown, said("u3"));
  expect([edited.behind, ids(edited)]).toEqual([2, "u0 a0 u1 a1 u2 a2"]);
  const renewed = reduce(edited, newest("a1 u3", "a1"));
  expect([ids(renewed), renewed.before]).toEqual(["u0 a0 u1 a1 u3", null]);
});

test("a page that does not touch what is here begins the log anew", () => {
  const state = after(said("u1"), newest("u1"), said("u9"), newest("u8 a8 u9", "u8"));
  expect([ids(state), state.before]).toEqual(["u8 a8 u9", "u8"]);
});

test("words that came while the newest page was on its way are not lost", () => {
  expect(ids(after(said("u1"), said("u1 a1 u2"), newest("u1 a1")))).toBe("u1 a1 u2");
});

test("a compression takes nothing out of the log, and what is kept word for word is marked there too", () => {
  const kept = {
    ...props("s1 u2 a2"),
    messages: [
      message("s1", "summary"),
      { ...message("u2"), isPreserved: true },
      message("a2", "assistant"),
    ],
  };
  const state = reduce(after(said("u1 a1 u2 a2"), newest("u1 a1 u2 a2")), {
    type: "props",
    props: kept,
  });
  expect(ids(state)).toBe("u1 a1 u2 a2");
  expect(state.log.map((each) => each.isPreserved)).toEqual([false, false, true, false]);
});

test("an older page that was asked for before the log was cut belongs nowhere", () => {
  const state = after(said("u5"), newest("u5", "u5"));
  expect(
    reduce(state, {
      type: "older",
      before: "u4",
      page: { messages: props("u3").messages, before: null },
    }),
  ).toBe(state);
});

test("a problem stands until it is read or something new is answered", () => {
  const state = after(said("u1"), newest("u1"), {
    type: "problem",
    what: "The model did not answer.",
  });
  expect(reduce(state, said("u1")).problem).toBe("The model did not answer.");
  expect(reduce(state, said("u1 a1 u2", { answering: true })).problem).toBe(null);
  expect(reduce(state, { type: "problem", what: null }).problem).toBe(null);
});

test("what is on its way is shown until it has arrived", () => {
  const state = after(said(""), newest(""), { type: "pending", content: "plums" });
  expect(state.pending).toBe("plums");
  expect(reduce(state, said("u1", { answering: true })).pending).toBe(null);
});
