// Stands in for the program `polycontext`: a script that keeps what it was asked.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"

const folder = mkdtempSync(join(tmpdir(), "hosts-"))
after(() => rmSync(folder, { recursive: true }))
const [path, request, argv] = ["polycontext", "request.json", "argv.json"].map((name) => join(folder, name))

process.env.POLYCONTEXT_PROGRAM = path

export const SHORTENED = {
  version: 1,
  status: "shortened",
  tokens_before: 90,
  tokens_after: 30,
  kept: 2,
  summarised: 3,
  dropped: 1,
  open: [],
  summary: "The price is fixed.",
}

/** Writes the program, as lines of JavaScript, and how long it may take. */
const written = (lines, { seconds = 3600, mode = 0o755 } = {}) => {
  process.env.POLYCONTEXT_SECONDS = String(seconds)
  rmSync(path, { force: true })
  writeFileSync(path, ["#!/usr/bin/env node", ...lines].join("\n"), { mode })
}

/** Has the program answer, and returns what it was asked. */
export const program = (answer, code = 0) => {
  written([
    'const fs = require("node:fs")',
    `fs.writeFileSync(${JSON.stringify(argv)}, JSON.stringify(process.argv.slice(2)))`,
    `fs.writeFileSync(${JSON.stringify(request)}, fs.readFileSync(0))`,
    `console.log(${JSON.stringify(typeof answer === "string" ? answer : JSON.stringify(answer))})`,
    `process.exitCode = ${code}`,
  ])
  const read = (file) => JSON.parse(readFileSync(file, "utf8"))
  return { asked: () => read(request), argv: () => read(argv) }
}

/** What may happen to the program: a name, how it is made so, and what the user is told. */
export const failures = [
  ["an absent program", () => rmSync(path), /is not on PATH: install it/],
  ["a program that hangs", () => written(["setInterval(() => {}, 1000)"], { seconds: 0.2 }), /no answer in 0.2 s/],
  ["a killed program", () => written(['process.kill(process.pid, "SIGKILL")']), /SIGKILL/],
  ["a program that fails", () => written(['console.error("out of memory"); process.exitCode = 1']), /exit code 1: out of memory/],
  ["a list that cannot be shortened", () => program({ ...SHORTENED, needed: 9 }, 4), /exit code 4/],
  ["no JSON", () => program("Traceback"), /JSON/],
  ["another version", () => program({ ...SHORTENED, version: 2 }), /version 2/],
  ["a file that is no program", () => written([], { mode: 0o644 }), /EACCES/],
]
