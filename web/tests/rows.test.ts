import { expect, test } from "vitest";
import { rowsOf, type View } from "../src/chat/rows";
import { NOTHING, reduce } from "../src/session/state";
import { props } from "./fakes";

function rows(window: string, log: string, view: View = "log", earlier = false): string {
  const state = reduce(
    reduce(NOTHING, { type: "newest", page: { messages: props(log).messages, before: null } }),
    {
      type: "props",
      props: props(window),
    },
  );
  return rowsOf(state, view, earlier)
    .map((row) => (row.kind === "message" && !row.isSent ? `(${row.key})` : row.key))
    .join(" ");
}

test("a summary stands right before the first message behind what it stands for", () => {
  expect(rows("u1 s1 u3 a3", "u1 a1 u2 a2 u3 a3")).toBe("u1 (a1) (u2) (a2) s1 u3 a3");
});

test("each of several summaries stands in its place, and one behind all stands at the end", () => {
  expect(rows("s1 u2 s2 u4 s3", "u1 a1 u2 a2 u3 u4 a4")).toBe(
    "(u1) (a1) s1 u2 (a2) (u3) s2 u4 (a4) s3",
  );
});

test("a summary whose next message is not here yet stands before the first that is", () => {
  expect(rows("s1 u2 u9 a9", "u8 a8 u9 a9")).toBe("(u8) (a8) s1 u9 a9");
});

test("a summary stands behind what it covers, also where messages of it were restored", () => {
  expect(rows("s1 u1 a1 u3 a3", "u1 a1 u2 a2 u3 a3")).toBe("u1 a1 (u2) (a2) s1 u3 a3");
  expect(rows("s1 u1 u3 a3", "u1 a1 u2 a2 u3 a3")).toBe("u1 (a1) (u2) (a2) s1 u3 a3");
});

test("the window is what the model is sent, in its order", () => {
  expect(rows("u1 s1 u3 a3", "u1 a1 u2 a2 u3 a3", "window")).toBe("u1 s1 u3 a3");
});

test("what was cleared is there when it is asked for", () => {
  expect(rows("u3", "u1 a1 u3")).toBe("earlier u3");
  expect(rows("u3", "u1 a1 u3", "log", true)).toBe("earlier (u1) (a1) u3");
  expect(rows("", "u1 a1")).toBe("earlier");
  expect(rows("", "")).toBe("");
});

test("what is on its way and what is being written stand behind all", () => {
  const state = { ...NOTHING, pending: "plums", writing: true, streaming: "You" };
  expect(rowsOf(state, "log", false).map((row) => row.kind)).toEqual(["pending", "answer"]);
});
