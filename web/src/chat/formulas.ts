const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;
const PAREN = /\\\((.+?)\\\)/g;
const BRACKET = /\\\[([\s\S]+?)\\\]/g;
/** A dollar begins a formula before a word and ends it behind one, and no digit follows: prices stay. */
const DOLLAR = /(?<![\\$\w])\$(?=[^\s$])([^$\n]*[^\s$\\])\$(?![\d$])/g;

/** Tell whether a text may hold a formula. */
export function hasFormulas(text: string): boolean {
  return withFormulas(text).includes("$$");
}

/** Return a text with every formula between double dollars; code stays as it is. */
export function withFormulas(text: string): string {
  return text
    .split(CODE)
    .map((part, index) =>
      index % 2
        ? part
        : part
            .replace(BRACKET, (_, formula: string) => `\n$$\n${formula.trim()}\n$$\n`)
            .replace(PAREN, (_, formula: string) => `$$${formula}$$`)
            .replace(DOLLAR, (_, formula: string) => `$$${formula}$$`),
    )
    .join("");
}
