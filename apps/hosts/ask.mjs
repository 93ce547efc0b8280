// Asks `polycontext compact` to shorten a conversation, for hosts that run on Node.js or Bun.

import { spawn } from "node:child_process"

const VERSION = 1
const FITS = 3 // the exit code of "nothing to shorten"

/** Returns the tokens that messages have at most, for most texts. */
export const tokensOf = (messages) => Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / 3)

/** Returns the budget in tokens: what the user set, or else the host's default. */
export const budget = (otherwise) =>
  Number(process.env.POLYCONTEXT_TOKENS) || Math.max(1, Math.floor(otherwise))

/** Returns the answer to a request; rejects with what the user is told. */
export const ask = (request, signal) =>
  new Promise((resolve, reject) => {
    const program = process.env.POLYCONTEXT_PROGRAM || "polycontext"
    const seconds = Number(process.env.POLYCONTEXT_SECONDS) || 60
    const late = AbortSignal.timeout(seconds * 1000)
    const child = spawn(program, ["compact", "-"], {
      signal: signal ? AbortSignal.any([signal, late]) : late,
      killSignal: "SIGKILL",
      windowsHide: true,
    })
    let out = ""
    let err = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text))
    child.stdin.on("error", () => {}) // it ended before it read all; its exit code says why
    child.on("error", (error) => {
      const absent = `${program} is not on PATH: install it, or name it in POLYCONTEXT_PROGRAM`
      const why = error.code === "ENOENT" ? absent : late.aborted ? `no answer in ${seconds} s` : error.message
      reject(new Error(why))
    })
    child.on("close", (code, killed) => {
      try {
        if (code !== 0 && code !== FITS) throw new Error(`${killed ?? `exit code ${code}`}: ${err.trim().slice(-200)}`)
        const answer = JSON.parse(out)
        if (answer.version !== VERSION) throw new Error(`an answer of version ${answer.version}`)
        resolve(answer)
      } catch (error) {
        reject(error)
      }
    })
    child.stdin.end(JSON.stringify({ version: VERSION, ...request }))
  })

/** Returns the figures of an answer as a line for people. */
export const figures = (answer) =>
  `polycontext: ${answer.tokens_before} -> ${answer.tokens_after} tokens; ` +
  `${answer.kept} kept, ${answer.summarised} summarised, ${answer.dropped} dropped`
