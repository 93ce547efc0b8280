/** Which texts are shown as they are, since laying them out as Markdown would take too long or too deep a stack. */

const MOST_CHARACTERS = 100_000;

/** Signs that may begin or end something: a parser tries them against each other. */
const MOST_MARKS = 2_000;

/** Quotes and lists in a row, or brackets that are open at once. */
const MOST_NESTED = 30;

const FENCED = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:\n {0,3}\1[`~]*[ \t]*(?=\n|$)|$(?![\s\S]))/gm;
const MARKS = /[*_`~[\]<>|&\\]|:\/\/|www\.|@/g;

/** Tell whether `text` is to be shown as it is. Code between fences is not laid out, and counts for its length alone. */
export function isPlain(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  const prose = text.replace(FENCED, "");
  return (prose.match(MARKS)?.length ?? 0) > MOST_MARKS || isNested(prose);
}

function isNested(text: string): boolean {
  let open = 0;
  for (const char of text) {
    if (char === "[" || char === "(") open++;
    else if ((char === "]" || char === ")") && open > 0) open--;
    if (open > MOST_NESTED) return true;
  }
  return text.split("\n").some((line) => nesting(line) > MOST_NESTED);
}

/** Return how many quotes and list items a line begins, one in another, and how many levels it is indented by. */
function nesting(line: string): number {
  const head = /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))*[ \t]*/.exec(line)?.[0] ?? "";
  const begun = head.match(/[>*+-]|\d+/g)?.length ?? 0;
  return begun + (/^[ \t]*/.exec(line)?.[0].length ?? 0) / 2;
}
