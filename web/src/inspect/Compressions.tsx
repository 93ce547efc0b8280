import type { Receipt } from "./data";
import { TurnLink } from "./TurnLink";
import type { Inspected } from "./useInspection";
import { number, reasonOf, writerOf } from "./words";

interface Props {
  inspected: Inspected;
  at: number | null;
  onTurn: (id: string) => void;
  /** takes a compression back; left out where nothing can be changed */
  onUndo?: ((receipt: string) => void) | undefined;
}

/** Fates of an atom, as the bar and the lists show them. */
const PARTS = [
  ["kept", "verbatim", "Verbatim"],
  ["summarised", "summarised", "Summarised"],
  ["dropped", "dropped", "Dropped, still in the log"],
] as const;

/** List the compressions, newest first, with what each kept, summarised and dropped. */
export function Compressions({ inspected, at, onTurn, onUndo }: Props) {
  const standing = inspected.receipts.filter((receipt) => receipt.stands);
  if (!standing.length) return null;
  const freed = standing.reduce((all, { before, after }) => all + before.tokens - after.tokens, 0);
  const newest = standing.at(-1);
  return (
    <section>
      <h3>
        Compressions <small>{number(freed)} tokens freed</small>
      </h3>
      {[...standing].reverse().map((receipt) => (
        <details
          key={receipt.id}
          className="receipt"
          data-later={at !== null && receipt.revision > at}
        >
          <summary>
            <span className="head">
              Step {receipt.revision}
              <small>
                {number(receipt.before.tokens)} → {number(receipt.after.tokens)}
              </small>
            </span>
            <Split receipt={receipt} />
          </summary>
          {PARTS.map(([fate, , title]) => {
            const atoms = atomsOf(receipt, fate);
            return (
              atoms.length > 0 && (
                <div key={fate}>
                  <h4>{title}</h4>
                  <ul className="links">
                    {atoms.slice(0, 60).map((atom) => (
                      <TurnLink
                        key={atom.turns[0]}
                        id={atom.turns[0] ?? ""}
                        details={inspected.details}
                        note={reasonOf(atom.why)}
                        onTurn={onTurn}
                      />
                    ))}
                  </ul>
                  {atoms.length > 60 && <p className="soft">and {atoms.length - 60} more</p>}
                </div>
              )
            );
          })}
          {receipt.summariser && (
            <p className="soft">Written by {writerOf(receipt.summariser.name)}</p>
          )}
        </details>
      ))}
      {onUndo && newest && (
        <button type="button" className="plain" onClick={() => onUndo(newest.id)}>
          Undo the last compression
        </button>
      )}
    </section>
  );
}

function Split({ receipt }: { receipt: Receipt }) {
  const parts = PARTS.map(([fate, word]) => {
    const turns = atomsOf(receipt, fate).reduce((all, atom) => all + atom.turns.length, 0);
    return { fate, word, turns };
  }).filter(({ turns }) => turns > 0);
  return (
    <>
      <span className="split" aria-hidden="true">
        {parts.map(({ fate, turns }) => (
          <i key={fate} className={fate} style={{ flex: turns }} />
        ))}
      </span>
      <span className="keys">
        {parts.map(({ fate, word, turns }) => (
          <span key={fate}>
            <i className={`key ${fate}`} />
            {turns} {word}
          </span>
        ))}
      </span>
    </>
  );
}

function atomsOf(receipt: Receipt, part: string) {
  const known = new Set(["kept", "summarised"]);
  return receipt.atoms.filter(({ fate }) =>
    part === "dropped" ? !known.has(fate) : fate === part,
  );
}
