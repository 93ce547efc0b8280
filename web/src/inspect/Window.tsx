import { useState } from "react";
import { CLASSES, type Kind, type Room } from "./data";
import { NAMES, number, share } from "./words";

/** Cells of the picture of a window, and how many stand in a row. */
const CELLS = 200;
const ROW = 25;

const ROOM =
  "The room for messages. It follows the tokens that the provider reports: if it counts more than was estimated here, less fits.";

type Cell = Kind | "free" | "over";

/** Show how a window is filled, cell by cell in the order of a request, and in numbers. */
export function Window({ room, past }: { room: Room; past: number | null }) {
  const [held, setHeld] = useState<Kind | "free" | null>(null);
  const [near, setNear] = useState<Kind | "free" | null>(null);
  const lit = near ?? held;
  const free = Math.max(0, room.maxTokens - room.tokens);
  const more = Math.max(0, room.pressuredAbove - room.tokens);
  const rows = [...CLASSES.map((kind) => [kind, room.classes[kind]] as const), ["free", free]] as [
    Kind | "free",
    number,
  ][];
  return (
    <>
      <p className="big">
        <b>{number(room.tokens)}</b> of <span title={ROOM}>{number(room.maxTokens)} tokens</span>
      </p>
      {past === null && room.reserve + room.tools > 0 && (
        <p className="soft">
          {number(room.reserve + room.tools)} more are left for the answer and tools
        </p>
      )}
      <p className="soft">
        {past !== null
          ? `What the model saw at step ${past}`
          : more
            ? `${number(more)} tokens more, and older messages are summarised`
            : "Older messages are summarised before the next one"}
      </p>
      <Waffle cells={cellsOf(room)} lit={lit} />
      <div className="legend" role="group" aria-label="Classes">
        {rows.map(([kind, tokens]) => (
          <button
            key={kind}
            type="button"
            aria-pressed={held === kind}
            onClick={() => setHeld(held === kind ? null : kind)}
            onPointerEnter={() => setNear(kind)}
            onPointerLeave={() => setNear(null)}
          >
            <i className={`key ${kind}`} />
            <span>{NAMES[kind]}</span>
            <span>{number(tokens)}</span>
            <small>{share(tokens, room.maxTokens)}</small>
          </button>
        ))}
      </div>
    </>
  );
}

interface WaffleProps {
  cells: Cell[];
  columns?: number;
  lit?: Cell | null;
}

/** Draw cells, all but one class of them dimmed if one is lit. */
export function Waffle({ cells, columns = ROW, lit = null }: WaffleProps) {
  const rows = Math.ceil(cells.length / columns);
  return (
    <svg className="waffle" viewBox={`0 0 ${columns * 12 - 2} ${rows * 12 - 2}`} aria-hidden="true">
      <Hatch />
      {cells.map((kind, index) => (
        <rect
          key={index}
          className={kind}
          data-dim={lit !== null && lit !== kind && !(lit === "free" && kind === "over")}
          x={(index % columns) * 12 + (kind === "over" ? 0.5 : 0)}
          y={Math.floor(index / columns) * 12 + (kind === "over" ? 0.5 : 0)}
          width={kind === "over" ? 9 : 10}
          height={kind === "over" ? 9 : 10}
          rx={2}
        />
      ))}
    </svg>
  );
}

/** Define the hatching of what is summarised. */
export function Hatch() {
  return (
    <defs>
      <pattern
        id="hatch"
        className="hatch"
        width="3.5"
        height="3.5"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <rect width="3.5" height="3.5" />
        <path d="M0 0V3.5" />
      </pattern>
    </defs>
  );
}

/** Return the cells of a window: its classes, what is free, and what is free beyond the threshold. */
export function cellsOf({ classes, maxTokens, pressuredAbove }: Room): Cell[] {
  const size = maxTokens / CELLS;
  const cells = CLASSES.flatMap((kind) =>
    Array<Cell>(Math.max(classes[kind] ? 1 : 0, Math.round(classes[kind] / size))).fill(kind),
  ).slice(0, CELLS);
  while (cells.length < CELLS)
    cells.push(cells.length >= Math.round(pressuredAbove / size) ? "over" : "free");
  return cells;
}
