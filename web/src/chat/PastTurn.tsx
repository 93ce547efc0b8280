import { type Inspected, useDetail } from "../inspect/useInspection";
import { fileOf, textOf } from "../inspect/TurnLink";
import { speakerOf } from "../inspect/words";
import { Markdown } from "./Markdown";
import { ToolRow } from "./ToolRow";

interface Props {
  id: string;
  inspected: Inspected;
  onTurn: (id: string) => void;
}

/** Show a message as the model saw it at a step, whoever said it. */
export function PastTurn({ id, inspected, onTurn }: Props) {
  const detail = useDetail(inspected.details, id);
  if (!detail) return <p className="soft">…</p>;
  const { turns } = inspected.now;
  const at = turns.findIndex((turn) => turn.id === id);
  const turn = turns[at];
  // A call is shown with its result, as in the conversation of now.
  if (detail.role === "assistant" && !detail.text) return null;
  if (detail.role === "tool" && turn) {
    const called = turns.slice(0, at).findLast((each) => each.role === "assistant" && each.tool);
    const then = { ...turn, fate: "word for word", tool: turn.tool ?? called?.tool ?? "tool" };
    return <ToolRow turn={then} details={inspected.details} onTurn={onTurn} />;
  }
  const isTalk =
    detail.kind !== "summarised" && (detail.role === "user" || detail.role === "assistant");
  return (
    <article
      className="message"
      data-role={isTalk ? detail.role : "other"}
      data-sent="true"
      data-pinned={detail.kind === "pinned"}
      aria-label={speakerOf(detail)}
    >
      {!isTalk && (
        <header>
          <button type="button" className="plain" onClick={() => onTurn(id)}>
            {speakerOf(detail)}
          </button>
        </header>
      )}
      {isTalk && !fileOf(detail.text) ? (
        <Markdown text={textOf(detail)} />
      ) : (
        <div className="markdown plain">{textOf(detail)}</div>
      )}
    </article>
  );
}
