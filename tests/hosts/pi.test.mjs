// The extension of pi: what it asks, what it returns, and that failures are left to pi.

import assert from "node:assert/strict"
import { test } from "node:test"

import { SHORTENED, failures, program } from "./program.mjs"

const { default: extension } = await import("../../apps/hosts/pi.mjs")

const entry = (id, message) => ({ type: "message", id, message })
const BRANCH = [
  entry("a", { role: "user", content: "Fix the price." }),
  entry("b", {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "…" },
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } },
    ],
  }),
  entry("c", { role: "toolResult", toolCallId: "c1", content: [{ type: "text", text: "cart.py" }], isError: false }),
  { type: "compaction", id: "d", summary: "An earlier summary.", firstKeptEntryId: "c" },
  entry("e", { role: "bashExecution", command: "make", output: "ok" }),
  { type: "branch_summary", id: "f", summary: "The other way failed." },
  { type: "custom_message", id: "g", content: [{ type: "image", data: "…" }] },
  entry("h", { role: "user", content: "And now?" }),
]

/** Returns what the extension answers, and what it tells the user. */
const compacted = async (more = {}) => {
  let handler
  extension({ on: (name, given) => (handler = given) })
  const told = []
  const ctx = { model: { contextWindow: 200_000 }, ui: { notify: (line, kind) => told.push([kind, line]) } }
  const settings = { reserveTokens: 16_384, keepRecentTokens: 20_000 }
  const preparation = { firstKeptEntryId: "h", tokensBefore: 900, settings }
  const signal = new AbortController().signal
  const event = { preparation, branchEntries: BRANCH, reason: "manual", customInstructions: "the price", signal, ...more }
  return { answer: await handler(event, ctx), told }
}

test("it asks with the originals before the kept entries, and returns the summary", async () => {
  const { asked } = program(SHORTENED)
  const { answer, told } = await compacted()
  const { summary: _, ...details } = SHORTENED
  assert.deepEqual(answer.compaction, {
    summary: "The price is fixed.",
    firstKeptEntryId: "h",
    tokensBefore: 900,
    details: { polycontext: details },
  })
  assert.deepEqual(told, [["info", "polycontext: 90 -> 30 tokens; 2 kept, 3 summarised, 1 dropped"]])
  const { messages, ...request } = asked()
  assert.deepEqual(request, {
    version: 1,
    host: "pi",
    trigger: "manual",
    shape: "text",
    query: "the price",
    max_tokens: 40_000,
    low_mark: 0.01,
  })
  assert.deepEqual(messages, [
    { role: "user", text: "Fix the price." },
    { role: "assistant", text: "I look.", calls: [{ id: "c1", name: "bash", input: { command: "ls" } }] },
    { role: "user", results: [{ id: "c1", text: "cart.py", error: false }] },
    { role: "user", text: "$ make\nok" },
    { role: "user", text: "[Summary of a branch]\nThe other way failed." },
    { role: "user", text: "(image)" },
  ])
})

test("what fits is a summary as well", async () => {
  program({ ...SHORTENED, status: "nothing to shorten" }, 3)
  assert.equal((await compacted()).answer.compaction.summary, "The price is fixed.")
})

for (const [name, break_, says] of failures) {
  test(`${name} leaves the compaction to pi`, async () => {
    break_()
    const { answer, told } = await compacted()
    assert.equal(answer, undefined)
    assert.match(told[0][1], /^polycontext left the compaction to pi: /)
    assert.match(told[0][1], says)
  })
}

test("a compaction that pi gives up is given up", async () => {
  program(SHORTENED)
  const { answer, told } = await compacted({ signal: AbortSignal.abort() })
  assert.equal(answer, undefined)
  assert.equal(told[0][0], "warning")
})
