import { Wrench } from "lucide-react";
import { useState } from "react";
import type { Turn } from "../inspect/data";
import { type Details, useDetail } from "../inspect/useInspection";
import { fateOf, isSeen, number } from "../inspect/words";

interface Props {
  turn: Turn;
  details: Details;
  onTurn: (id: string) => void;
}

/** Show a tool's call in one line: its name, whether it is done, and its result on demand. */
export function ToolRow({ turn, details, onTurn }: Props) {
  const [isOpen, setOpen] = useState(false);
  const isDone = turn.role === "tool";
  return (
    <details
      className="tool"
      data-seen={isSeen(turn)}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {isDone ? <Wrench aria-hidden /> : <i className="live" />}
        <b>{turn.tool}</b>
        <span>{isDone ? "done" : "running"}</span>
        <small>
          {number(turn.tokens)} tokens{!isSeen(turn) && ` · ${fateOf(turn.fate)}`}
        </small>
      </summary>
      {isOpen && <Result turn={turn} details={details} onTurn={onTurn} />}
    </details>
  );
}

function Result({ turn, details, onTurn }: Props) {
  const detail = useDetail(details, turn.id);
  const text = [detail?.text, ...(detail?.calls.map((call) => call.arguments) ?? [])];
  return (
    <div className="tool-result">
      <pre tabIndex={0} role="region" aria-label={`Result of ${turn.tool ?? "the tool"}`}>
        {detail ? text.filter(Boolean).join("\n") : "…"}
      </pre>
      <button type="button" className="plain" onClick={() => onTurn(turn.id)}>
        What became of it
      </button>
    </div>
  );
}
