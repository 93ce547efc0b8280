import { useEffect, useRef } from "react";
import type { Source } from "./sources";

/** Show what a pill names, to read; Escape or the button close it. */
export function SourcePane({ source, onClose }: { source: Source; onClose: () => void }) {
  const pane = useRef<HTMLElement>(null);
  useEffect(() => pane.current?.focus(), [source]);
  const where =
    source.path && source.startLine
      ? `${source.path}:${source.startLine}`
      : (source.path ?? source.name);
  return (
    <section
      ref={pane}
      className="source"
      tabIndex={-1}
      aria-label={`Source of ${source.name}`}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header>
        <strong>{where}</strong>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </header>
      {/* It scrolls, so that a keyboard must be able to reach it. */}
      <pre tabIndex={0} aria-label={`Content of ${source.name}`}>
        {source.content}
      </pre>
      {source.notice && <p>{source.notice}</p>}
    </section>
  );
}
