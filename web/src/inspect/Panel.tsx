import { X } from "lucide-react";
import { Compressions } from "./Compressions";
import { CLASSES, type Room } from "./data";
import { Instructions } from "./Instructions";
import { Log } from "./Log";
import { OverTime, sum } from "./OverTime";
import { Spending } from "./Spending";
import { StateOf } from "./StateOf";
import type { Inspected } from "./useInspection";
import { Window } from "./Window";

/** What the panel can change; nothing where a session is read-only. */
export interface PanelActions {
  onUndo: (receipt: string) => void;
  onRevoke: (rule: string) => void;
  onRemove: (rule: string) => void;
}

interface Props {
  inspected: Inspected | null;
  at: number | null;
  onAt: (at: number | null) => void;
  onTurn: (id: string) => void;
  onClose: () => void;
  actions: PanelActions | null;
}

/** Show what the model sees, why, what it costs, and let the reader change it. */
export function Panel({ inspected, at, onAt, onTurn, onClose, actions }: Props) {
  const past = at === null ? undefined : inspected?.timeline?.[at];
  return (
    <aside className="context" id="context" aria-label="Context">
      <header>
        <h2>Context</h2>
        <button type="button" className="icon" aria-label="Hide context" onClick={onClose}>
          <X aria-hidden />
        </button>
      </header>
      <div className="context-body" tabIndex={0} role="region" aria-label="Context details">
        {!inspected && <p className="soft">Nothing is sent yet.</p>}
        {inspected && (
          <>
            <Window
              room={past ? roomAt(inspected.now.window, past.tokens) : inspected.now.window}
              past={past ? at : null}
            />
            {inspected.timeline && (
              <OverTime
                inspected={inspected}
                timeline={inspected.timeline}
                at={at}
                onAt={onAt}
                onTurn={onTurn}
              />
            )}
            <Log inspected={inspected} at={past ? at : null} onTurn={onTurn} />
            <Compressions inspected={inspected} at={at} onTurn={onTurn} onUndo={actions?.onUndo} />
            <Instructions
              inspected={inspected}
              onTurn={onTurn}
              onRevoke={actions?.onRevoke}
              onRemove={actions?.onRemove}
            />
            <Spending cost={inspected.now.cost} />
            <StateOf inspection={inspected.now} />
          </>
        )}
      </div>
    </aside>
  );
}

/** Return the window as it was when its classes had so many tokens. */
function roomAt(now: Room, tokens: [number, number, number, number]): Room {
  const classes = Object.fromEntries(
    CLASSES.map((kind, index) => [kind, tokens[index] ?? 0]),
  ) as Room["classes"];
  return { ...now, classes, tokens: sum({ tokens }) };
}
