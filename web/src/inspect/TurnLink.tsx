import { type Details, useDetail } from "./useInspection";
import { speakerOf } from "./words";

interface Props {
  id: string;
  details: Details;
  onTurn: (id: string) => void;
  /** what stands before it and behind it */
  mark?: string | undefined;
  note?: string | undefined;
  /** shown instead of the beginning of its text */
  text?: string | undefined;
}

/** Show a message in one line, which opens it. */
export function TurnLink({ id, details, onTurn, mark, note, text }: Props) {
  const turn = useDetail(details, id);
  const words = text ?? (turn ? textOf(turn).slice(0, 120) : "…");
  return (
    <li>
      <button type="button" className="turn-link" onClick={() => onTurn(id)}>
        {mark !== undefined && <span className="mark">{mark}</span>}
        <span className="who">{turn ? speakerOf(turn) : ""}</span>
        <span className="text">{words}</span>
        {note !== undefined && <small>{note}</small>}
      </button>
    </li>
  );
}

/** Return what a message says; of one that only calls tools, the calls. */
export function textOf(turn: {
  text: string;
  calls: { name: string; arguments: string }[];
}): string {
  const file = fileOf(turn.text);
  if (file) return `${file.name}\n${file.text}`;
  return turn.text || turn.calls.map((call) => `${call.name} ${call.arguments}`).join("\n");
}

/** Return the name and the text of a file that a message attaches; null where it attaches none. */
export function fileOf(text: string): { name: string; text: string } | null {
  const found = /^### File\n#### (.+)\n(`{3,})\w*\n([^]*)\n\2\s*$/.exec(text);
  return found ? { name: found[1] ?? "", text: found[3] ?? "" } : null;
}
