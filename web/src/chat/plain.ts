/** Which texts are shown as they are, since laying them out as Markdown would take too long or too deep a stack. */

const MOST_CHARACTERS = 100_000;

/** Lines, and signs that may begin or end something: a parser tries them against each other. */
const MOST_MARKS = 2_000;

/** Each row of a table is filled up to the widest one. */
const MOST_CELLS = 10_000;

/** Each link to a definition repeats its address and its title. */
const MOST_REPEATED = 5_000_000;

/** Quotes and lists in a row, or brackets that are open at once. */
const MOST_NESTED = 30;

const MARKS = /[*_`~[\]<>|&\\!]|:\/\/|www\.|@/g;

/** Tell whether `text` is to be shown as it is. Code between fences is not laid out, and counts for its length alone. */
export function isPlain(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  const lines = proseOf(text);
  const prose = lines.join("\n");
  if (lines.length + count(prose, MARKS) > MOST_MARKS) return true;
  if (lines.length * (1 + Math.max(0, ...lines.map((line) => count(line, /\|/g)))) > MOST_CELLS)
    return true;
  if (prose.includes("]:") && prose.length * count(prose, /\]/g) > MOST_REPEATED) return true;
  return isBracketed(prose) || lines.some((line) => nesting(line) > MOST_NESTED);
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

/**
 * Return the lines that are not code between fences.
 *
 * A fence at the beginning of a line ends every list and quote. Behind one that is indented, or HTML, it may be no fence: from there on all is prose.
 */
export function proseOf(text: string): string[] {
  const prose: string[] = [];
  let fence = "";
  let isSure = true;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (fence) {
      if (closes(line, fence)) fence = "";
      continue;
    }
    fence = (isSure && /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[0]) || "";
    if (fence) continue;
    isSure &&= !/^(?:```|~~~|<)/.test(line.trimStart());
    prose.push(line);
  }
  return prose;
}

function closes(line: string, fence: string): boolean {
  const found = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1];
  return found !== undefined && found.startsWith(fence);
}

function isBracketed(text: string): boolean {
  let open = 0;
  for (const char of text) {
    if (char === "[" || char === "(") open++;
    else if ((char === "]" || char === ")") && open > 0) open--;
    if (open > MOST_NESTED) return true;
  }
  return false;
}

/** Return how many quotes and list items a line begins, one in another, and how many levels it is indented by. */
function nesting(line: string): number {
  const head =
    /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))*[ \t]*/.exec(line)?.[0] ?? "";
  const begun = head.match(/[>*+-]|\d+/g)?.length ?? 0;
  return begun + (/^[ \t]*/.exec(line)?.[0].length ?? 0) / 2;
}
