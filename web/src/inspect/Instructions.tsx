import type { Inspected } from "./useInspection";
import { useDetail } from "./useInspection";
import { capitalised, number, speakerOf } from "./words";
import { textOf } from "./TurnLink";
import type { Turn } from "./data";

interface Props {
  inspected: Inspected;
  onTurn: (id: string) => void;
  onRevoke?: ((rule: string) => void) | undefined;
  onRemove?: ((rule: string) => void) | undefined;
}

/** List what is never summarised: system messages, rules, and messages that were kept. */
export function Instructions({ inspected, onTurn, onRevoke, onRemove }: Props) {
  const { turns, rules, ended } = inspected.now;
  const stated = new Set([...rules, ...ended].map((rule) => rule.messageId));
  const places = new Map(turns.map(({ id, place }) => [id, place]));
  const kept = turns.filter(
    ({ id, kind }) => kind === "system" || (kind === "pinned" && !stated.has(id)),
  );
  if (!kept.length && !rules.length && !ended.length) return null;
  return (
    <section>
      <h3>
        Instructions <small>never summarised</small>
      </h3>
      <ul className="pins">
        {kept.map((turn) => (
          <Kept key={turn.id} turn={turn} inspected={inspected} onTurn={onTurn} />
        ))}
        {rules.map((rule) => (
          <li key={rule.id} className="pinned">
            {rule.text}
            <small>
              <span>Rule{rule.scope && `, ${rule.scope}`}</span>
              <button type="button" onClick={() => onTurn(rule.messageId)}>
                Source
              </button>
              {onRevoke && (
                <button
                  type="button"
                  aria-label={`Revoke ${rule.text}`}
                  title="End the rule, and tell the model that it no longer applies"
                  onClick={() => onRevoke(rule.id)}
                >
                  Revoke
                </button>
              )}
              {onRemove && (
                <button
                  type="button"
                  aria-label={`Remove ${rule.text}`}
                  title="Take it off this list without telling the model: it was never a rule"
                  onClick={() => onRemove(rule.id)}
                >
                  Remove
                </button>
              )}
            </small>
          </li>
        ))}
        {ended.map((rule) => (
          <li key={rule.id}>
            <del>{rule.text}</del>
            <small>
              <span>
                {capitalised(rule.how)}
                {places.has(rule.by) && ` at step ${places.get(rule.by)}`}
              </span>
              <button type="button" onClick={() => onTurn(rule.messageId)}>
                Source
              </button>
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Kept(props: { turn: Turn; inspected: Inspected; onTurn: (id: string) => void }) {
  const { turn, inspected, onTurn } = props;
  const detail = useDetail(inspected.details, turn.id);
  const text = detail ? textOf(detail) : "…";
  return (
    <li className={turn.kind}>
      {text.length > 200 ? `${text.slice(0, 200)}…` : text}
      <small>
        <span>
          {speakerOf(turn)} · {number(turn.tokens)} tokens
        </span>
        <button type="button" onClick={() => onTurn(turn.id)}>
          Open
        </button>
      </small>
    </li>
  );
}
