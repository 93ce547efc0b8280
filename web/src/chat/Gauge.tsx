import type { ChatProps } from "@props";
import { CLASSES, type Room } from "../inspect/data";
import { number } from "../inspect/words";
import { percent, phaseOf } from "./words";

interface Props extends Pick<ChatProps, "pressure" | "status" | "phase"> {
  /** the window by class, where it may be seen */
  room: Room | null;
}

/** Show how much of the context is used, and what state the conversation is in. */
export function Gauge({ pressure, status, phase, room }: Props) {
  const used = percent(pressure);
  const { name, meaning } = phaseOf({ phase, status });
  return (
    <div className="gauge" data-status={status} data-phase={phase}>
      <span className="gauge-status" title={meaning}>
        {name}
      </span>
      <div
        role="meter"
        aria-label="Context used"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.min(100, used)}
        aria-valuetext={`${used} % of the context is used. ${name}: ${meaning}`}
        className="meter"
      >
        {room ? (
          CLASSES.map((kind) => (
            <i
              key={kind}
              className={kind}
              style={{ width: `${(room.classes[kind] / room.maxTokens) * 100}%` }}
            />
          ))
        ) : (
          <i className="verbatim" style={{ width: `${Math.min(100, used)}%` }} />
        )}
      </div>
      <span className="gauge-number" aria-hidden="true">
        {used} %{room && <span className="long"> of {number(room.maxTokens)}</span>}
      </span>
    </div>
  );
}
