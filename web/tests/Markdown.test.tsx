import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Markdown } from "../src/chat/Markdown";
import { isPlain } from "../src/chat/plain";

afterEach(cleanup);

const HOSTILE: [string, string][] = [
  ["quotes", ">".repeat(4_000)],
  ["quotes with blanks", "> ".repeat(4_000)],
  ["quotes behind a line", `Look:\n\n${">".repeat(40)} deep`],
  ["lists", "- ".repeat(2_000)],
  ["numbered lists", "1. ".repeat(1_000)],
  ["indented lists", Array.from({ length: 300 }, (_, n) => `${"  ".repeat(n)}- item`).join("\n")],
  ["stars", "*a".repeat(12_000)],
  ["underscores", "_a".repeat(12_000)],
  ["brackets", "[".repeat(5_000)],
  ["links in links", "[a](".repeat(3_000)],
  ["pictures", "![".repeat(5_000)],
  ["backticks", "`a``".repeat(5_000)],
  ["angles", "<a".repeat(5_000)],
  ["addresses", "http://a.".repeat(5_000)],
  ["mail", "a@b.".repeat(5_000)],
  ["pipes", "|a".repeat(5_000)],
  ["one long word", "a".repeat(1_000_000)],
  ["lines behind a quote", `> a\n${"b\n".repeat(20_000)}`],
  ["paragraphs", "a\n\n".repeat(20_000)],
  ["items", "- a\n".repeat(20_000)],
  ["blank lines", `- a\n${"\n".repeat(20_000)}x`],
  ["exclamation marks", "!".repeat(50_000)],
  [
    "a wide table of short rows",
    `${"|a".repeat(300)}|\n${"|-".repeat(300)}|\n${"a\n".repeat(1_000)}`,
  ],
  ["many links to one long address", `[a]: /${"u".repeat(90_000)}\n\n${"[a] ".repeat(800)}`],
  ["stars behind a fence that is none", `\`\`\` \`\n${"*a".repeat(12_000)}`],
  ["stars behind a fence in an item", `- x\n  \`\`\`\n- ${"*a".repeat(12_000)}`],
  ["quotes behind a fence in an item", `- x\n  \`\`\`\n- ${"> ".repeat(4_000)}`],
  ["stars behind a fence in a comment", `<!--\n\`\`\`\n-->\n${"*a".repeat(12_000)}`],
  ["stars behind returns", `\`\`\`\r\`\`\`\r${"*a".repeat(12_000)}`],
  ["stars behind an indented fence", ` \`\`\`\n\`\`\`\n${"*a".repeat(12_000)}`],
  ["stars behind a byte order mark", `\uFEFF\`\`\`\n\`\`\`\n${"*a".repeat(12_000)}`],
];

test.each(HOSTILE)("%s are shown as they are", (_, text) => {
  expect(isPlain(text)).toBe(true);
  const { container } = render(<Markdown text={text} />);
  expect(container.textContent).toBe(text);
});

test.each([
  [
    "prose",
    "A **bold** word, a [link](https://example.org) and `code`.\n\n> quoted\n\n- one\n  - two\n",
  ],
  [
    "a long program",
    `Here it is:\n\n\`\`\`python\n${"rows[i][j] = a * b  # [x]\n".repeat(2_000)}\`\`\`\n\nDone.`,
  ],
  ["a program that goes on", `\`\`\`ts\n${"const a = [1, 2] as number[];\n".repeat(2_000)}`],
  ["a table", `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(200)}`],
])("%s is laid out", (_, text) => {
  expect(isPlain(text)).toBe(false);
  const { container } = render(<Markdown text={text} />);
  expect(container.querySelector(".plain")).toBeNull();
  expect(container.querySelector("p, pre, table")).not.toBeNull();
});

test("deciding takes a time that grows with the text, not with its square", () => {
  const cost = (size: number) => {
    const start = process.cpuUsage();
    for (let time = 0; time < 5; time++) isPlain("`".repeat(size));
    return process.cpuUsage(start).user;
  };
  cost(1_000);
  expect(cost(99_000)).toBeLessThan(30 * cost(9_900) + 200_000);
});

test("an answer that grows keeps what is shown of it", () => {
  const { container, rerender } = render(<Markdown text="plums" />);
  const first = container.querySelector("p");
  rerender(<Markdown text="plums and pears" />);
  expect(container.querySelector("p")).toBe(first);
  expect(first?.textContent).toBe("plums and pears");
});

test("what cannot be rendered is shown as it is, and the next text is laid out", async () => {
  vi.resetModules();
  vi.doMock("react-markdown", () => ({
    default: ({ children }: { children: string }) => {
      if (children.includes("deep")) throw new RangeError("Maximum call stack size exceeded");
      return <p>{children}</p>;
    },
  }));
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { Markdown: Mocked } = await import("../src/chat/Markdown");
  const { container, rerender } = render(<Mocked text="too deep" />);
  expect(container.querySelector(".plain")?.textContent).toBe("too deep");
  rerender(<Mocked text="fine" />);
  expect(container.querySelector(".plain")).toBeNull();
  expect(container.textContent).toBe("fine");
  vi.doUnmock("react-markdown");
  vi.restoreAllMocks();
});
