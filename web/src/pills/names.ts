/** What can stand in a pill, and where one is written: `[@name]`, as `polycontext.pills.pill` reads it. */

/** Characters, not UTF-16 units. */
export const LONGEST_NAME = 1024;

// What Python cannot print: everything but letters, marks, numbers, punctuation, symbols and the plain blank. Of characters that a newer
// Unicode knows, one side may say more than the other: the server has the last word.
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/u;

/** Tell whether `name` can stand in a pill. */
export function isName(name: string): boolean {
  const paired = name.length > 0 && endOfName(name, 0) === name.length;
  return (
    paired &&
    name[0] !== " " &&
    !name.endsWith(" ") &&
    !UNPRINTABLE.test(name) &&
    points(name) <= LONGEST_NAME
  );
}

/** Tell whether `name` is a path from a root to a file: never absolute, never up, the same on every system. */
export function isPath(name: string): boolean {
  const steps = name.split("/");
  const last = steps[steps.length - 1];
  const kept = steps.every((step) => step === "." || !/[. ]$/.test(step));
  return (
    kept &&
    last !== "" &&
    last !== "." &&
    !/^[/~]|\\|^[A-Za-z]:|^[A-Za-z][\p{L}\p{N}_+.-]*:\//u.test(name)
  );
}

/** Return where each pill is written in `text`, and its name, in order. */
export function findPills(text: string): { start: number; name: string }[] {
  const found: { start: number; name: string }[] = [];
  let at = text.indexOf("[@");
  while (at >= 0) {
    const end = endOfName(text, at + 2);
    const closed = end > at + 2 && text[end] === "]";
    const name = text.slice(at + 2, end);
    if (closed && isName(name)) found.push({ start: at, name });
    at = text.indexOf("[@", closed ? end + 1 : at + 1);
  }
  return found;
}

/** Return where the name that begins at `at` ends: before a bracket without its partner, a line end, or a pill inside. */
function endOfName(text: string, at: number): number {
  let end = at;
  for (;;) {
    const char = text[end];
    if (char === undefined || char === "]" || char === "\n" || char === "\r") return end;
    const next = char === "[" ? endOfGroup(text, end, 1) : end + 1;
    if (next < 0) return end;
    end = next;
  }
}

/** Return what is behind the brackets that begin at `at`, which are at most two deep; -1 where they are none. */
function endOfGroup(text: string, at: number, depth: number): number {
  if (text[at + 1] === "@") return -1;
  let end = at + 1;
  for (;;) {
    const char = text[end];
    if (char === undefined || char === "\n" || char === "\r") return -1;
    if (char === "]") return end + 1;
    if (char === "[" && depth === 2) return -1;
    end = char === "[" ? endOfGroup(text, end, depth + 1) : end + 1;
    if (end < 0) return -1;
  }
}

/** Return how many characters `text` has, as Python counts them. */
export function points(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
