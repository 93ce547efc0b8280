// A mod of Claude Code that answers compactions with polycontext, without a model.
//
// It shortens the session's file, which has all that was said: the messages at hand may be what an
// earlier compaction left. Whatever fails leaves the compaction to Claude Code.

import type { EngineInterface, PluginOptions, Register, SessionCompactInput, SessionMessage } from 'claude-code'

type Message = {
  role: 'user' | 'assistant'
  text?: string
  calls?: { id: string; name: string; input?: Record<string, unknown> }[]
  results?: { id: string; text?: string; error?: boolean }[]
}
type Answer = {
  version: number
  plan: { message: Message }[]
  tokens_before: number
  tokens_after: number
  kept: number
  summarised: number
  dropped: number
}
type Rows = SessionCompactInput['messages']

const VERSION = 1
const FITS = 3 // the exit code of "nothing to shorten"
const SHOWN_AFTER_MS = 500 // a compaction clears the screen

/** The tokens that messages have at most, for most texts. */
const tokensOf = (rows: Rows): number => Math.ceil(JSON.stringify(rows).length / 3)

const built = ({ role, text = '', calls = [], results }: Message): SessionMessage => ({
  role,
  text,
  toolUses: calls.map(call => ({ tool_use_id: call.id, tool: call.name, input: call.input ?? {} })),
  ...(results && {
    toolResults: results.map(result => ({
      tool_use_id: result.id,
      text: result.text ?? '',
      isError: result.error ?? false,
    })),
  }),
})

/** Returns what the last of the messages at hand has, which may not be in the file yet. */
const signOf = (rows: Rows): string | undefined => {
  const last = rows.findLast(row => !row.text.startsWith('<')) // rows of Claude Code's own
  const [call] = [...(last?.toolUses ?? []), ...(last?.toolResults ?? [])]
  return call?.tool_use_id ?? last?.text.split('\n')[0]
}

const compacted = async ($: EngineInterface, options: PluginOptions, e: SessionCompactInput) => {
  const { transcriptPath } = await $.session.info()
  const { context } = await $.session.usage()
  const tokens = Math.floor(Math.min(Number(options['maxTokens'] ?? 40_000), context.window / 2))
  const request = {
    version: VERSION,
    host: 'claude-code',
    trigger: e.trigger,
    shape: 'list',
    query: e.instructions,
    transcript: transcriptPath,
    last: signOf(e.messages),
    max_tokens: tokens,
    // Who asks for a compaction of a short session wants it shorter, too.
    low_mark: Math.max(0.01, Math.min(0.5, tokensOf(e.messages) / 2 / tokens)),
  }
  const argv = [String(options['program'] ?? 'polycontext'), 'compact', '-']
  const ran = await $.process.run(argv, { stdin: JSON.stringify(request), timeoutMs: 1000 * Number(options['seconds'] ?? 60) })
  if (ran.exitCode !== 0 && ran.exitCode !== FITS) {
    throw new Error(`exit code ${ran.exitCode}: ${ran.stderr.trim().slice(-200)}`)
  }
  if (ran.isStdoutTruncated) throw new Error('the answer is too long')
  const answer = JSON.parse(ran.stdout) as Answer
  if (answer.version !== VERSION) throw new Error(`an answer of version ${answer.version}`)
  return answer
}

export const register: Register = (on, options) => {
  on('session.compact', async ($, e, next) => {
    try {
      // The session of a sub-agent has a file of its own.
      if (e.agentId !== undefined) return next(e)
      const answer = await compacted($, options, e)
      const line =
        `polycontext: ${answer.tokens_before} -> ${answer.tokens_after} tokens; ` +
        `${answer.kept} kept, ${answer.summarised} summarised, ${answer.dropped} dropped`
      // Without a screen the process ends with the compaction.
      if ((await $.session.surface()) === null) $.ui.log(line)
      else $.clock.after(SHOWN_AFTER_MS, () => $.ui.log(line))
      const messages = answer.plan.map(({ message }) => built(message))
      return { messages, tokensBefore: answer.tokens_before, tokensAfter: answer.tokens_after }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      $.ui.log(`polycontext left the compaction to Claude Code: ${why}`)
      return next(e)
    }
  }).catch(($, e, next) => next(e))
}
