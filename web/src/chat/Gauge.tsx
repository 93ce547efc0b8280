import type { ChatProps } from "@props";
import { percent, phaseOf } from "./words";

/** Show how much of the context is used, and what state the conversation is in; from which pressure on a state begins is not for browsers. */
export function Gauge({ pressure, status, phase }: Pick<ChatProps, "pressure" | "status" | "phase">) {
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
        <div className="meter-fill" style={{ width: `${Math.min(100, used)}%` }} />
      </div>
      <span className="gauge-number" aria-hidden="true">
        {used} %
      </span>
    </div>
  );
}
