import { Component, type ComponentProps, memo, type ReactNode, useEffect, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Code } from "./Code";
import { Formula } from "./Formula";
import { hasFormulas, withFormulas } from "./formulas";
import { pillText } from "./pillText";
import { isPlain } from "./plain";

type Plugins = NonNullable<ComponentProps<typeof ReactMarkdown>["remarkPlugins"]>;
const PLUGINS: Plugins = [remarkGfm, pillText];

/** What a model writes is data: HTML in it is shown as text, links open elsewhere, and pictures are links, so that nothing is loaded unasked. */
const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || "picture"}
    </a>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className = "", children, node }) => {
    const text = String(children ?? "");
    if (className.includes("math-")) {
      return <Formula formula={text} isBlock={className.includes("math-display")} />;
    }
    const { start, end } = node?.position ?? {};
    const isBlock = className.startsWith("language-") || start?.line !== end?.line;
    const isIndented = isBlock || text.endsWith("\n");
    if (!isIndented) return <code>{children}</code>;
    return <Code code={text.replace(/\n$/, "")} language={className.replace("language-", "")} />;
  },
  // What is wider than the page is scrolled, by keyboard too.
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  // A message is part of a page that has a heading of its own.
  h1: ({ children }) => <h2>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
};

/** Show text as Markdown, or as it is where it cannot be laid out: one message never takes the page with it. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const plain = <div className="markdown plain">{text}</div>;
  if (isPlain(text)) return plain;
  return (
    <Guarded text={text} instead={plain}>
      <div className="markdown">
        <Laid text={text} />
      </div>
    </Guarded>
  );
});

/** Lay a text out; the reader of formulas is loaded with the first one. */
function Laid({ text }: { text: string }) {
  const wanted = hasFormulas(text);
  const [plugins, setPlugins] = useState(PLUGINS);
  useEffect(() => {
    if (!wanted) return;
    let isHere = true;
    import("./maths").then(
      ({ remarkMath }) =>
        isHere && setPlugins([...PLUGINS, [remarkMath, { singleDollarTextMath: false }]]),
      // Without it, formulas are shown as they were written.
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, [wanted]);
  return (
    <ReactMarkdown remarkPlugins={plugins} components={COMPONENTS}>
      {plugins === PLUGINS ? text : withFormulas(text)}
    </ReactMarkdown>
  );
}

interface GuardedProps {
  text: string;
  instead: ReactNode;
  children: ReactNode;
}

/** Show something else where a text cannot be rendered, until there is another text. */
class Guarded extends Component<GuardedProps, { text: string; failed: boolean }> {
  override state = { text: "", failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  // Kept, and not made anew with each text: what is selected in an answer stays so while it grows.
  static getDerivedStateFromProps(
    { text }: GuardedProps,
    state: { text: string },
  ): { text: string; failed: boolean } | null {
    return text === state.text ? null : { text, failed: false };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
