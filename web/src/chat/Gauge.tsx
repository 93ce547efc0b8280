import type { ChatProps } from "@props";
import { percent, STATUS } from "./words";

/** Show how much of the context is used, and what state the conversation is in; from which pressure on a state begins is not for browsers. */
export function Gauge({ pressure, status }: Pick<ChatProps, "pressure" | "status">) {
  const used = percent(pressure);
  const { name, meaning } = STATUS[status];
  return (
    <div className="gauge" data-status={status}>
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
