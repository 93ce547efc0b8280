import { TurnLink } from "./TurnLink";
import { type Inspected, useSearch } from "./useInspection";
import { viewAt } from "./data";
import { around, fateOf, seenAs } from "./words";

/** Messages that are listed without a search. */
const NEWEST = 20;

interface Props {
  inspected: Inspected;
  /** the step that is looked back at; null for now */
  at: number | null;
  onTurn: (id: string) => void;
}

/** Search the whole log, and say of each message whether the model sees it, now or at a step. */
export function Log({ inspected, at, onTurn }: Props) {
  const { query, found, search } = useSearch(inspected.source);
  const turns = new Map(inspected.now.turns.map((turn) => [turn.id, turn]));
  const then = at === null ? null : new Set(viewAt(inspected.timeline ?? [], at));
  function noteOf(id: string): string {
    const turn = turns.get(id);
    if (then && turn && turn.place > (at ?? 0)) return "Not said yet";
    if (then) return then.has(id) ? "Seen then" : "Not seen then";
    if (!turn) return "Summary";
    return found ? seenAs(turn, inspected.now.summaries, query) : fateOf(turn.fate);
  }
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
        {shown.map(({ id, snippet }) => (
          <TurnLink
            key={id}
            id={id}
            details={inspected.details}
            text={snippet && around(snippet, query)}
            note={noteOf(id)}
            onTurn={onTurn}
          />
        ))}
      </ul>
      {found?.length === 0 && <p className="soft">No message contains these words.</p>}
    </section>
  );
}
