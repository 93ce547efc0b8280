import { TurnLink } from "./TurnLink";
import { type Inspected, useSearch } from "./useInspection";
import { fateOf } from "./words";

/** Messages that are listed without a search. */
const NEWEST = 20;

/** Search the whole log, and say of each message whether the model still sees it. */
export function Log({ inspected, onTurn }: { inspected: Inspected; onTurn: (id: string) => void }) {
  const { query, found, search } = useSearch(inspected.source);
  const turns = new Map(inspected.now.turns.map((turn) => [turn.id, turn]));
  const shown =
    found ??
    [...turns.keys()]
      .slice(-NEWEST)
      .reverse()
      .map((id) => ({ id, snippet: undefined }));
  return (
    <section>
      <h3>
        Messages <small>{turns.size} in the log</small>
      </h3>
      <input
        type="search"
        aria-label="Search the log"
        placeholder="Is a fact still seen? Search the log"
        value={query}
        onChange={(event) => search(event.target.value)}
      />
      <ul className="links" aria-label={found ? "Messages found" : "Newest messages"}>
        {shown.map(({ id, snippet }) => {
          const turn = turns.get(id);
          return (
            <TurnLink
              key={id}
              id={id}
              details={inspected.details}
              text={snippet}
              note={turn ? fateOf(turn.fate) : "Summary"}
              onTurn={onTurn}
            />
          );
        })}
      </ul>
      {found?.length === 0 && <p className="soft">No message contains these words.</p>}
    </section>
  );
}
