// Report what the built page weighs on its way to a browser, and fail if that is more than was promised.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

/** What every view needs; the rest is loaded when it is used. */
const FIRST = new Set(["index.html", "page.js", "page.css", "inter.woff2"]);
const MOST = { "first view": 250_000, "in all": 550_000 };
const folder = process.argv[2]
  ? pathToFileURL(`${process.argv[2]}/`)
  : new URL("../apps/server/page/", import.meta.url);
const sum = { "first view": 0, "in all": 0 };
for (const name of readdirSync(folder).sort()) {
  const bytes = gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length;
  sum["in all"] += bytes;
  if (FIRST.has(name)) sum["first view"] += bytes;
  console.log(`${String(bytes).padStart(8)} bytes gzipped  ${name}`);
}
for (const [what, most] of Object.entries(MOST)) {
  console.log(`${String(sum[what]).padStart(8)} bytes gzipped ${what}, of at most ${most}`);
  if (sum[what] > most) {
    console.error(`The page is too heavy ${what}. Use fewer or lighter libraries.`);
    process.exitCode = 1;
  }
}
