import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { departureOf, type Turn, type TurnDetail } from "./data";
import { SummarySheet } from "./SummarySheet";
import { textOf } from "./TurnLink";
import { type Inspected, useDetail } from "./useInspection";
import { fateOf, isSeen, number, speakerOf } from "./words";

interface Props {
  id: string;
  inspected: Inspected;
  onTurn: (id: string) => void;
  onClose: () => void;
  /** shows the message in the conversation */
  onShow?: ((id: string) => void) | undefined;
  /** brings a message back into the window; left out where nothing can be changed */
  onRecall?: ((id: string) => void) | undefined;
}

/** Show one message: what it says, whether the model sees it, what replaced it, why and when. */
export function TurnDialog({ id, inspected, onTurn, onClose, onShow, onRecall }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const detail = useDetail(inspected.details, id);
  const turn = inspected.now.turns.find((each) => each.id === id);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const isGone = turn !== undefined && !isSeen(turn);
  const summary = inspected.now.summaries.find((each) => each.id === id);
  return (
    <dialog
      ref={dialog}
      className="turn"
      aria-label={`Message ${turn ? turn.place + 1 : id}`}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <header>
        <h2>
          {detail ? speakerOf(detail) : "…"}
          <small>
            {turn ? `message ${turn.place + 1}` : "a summary"}
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
          {fateOf(turn.fate)}
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
            {detail && textOf(detail)}
          </pre>
        </>
      )}
      <footer>
        {isGone && onRecall && (
          <button type="button" className="primary" onClick={() => onRecall(id)}>
            Bring back
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
  PRESERVED: "always kept word for word",
  REQUIRED: "may be summarised",
  DROPPABLE: "may be dropped",
};

/** Say who decided what became of a message, why, and when. */
function Why(props: { id: string; detail: TurnDetail; inspected: Inspected; isGone: boolean }) {
  const { id, detail, inspected, isGone } = props;
  const { left, since, leftAt, leftBy, leftWhy } =
    detail.class === undefined && isGone
      ? departureOf(id, inspected.timeline ?? [], inspected.receipts)
      : detail;
  const rows = [
    ["Why", isGone ? leftWhy : detail.classWhy],
    [
      "By",
      isGone ? [left, leftBy && `summary by ${leftBy}`].filter(Boolean).join(", ") : detail.classBy,
    ],
    ["When", isGone ? momentOf(since, leftAt) : momentOf(null, detail.classAt)],
    ["Class", CLASSES[detail.class ?? ""]],
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

function momentOf(turn?: number | null, at?: string | null): string {
  const when = at ? new Date(at).toLocaleString() : "";
  return turn == null ? when : `turn ${turn}${when && `, ${when}`}`;
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
