import { findPills } from "../pills/names";

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  data?: object;
}

/** Show `[@name]` in what a user wrote as a chip (a remark plugin). */
export function pillText() {
  return (tree: Node) => chipped(tree);
}

function chipped(node: Node): void {
  node.children = node.children?.flatMap((child) => {
    if (child.type === "text") return split(child.value ?? "");
    chipped(child);
    return [child];
  }) as Node[];
}

function split(text: string): Node[] {
  const nodes: Node[] = [];
  let at = 0;
  for (const { start, name } of findPills(text)) {
    if (start > at) nodes.push({ type: "text", value: text.slice(at, start) });
    const data = { hName: "span", hProperties: { className: "pill" } };
    nodes.push({ type: "emphasis", data, children: [{ type: "text", value: `@${name}` }] });
    at = start + name.length + 3;
  }
  if (at < text.length) nodes.push({ type: "text", value: text.slice(at) });
  return nodes;
}

/** What the server says in the user's name when a rule is revoked (docs/rules.md). */
const REVOKED = "This no longer applies: ";

/** Tell whether a message is the notice that a rule was revoked. */
export function isRevocation(content: string): boolean {
  return content.startsWith(REVOKED);
}

/** Return the name that a message attaches, if it is nothing else. */
export function attachmentOf(content: string): string | null {
  const [pill, ...more] = findPills(content);
  const isAlone = pill && !more.length && content.trim() === `[@${pill.name}]`;
  return isAlone ? pill.name : null;
}
