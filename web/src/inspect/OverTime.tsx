import { CLASSES, type Moment } from "./data";
import { number } from "./words";
import type { Inspected } from "./useInspection";
import { TurnLink } from "./TurnLink";
import { Hatch } from "./Window";

interface Props {
  inspected: Inspected;
  timeline: Moment[];
  /** the step that is shown; null for now */
  at: number | null;
  onAt: (at: number | null) => void;
  onTurn: (id: string) => void;
}

/** Points of the chart: of a longer session, every so many steps have one. */
const POINTS = 300;
const [LEFT, WIDTH, TOP, HEIGHT] = [7, 290, 12, 84];

/** Show how the window filled, and let the reader go back to what the model saw at a step. */
export function OverTime({ inspected, timeline, at, onAt, onTurn }: Props) {
  const last = timeline.length - 1;
  const shown = at ?? last;
  const moment = timeline[shown];
  if (last < 1 || !moment) return null;
  const total = sum(moment);
  return (
    <section>
      <h3>
        Over time <small>{at === null ? `step ${last}, now` : `step ${at} of ${last}`}</small>
      </h3>
      <Chart timeline={timeline} at={shown} threshold={inspected.now.window.pressuredAbove} />
      <input
        type="range"
        aria-label="What the model saw at step"
        aria-valuetext={`step ${shown}, ${number(total)} tokens`}
        min={1}
        max={last}
        value={shown}
        onChange={(event) => {
          const to = Number(event.target.value);
          onAt(to === last ? null : to);
        }}
      />
      <p className="axis" aria-hidden="true">
        <span title="A step is a message, an answer, a call, or a change such as a compression">
          step 1
        </span>
        <span>drag to see an earlier step</span>
        <span>{last}</span>
      </p>
      <Difference
        inspected={inspected}
        moment={moment}
        before={timeline[shown - 1]}
        onTurn={onTurn}
      />
    </section>
  );
}

/** List what came into the window with a step, and what left it. */
function Difference(props: {
  inspected: Inspected;
  moment: Moment;
  before: Moment | undefined;
  onTurn: (id: string) => void;
}) {
  const { inspected, moment, before, onTurn } = props;
  const change = sum(moment) - (before ? sum(before) : 0);
  return (
    <details className="more">
      <summary>
        <span>
          {moment.came.length} added, {moment.went.length} removed
        </span>
        <small>
          {change < 0 ? "−" : "+"}
          {number(Math.abs(change))} tokens since the step before
        </small>
      </summary>
      <ul className="links" aria-label="Difference to the step before">
        {moment.came.slice(0, 50).map((id) => (
          <TurnLink key={id} mark="+" id={id} details={inspected.details} onTurn={onTurn} />
        ))}
        {moment.went.slice(0, 50).map((id) => (
          <TurnLink key={id} mark="−" id={id} details={inspected.details} onTurn={onTurn} />
        ))}
      </ul>
    </details>
  );
}

function Chart({ timeline, at, threshold }: { timeline: Moment[]; at: number; threshold: number }) {
  const last = timeline.length - 1;
  const highest = Math.max(
    threshold,
    ...timeline.map((each) => Math.max(each.maxTokens, sum(each))),
  );
  const x = (turn: number) => LEFT + (last > 1 ? (turn - 1) / (last - 1) : 1) * WIDTH;
  const y = (tokens: number) => TOP + HEIGHT - (tokens / highest) * HEIGHT;
  const step = Math.max(1, Math.floor(last / POINTS));
  const points = timeline.flatMap((moment, turn) =>
    turn > 0 && (turn % step === 0 || turn === last || moment.kind === "compress")
      ? [{ turn, tokens: moment.tokens }]
      : [],
  );
  const layers = CLASSES.map((kind, index) => {
    const under = (tokens: number[], to: number) => tokens.slice(0, to).reduce((a, b) => a + b, 0);
    const line = (to: number) =>
      points.map(({ turn, tokens }) => `${x(turn).toFixed(1)} ${y(under(tokens, to)).toFixed(1)}`);
    return { kind, top: line(index + 1), bottom: line(index).reverse() };
  });
  const compressed = timeline.flatMap(({ kind }, turn) => (kind === "compress" ? [turn] : []));
  const now = timeline[at];
  return (
    <svg className="plot" viewBox="0 0 304 108" aria-hidden="true">
      <Hatch />
      {layers.map(({ kind, top, bottom }) => (
        <path key={kind} className={kind} d={`M${top.join("L")}L${bottom.join("L")}Z`} />
      ))}
      <path className="top" d={`M${layers.at(-1)?.top.join("L")}`} />
      <path className="threshold" d={`M${LEFT} ${y(threshold)}h${WIDTH}`} />
      <text x={LEFT} y={y(threshold) - 4}>
        compresses above {number(threshold)}
      </text>
      {compressed.map((turn) => (
        <path
          key={turn}
          className="mark"
          d={`M${x(turn - 0.5)} ${TOP + HEIGHT + 3}l4 4l-4 4l-4 -4z`}
        />
      ))}
      {now && (
        <g className="now">
          <path d={`M${x(at)} ${y(sum(now))}V${TOP + HEIGHT}`} />
          <circle cx={x(at)} cy={y(sum(now))} r={4} />
        </g>
      )}
    </svg>
  );
}

/** Return the tokens of a window. */
export function sum({ tokens }: Pick<Moment, "tokens">): number {
  return tokens.reduce((one, other) => one + other, 0);
}
