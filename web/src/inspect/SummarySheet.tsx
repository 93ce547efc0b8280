import { useState } from "react";
import type { Summary } from "./data";
import { TurnLink } from "./TurnLink";
import type { Inspected } from "./useInspection";
import { count, number } from "./words";

interface Props {
  summary: Summary;
  inspected: Inspected;
  onTurn: (id: string) => void;
  onRecall?: ((id: string) => void) | undefined;
}

/** Sources that are listed before the reader asks for all. */
const FIRST = 8;

/** Show the summary that the model reads, with the messages that each line comes from. */
export function SummarySheet({ summary, inspected, onTurn, onRecall }: Props) {
  const [all, setAll] = useState(false);
  const places = new Map(inspected.now.turns.map(({ id, place }) => [id, place]));
  const sources = [...new Set(summary.lines.flatMap((line) => line.sources))];
  const shown = all ? sources : sources.slice(0, FIRST);
  return (
    <div className="sheet">
      <h3>
        What the model reads instead
        <small>
          {number(summary.tokens)} tokens for {count(summary.sources.length, "message")}
        </small>
      </h3>
      {summary.lines.map((line, index) => (
        <p key={index}>
          {line.text}
          {line.sources.map((id) => (
            <button
              key={id}
              type="button"
              className="ref"
              aria-label={`Source ${sources.indexOf(id) + 1} of line ${index + 1}`}
              onClick={() => onTurn(id)}
            >
              {sources.indexOf(id) + 1}
            </button>
          ))}
        </p>
      ))}
      {sources.length > 0 && (
        <ol className="links" aria-label="Sources">
          {shown.map((id, index) => (
            <TurnLink
              key={id}
              id={id}
              details={inspected.details}
              mark={String(index + 1)}
              note={`step ${places.get(id) ?? 0}`}
              onTurn={onTurn}
            />
          ))}
        </ol>
      )}
      <footer>
        {sources.length > FIRST && !all && (
          <button type="button" className="plain" onClick={() => setAll(true)}>
            Show all {sources.length} sources
          </button>
        )}
        {onRecall && (
          <button type="button" className="plain" onClick={() => onRecall(summary.id)}>
            Bring all {summary.sources.length} back
          </button>
        )}
      </footer>
    </div>
  );
}
