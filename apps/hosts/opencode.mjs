// A plugin of OpenCode that shortens what its model is sent, without a model.
//
// OpenCode keeps its whole log. A list that outgrows the budget is shortened once, from its
// originals, and the plan stands until the list outgrows the budget again: a prompt cache holds
// in between. Whatever fails leaves the list as it is, and so the compaction to OpenCode.

import { ask, budget, figures, tokensOf } from "./ask.mjs"

const MOST = 100_000 // tokens
const GROWTH = 1.25 // how much larger a list is before it is looked at again
const SESSIONS = 100 // how many sessions are remembered

const textOf = (part) => {
  if (part.type === "text") return part.ignored ? "" : part.text
  if (part.type === "file") return `(file ${part.filename ?? part.mime})`
  return part.type === "compaction" ? "What did we do so far?" : ""
}

const isDone = (part) => part.type === "tool" && ["completed", "error"].includes(part.state.status)

/** Returns a message of OpenCode in the neutral form: calls and their results are two messages. */
const neutral = ({ info, parts }) => {
  const tools = parts.filter(isDone)
  const calls = tools.map((part) => ({ id: part.callID, name: part.tool, input: part.state.input }))
  const results = tools.map(({ callID, state }) => ({
    id: callID,
    text: state.output ?? state.error,
    error: state.status === "error",
  }))
  const told = { role: info.role, text: parts.map(textOf).filter(Boolean).join("\n"), calls }
  return calls.length ? [told, { role: "user", results }] : [told]
}

/** Returns the messages that a plan makes of OpenCode's. */
const applied = (messages, plan) => {
  const places = messages.flatMap((message, place) => neutral(message).map((told) => (told.results ? null : place)))
  const texts = new Map(plan.flatMap((item) => Object.entries(item.cut ?? {})))
  for (const { message } of plan) for (const { id, text } of message?.results ?? []) texts.set(id, text)
  const shortened = (part) => {
    if (!texts.has(part.callID)) return part
    const field = part.state.status === "error" ? "error" : "output"
    return { ...part, state: { ...part.state, [field]: texts.get(part.callID) } }
  }
  const like = (role) => messages.find(({ info }) => info.role === role && !info.error)?.info
  const made = ({ role, text, calls = [] }, number) => {
    const ids = new Set(calls.map((call) => call.id))
    const source = messages.find(({ parts }) => parts.some((part) => ids.has(part.callID)))
    const info = { ...(source?.info ?? like(role) ?? like("user")), id: `msg_polycontext_${number}` }
    const place = { id: `prt_polycontext_${number}`, sessionID: info.sessionID, messageID: info.id }
    const tools = (source?.parts ?? []).filter((part) => ids.has(part.callID)).map(shortened)
    return { info, parts: [...(text ? [{ ...place, type: "text", text }] : []), ...tools] }
  }
  return plan.flatMap((item, number) => {
    if (item.message) return item.message.results ? [] : [made(item.message, number)]
    const place = places[item.keep]
    if (place === undefined) throw new Error(`a plan of message ${item.keep}, which is not there`)
    if (place === null) return [] // results, which stand with their calls
    const { info, parts } = messages[place]
    // Reasoning is signed for what stood before it.
    return [{ info, parts: parts.filter((part) => part.type !== "reasoning").map(shortened) }]
  })
}

export const Polycontext = async ({ client }) => {
  const sessions = new Map()

  const tell = (level, message) => {
    const variant = level === "warn" ? "warning" : "info"
    client.app.log({ body: { service: "polycontext", level, message } }).catch(() => {})
    client.tui.showToast({ body: { message, variant } }).catch(() => {})
  }

  const windowOf = async (model) => {
    const { data } = await client.config.providers()
    const provider = data.providers.find(({ id }) => id === model.providerID)
    return provider?.models[model.modelID]?.limit.context || 2 * MOST
  }

  const shorten = async (output) => {
    const all = output.messages
    const { sessionID, model } = all.findLast(({ info }) => info.role === "user").info
    let { count = 0, last, plan, due = 0, window = await windowOf(model) } = sessions.get(sessionID) ?? {}
    const isPlanned = plan && all[count - 1]?.info.id === last
    let view = isPlanned ? [...applied(all.slice(0, count), plan), ...all.slice(count)] : all
    const tokens = budget(Math.min(MOST, window / 2))
    if (tokensOf(view.flatMap(neutral)) > Math.max(tokens, due)) {
      try {
        const answer = await ask({ host: "opencode", max_tokens: tokens, messages: all.flatMap(neutral) })
        if (answer.status === "shortened") {
          view = applied(all, answer.plan)
          ;[count, last, plan] = [all.length, all.at(-1).info.id, answer.plan]
          tell("info", figures(answer))
        }
      } catch (error) {
        tell("warn", `polycontext left the list to OpenCode: ${error?.message ?? error}`)
      }
      due = GROWTH * tokensOf(view.flatMap(neutral))
    }
    sessions.delete(sessionID)
    sessions.set(sessionID, { count, last, plan, due, window })
    if (sessions.size > SESSIONS) sessions.delete(sessions.keys().next().value)
    all.splice(0, all.length, ...view)
  }

  return {
    "experimental.chat.messages.transform": async (_input, output) => {
      // What a hook throws ends the user's turn.
      await shorten(output).catch((error) => tell("warn", `polycontext failed: ${error?.message ?? error}`))
    },
  }
}
