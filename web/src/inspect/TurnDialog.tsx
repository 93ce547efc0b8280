import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { departureOf, type Moment, type Turn, type TurnDetail } from "./data";
import { SummarySheet } from "./SummarySheet";
import { fileOf, textOf } from "./TurnLink";
import { type Inspected, useDetail } from "./useInspection";
import {
  fateOf,
  isSeen,
  KEEPS,
  number,
  reasonOf,
  seenAs,
  speakerOf,
  stepOf,
  writerOf,
} from "./words";

interface Props {
  id: string;
  inspected: Inspected;
  onTurn: (id: string) => void;
  onClose: () => void;
  /** shows the message in the conversation */
  onShow?: ((id: string) => void) | undefined;
  /** brings a message back into the window; left out where nothing can be changed */
  onRecall?: ((id: string) => void) | undefined;
  /** keeps a message in the window from now on */
  onKeep?: ((id: string) => void) | undefined;
}

/** Show one message: what it says, whether the model sees it, what replaced it, why and when. */
export function TurnDialog(props: Props) {
  const { id, inspected, onTurn, onClose, onShow, onRecall, onKeep } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const detail = useDetail(inspected.details, id);
  const turn = inspected.now.turns.find((each) => each.id === id);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const file = detail && fileOf(detail.text);
  const isGone = turn !== undefined && !isSeen(turn);
  const summary = inspected.now.summaries.find((each) => each.id === id);
  return (
    <dialog
      ref={dialog}
      className="turn"
      aria-label={turn ? `Message of step ${turn.place}` : "Summary"}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <header>
        <h2>
          {detail ? (file?.name ?? speakerOf(detail)) : "…"}
          <small>
            {`step ${detail?.place ?? turn?.place ?? "…"}`}
            {detail && ` · ${number(detail.tokens)} tokens`}
            {detail?.at && ` · ${new Date(detail.at).toLocaleString()}`}
          </small>
        </h2>
        <form method="dialog">
          <button type="submit" className="icon" aria-label="Close">
            <X aria-hidden />
          </button>
        </form>
      </header>
      {turn && (
        <p className="fate" data-seen={isSeen(turn)}>
          {detail ? seenAs(turn, inspected.now.summaries, detail.text) : fateOf(turn.fate)}
        </p>
      )}
      {detail && turn && <Why id={id} detail={detail} inspected={inspected} isGone={isGone} />}
      {turn && <Replacement turn={turn} inspected={inspected} onTurn={onTurn} />}
      {summary ? (
        <SummarySheet summary={summary} inspected={inspected} onTurn={onTurn} onRecall={onRecall} />
      ) : (
        <>
          <h3>{turn ? "What was said" : "What the model read"}</h3>
          <pre tabIndex={0} role="region" aria-label="Text of the message">
            {detail && (file?.text ?? textOf(detail))}
          </pre>
        </>
      )}
      <footer>
        {isGone && onRecall && (
          <button type="button" className="primary" onClick={() => onRecall(id)}>
            Bring back
          </button>
        )}
        {onKeep && turn && !isGone && turn.kind === "verbatim" && (
          <button type="button" title={KEEPS} onClick={() => onKeep(id)}>
            Keep
          </button>
        )}
        {onShow && turn && (turn.role === "user" || turn.role === "assistant") && (
          <button type="button" onClick={() => onShow(id)}>
            Show in the conversation
          </button>
        )}
      </footer>
    </dialog>
  );
}

const CLASSES: Record<string, string> = {
  PRESERVED: "kept: never summarised",
  REQUIRED: "may be summarised",
  DROPPABLE: "may be dropped",
};

/** Say who decided what became of a message, why, and when. */
function Why(props: { id: string; detail: TurnDetail; inspected: Inspected; isGone: boolean }) {
  const { id, detail, inspected, isGone } = props;
  const { since, leftAt, leftBy, leftWhy } =
    detail.class === undefined && isGone
      ? departureOf(id, inspected.timeline ?? [], inspected.receipts)
      : detail;
  const rows = [
    ["Why", reasonOf((isGone ? leftWhy : detail.classWhy) ?? "")],
    ["By", isGone ? leftBy && writerOf(leftBy) : detail.classBy && writerOf(detail.classBy)],
    ["When", isGone ? momentOf(since, leftAt) : momentOf(null, detail.classAt)],
    ["So far", pathOf(id, inspected.timeline ?? [])],
    ["From now", CLASSES[detail.class ?? ""]],
  ].filter(([, value]) => value);
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Return what became of a message step by step, if more than that it was added. */
function pathOf(id: string, timeline: Moment[]): string {
  const path = timeline.flatMap(({ kind, came, went }, step) =>
    came.includes(id) || went.includes(id) ? [`${stepOf(kind)} at step ${step}`] : [],
  );
  return path.length > 1 ? path.join(", ") : "";
}

function momentOf(turn?: number | null, at?: string | null): string {
  const when = at ? new Date(at).toLocaleString() : "";
  return turn == null ? when : `step ${turn}${when && `, ${when}`}`;
}

/** Show the lines of the summary that stand for a message. */
function Replacement(props: { turn: Turn; inspected: Inspected; onTurn: (id: string) => void }) {
  const { turn, inspected, onTurn } = props;
  const { gist } = turn;
  const summary = inspected.now.summaries.find(({ id }) => id === gist);
  if (!gist) return null;
  const lines = summary?.lines.filter(({ sources }) => sources.includes(turn.id));
  return (
    <>
      <h3>What replaced it</h3>
      {lines?.map((line, index) => (
        <p key={index} className="line">
          {line.text}
        </p>
      ))}
      {!lines?.length && <p className="soft">No line of the summary comes from this message.</p>}
      <button type="button" className="plain" onClick={() => onTurn(gist)}>
        Open the summary
      </button>
    </>
  );
}
