// An extension of pi that answers compactions with polycontext, without a model.
//
// It summarises the entries of the branch themselves, never the last summary. Whatever fails
// leaves the compaction to pi.

import { ask, budget, figures, tokensOf } from "./ask.mjs"

const MOST = 40_000 // tokens

const textOf = (content) =>
  typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : part.type === "image" ? "(image)" : "")).filter(Boolean).join("\n")

/** Returns a message of pi in the neutral form, or nothing for what no model reads. */
const neutral = (message) => {
  switch (message.role) {
    case "user":
    case "custom":
      return [{ role: "user", text: textOf(message.content) }]
    case "assistant": {
      const calls = message.content.filter((part) => part.type === "toolCall")
      const told = { role: "assistant", text: textOf(message.content) }
      return [{ ...told, calls: calls.map((call) => ({ id: call.id, name: call.name, input: call.arguments })) }]
    }
    case "toolResult": {
      const result = { id: message.toolCallId, text: textOf(message.content), error: message.isError }
      return [{ role: "user", results: [result] }]
    }
    case "bashExecution":
      return message.excludeFromContext ? [] : [{ role: "user", text: `$ ${message.command}\n${message.output}` }]
    default:
      return []
  }
}

const messagesOf = (entry) => {
  switch (entry.type) {
    case "message":
      return neutral(entry.message)
    case "custom_message":
      return [{ role: "user", text: textOf(entry.content) }]
    case "branch_summary":
      return [{ role: "user", text: `[Summary of a branch]\n${entry.summary}` }]
    default:
      return [] // compactions among them: what they summarise is here
  }
}

export default function polycontext(pi) {
  pi.on("session_before_compact", async (event, ctx) => {
    const { preparation, branchEntries, customInstructions, reason, signal } = event
    try {
      const { firstKeptEntryId, tokensBefore, settings } = preparation
      const end = branchEntries.findIndex((entry) => entry.id === firstKeptEntryId)
      const messages = branchEntries.slice(0, end < 0 ? undefined : end).flatMap(messagesOf)
      const room = (ctx.model?.contextWindow ?? 0) - settings.reserveTokens - settings.keepRecentTokens
      const tokens = budget(room > 0 ? Math.min(MOST, room / 2) : MOST)
      const request = { host: "pi", trigger: reason, shape: "text", query: customInstructions, messages }
      // Who asks for a compaction of a short session wants it shorter, too.
      const lowMark = Math.max(0.01, Math.min(0.5, tokensOf(messages) / 2 / tokens))
      const answer = await ask({ ...request, max_tokens: tokens, low_mark: lowMark }, signal)
      if (!answer.summary) throw new Error("an answer without a summary")
      ctx.ui.notify(figures(answer), "info")
      const { summary, ...details } = answer
      return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { polycontext: details } } }
    } catch (error) {
      ctx.ui.notify(`polycontext left the compaction to pi: ${error?.message ?? error}`, "warning")
      return undefined // an empty object would discard the compaction of another extension
    }
  })
}
