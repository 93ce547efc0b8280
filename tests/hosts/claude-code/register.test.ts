// The mod of Claude Code: what it asks, what it returns, and that failures are left to its host.

import { describe, expect, mock, test } from 'claude-code/testing'
import type { On, SessionMessage } from 'claude-code'

const said = (role: 'user' | 'assistant', text: string): SessionMessage => ({ role, text, toolUses: [] })
const CALL = { tool_use_id: 't1', tool: 'Bash', input: { command: 'ls' } }
const ROWS: SessionMessage[] = [
  said('user', 'Count the fish.'),
  { ...said('assistant', 'I look.'), toolUses: [CALL] },
  { ...said('user', ''), toolResults: [{ tool_use_id: 't1', text: 'pike', isError: false }] },
]
const PLAN = [
  { message: { role: 'user', text: 'Count the fish.' } },
  { message: { role: 'user', text: 'A summary.' } },
  { message: { role: 'assistant', text: '', calls: [{ id: 't1', name: 'Bash', input: { command: 'ls' } }] } },
  { message: { role: 'user', text: '', results: [{ id: 't1', text: 'pike' }] } },
]
const ANSWER = { version: 1, plan: PLAN, tokens_before: 9, tokens_after: 5, kept: 3, summarised: 1, dropped: 0 }

const ABSENT = -1

/** The world beneath: one answer of the program, the host's own compaction, the lines shown. */
const world = (on: On, stdout: string, exitCode = 0) => {
  const seen = { lines: [] as string[], asked: [] as string[], own: 0, clock: mock.clock(on) }
  on('process.run', ($, e) => {
    if (exitCode === ABSENT) throw new Error('spawn polycontext ENOENT')
    seen.asked.push(e.init?.stdin ?? '')
    return { value: { exitCode, stdout, stderr: 'why', isStdoutTruncated: false, isStderrTruncated: false } }
  })
  on('session.info', () => ({ value: { transcriptPath: '/s.jsonl' } }) as never)
  on('session.usage', () => ({ value: { startedAt: 0, context: { window: 200_000 }, rateLimits: {} } }) as never)
  on('session.surface', () => ({ value: 'terminal' as const }))
  on('ui.log', ($, e) => { seen.lines.push(e.text); return { value: undefined } })
  on('session.compact', () => { seen.own += 1; return { messages: [said('user', 'OWN')] } })
  return seen
}

describe('register', () => {
  test('the plan of the whole file becomes the conversation', async ($, on) => {
    const seen = world(on, JSON.stringify(ANSWER))
    const told = await $.session.compact({ trigger: 'manual', instructions: 'fish', messages: ROWS } as never)
    expect(told.messages?.map(each => each.text)).toEqual(['Count the fish.', 'A summary.', '', ''])
    expect(told.messages?.[2]?.toolUses).toEqual([CALL])
    expect(told.messages?.[3]?.toolResults).toEqual([{ tool_use_id: 't1', text: 'pike', isError: false }])
    expect(seen.own).toBe(0)
    const asked = JSON.parse(seen.asked[0] ?? '') as Record<string, unknown>
    expect([asked['transcript'], asked['last']]).toEqual(['/s.jsonl', 't1'])
    expect([asked['query'], asked['max_tokens']]).toEqual(['fish', 40_000])
    expect(asked['messages']).toBe(undefined)
    await seen.clock.advance(500)
    expect(seen.lines).toEqual(['polycontext: 9 -> 5 tokens; 3 kept, 1 summarised, 0 dropped'])
  })
  test('what cannot be shorter is kept', async ($, on) => {
    const seen = world(on, JSON.stringify(ANSWER), 3)
    await $.session.compact({ trigger: 'manual', messages: ROWS } as never)
    expect(seen.own).toBe(0)
  })
  for (const [name, stdout, code] of [
    ['a failure', '', 4],
    ['an absent program', '', ABSENT],
    ['no JSON', 'oops', 0],
    ['another version', JSON.stringify({ ...ANSWER, version: 2 }), 0],
    ['a file that lacks the last message', '', 2],
  ] as const) {
    test(`${name} leaves the compaction to Claude Code`, async ($, on) => {
      const seen = world(on, stdout, code)
      const told = await $.session.compact({ trigger: 'auto', messages: ROWS } as never)
      expect(told.messages?.[0]?.text).toBe('OWN')
      expect(seen.own).toBe(1)
      expect(seen.lines[0]).toMatch(/^polycontext left the compaction to Claude Code: /)
    })
  }
  test('the session of a sub-agent is left to Claude Code', async ($, on) => {
    const seen = world(on, JSON.stringify(ANSWER))
    await $.session.compact({ trigger: 'auto', agentId: 'a', messages: ROWS } as never)
    expect([seen.own, seen.asked.length]).toEqual([1, 0])
  })
})
