// Say how much the built page weighs on its way to a browser, and fail where that is more than was promised.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const MOST = 250_000;
const folder = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../apps/server/page/", import.meta.url);
let all = 0;
for (const name of readdirSync(folder).sort()) {
  const bytes = gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length;
  all += bytes;
  console.log(`${String(bytes).padStart(8)} bytes gzipped  ${name}`);
}
console.log(`${String(all).padStart(8)} bytes gzipped, of at most ${MOST}`);
if (all > MOST) {
  console.error("the page is too heavy; legal: fewer or lighter libraries");
  process.exit(1);
}
