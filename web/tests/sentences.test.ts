import { expect, test } from "vitest";
import { Refused, Unreachable } from "../src/session/client";
import { sentenceOf } from "../src/session/sentences";

const DETAIL =
  "the turn needs at least 52,974 tokens even after compression, but the budget is 3,000";

test.each([
  [
    new Refused(422, DETAIL, "ContextOverflowError"),
    "This message is too long. Shorten it, or attach it as a file.",
  ],
  [
    new Refused(422, DETAIL, "InvalidDataError"),
    "This could not be done. Change the message and try again.",
  ],
  [new Refused(404, "unknown session 'x'", "UnknownNameError"), "This chat no longer exists."],
  [
    new Refused(503, "the store did not take it; nothing has changed", "StoreError"),
    "The server could not save this. Try again.",
  ],
  [new Refused(422, "[@a.py]: file not found", "", true), "[@a.py]: file not found"],
  [new Unreachable(), "The server cannot be reached."],
])("no text for developers is shown: %s", (error, sentence) => {
  expect(sentenceOf(error)).toBe(sentence);
});

test("what does not fit is named by what was asked for", () => {
  const refused = new Refused(413, "", "ContextOverflowError", false, { tokens: 2402, most: 2223 });
  expect(sentenceOf(refused)).toContain("This message needs 2,402 tokens");
  expect(sentenceOf(refused, "undo")).toBe(
    "This compression can no longer be undone: the context would need 2,402 tokens, and 2,223 fit.",
  );
});
