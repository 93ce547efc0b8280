// The plugin of OpenCode: when it asks, what its plan makes of a list, and that it never throws.

import assert from "node:assert/strict"
import { test } from "node:test"

import { SHORTENED, failures, program } from "./program.mjs"

const { Polycontext } = await import("../../apps/hosts/opencode.mjs")

const HOOK = "experimental.chat.messages.transform"
const MODEL = { providerID: "v", modelID: "m" }
const info = (id, role) => ({ id, role, sessionID: "s", ...(role === "user" && { model: MODEL }) })
const user = (id, text) => ({ info: info(id, "user"), parts: [{ type: "text", text }] })
const tool = (callID, state) => ({ type: "tool", callID, tool: "bash", state: { input: { n: 1 }, ...state } })
const LONG = "A row of the table. ".repeat(100)
const list = () => [
  user("u1", "Fix the price."),
  {
    info: info("a1", "assistant"),
    parts: [
      { type: "reasoning", text: "…" },
      { type: "text", text: "I look." },
      tool("c1", { status: "completed", output: LONG }),
      tool("c2", { status: "error", error: "no such file" }),
    ],
  },
  { info: info("a2", "assistant"), parts: [{ type: "text", text: LONG }] },
  user("u2", "And now?"),
]
// The neutral messages: u1, a1, the results of a1, a2, u2.
const PLAN = [
  { keep: 0 },
  { message: { role: "user", text: "A summary." } },
  { keep: 1 },
  { keep: 2, cut: { c1: "cut" } },
  { keep: 4 },
]

/** Returns the hook of a new plugin with a small window, and what it tells. */
const plugin = async (context = 1_000) => {
  const told = []
  const client = {
    app: { log: async ({ body }) => told.push(body.message) },
    tui: { showToast: () => Promise.reject(new Error("no screen")) },
    config: { providers: async () => ({ data: { providers: [{ id: "v", models: { m: { limit: { context } } } }] } }) },
  }
  const hooks = await Polycontext({ client })
  return { told, hook: async (messages) => (await hooks[HOOK]({}, { messages }), messages) }
}

test("a long list is shortened, and its results are cut in their calls", async () => {
  const { asked } = program({ ...SHORTENED, plan: PLAN })
  const { hook, told } = await plugin()
  const left = await hook(list())
  assert.deepEqual(left.map(({ info }) => info.id), ["u1", "msg_polycontext_1", "a1", "u2"])
  assert.equal(left[1].parts[0].text, "A summary.")
  assert.deepEqual(left[2].parts.map((part) => part.text ?? part.state.output ?? part.state.error), ["I look.", "cut", "no such file"])
  assert.deepEqual(told, ["polycontext: 90 -> 30 tokens; 2 kept, 3 summarised, 1 dropped"])
  const { messages, ...request } = asked()
  assert.deepEqual(request, { version: 1, host: "opencode", max_tokens: 500 })
  assert.deepEqual(messages.slice(1, 3), [
    { role: "assistant", text: "I look.", calls: [{ id: "c1", name: "bash", input: { n: 1 } }, { id: "c2", name: "bash", input: { n: 1 } }] },
    { role: "user", results: [{ id: "c1", text: LONG, error: false }, { id: "c2", text: "no such file", error: true }] },
  ])
})

test("the plan stands until the list outgrows it, and is then made of the originals", async () => {
  program({ ...SHORTENED, plan: PLAN })
  const { hook } = await plugin()
  const before = await hook(list())
  program("must not be asked", 1)
  const more = [...list(), { info: info("a3", "assistant"), parts: [{ type: "text", text: "24." }] }]
  assert.deepEqual((await hook([...more])).slice(0, -1), before)
  const { asked } = program({ ...SHORTENED, plan: [{ keep: 0 }] })
  assert.equal((await hook([...more, user("u3", LONG)])).length, 1)
  assert.equal(asked().messages.length, 7)
})

test("a list whose past was taken back is a new one", async () => {
  program({ ...SHORTENED, plan: PLAN })
  const { hook } = await plugin()
  await hook(list())
  const short = [user("u9", "Something else.")]
  assert.deepEqual(await hook([...short]), short)
})

test("a part of a message, and what a summary calls", async () => {
  const calls = [{ id: "c2", name: "bash", input: { n: 1 } }]
  const results = [{ id: "c2", text: "none" }]
  program({ ...SHORTENED, plan: [{ message: { role: "assistant", text: "", calls } }, { message: { role: "user", results } }] })
  const { hook } = await plugin()
  const left = await hook(list())
  assert.equal(left.length, 1)
  assert.deepEqual(left[0].parts.map((part) => [part.callID, part.state.error]), [["c2", "none"]])
})

test("a short list is not looked at", async () => {
  program("must not be asked", 1)
  const { hook, told } = await plugin(200_000)
  assert.deepEqual(await hook(list()), list())
  assert.deepEqual(told, [])
})

test("what fits is left, and not asked again at once", async () => {
  program({ ...SHORTENED, status: "nothing to shorten" }, 3)
  const { hook, told } = await plugin()
  await hook(list())
  program("must not be asked", 1)
  assert.deepEqual(await hook(list()), list())
  assert.deepEqual(told, [])
})

for (const [name, break_, says] of [
  ...failures,
  ["a plan of what is not there", () => program({ ...SHORTENED, plan: [{ keep: 9 }] }), /message 9/],
]) {
  test(`${name} leaves the list to OpenCode`, async () => {
    break_()
    const { hook, told } = await plugin()
    assert.deepEqual(await hook(list()), list())
    assert.match(told[0], /^polycontext left the list to OpenCode: /)
    assert.match(told[0], says)
    assert.deepEqual(await hook(list()), list())
    assert.equal(told.length, 1)
  })
}

test("nothing is thrown, whatever the host hands over", async () => {
  const { hook, told } = await plugin()
  for (const odd of [[], [{}], [{ info: { role: "user" }, parts: 3 }]]) assert.deepEqual(await hook([...odd]), odd)
  assert.equal(told.length, 3)
})
