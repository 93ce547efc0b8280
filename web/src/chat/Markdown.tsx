import { Component, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { isPlain } from "./plain";

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
  // What is wider than the page is scrolled, by keyboard too.
  pre: ({ children }) => (
    <pre tabIndex={0} role="region" aria-label="Code">
      {children}
    </pre>
  ),
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
        <ReactMarkdown remarkPlugins={[remarkGfm]} components={COMPONENTS}>
          {text}
        </ReactMarkdown>
      </div>
    </Guarded>
  );
});

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
  static getDerivedStateFromProps({ text }: GuardedProps, state: { text: string }): { text: string; failed: boolean } | null {
    return text === state.text ? null : { text, failed: false };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
