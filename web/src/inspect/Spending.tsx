import type { Cost } from "./data";
import { count, money, number, share } from "./words";

/** Show what a session has cost, as its providers reported it. */
export function Spending({ cost }: { cost: Cost }) {
  const fresh = cost.inputTokens - cost.cachedTokens;
  return (
    <section>
      <h3>
        Cost <small>{cost.calls ? count(cost.calls, "request") : "nothing reported"}</small>
      </h3>
      {cost.calls > 0 && (
        <>
          <dl className="bill">
            <div>
              <dt>{cost.usd ? "this chat" : "the price of the model"}</dt>
              <dd>{cost.usd ? money(cost.usd) : "unknown"}</dd>
            </div>
            <div>
              <dt>tokens, {number(cost.outputTokens)} of them written</dt>
              <dd>{number(cost.inputTokens + cost.outputTokens)}</dd>
            </div>
          </dl>
          <p className="cash" aria-hidden="true">
            <i className="cached" style={{ flex: cost.cachedTokens }} />
            <i className="new" style={{ flex: fresh }} />
          </p>
          <p className="keys">
            <span>
              <i className="key cached" />
              {share(cost.cachedTokens, cost.inputTokens)} read from the cache
            </span>
            <span>
              <i className="key new" />
              {share(fresh, cost.inputTokens)} new
            </span>
          </p>
        </>
      )}
    </section>
  );
}
