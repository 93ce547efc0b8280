import { useState } from "react";
import type { Pill } from "./document";
import type { Candidate, PillSources } from "./sources";

interface AttachedListProps {
  pills: readonly Pill[];
  problems: ReadonlyMap<string, string>;
  sources: PillSources | undefined;
  onVisit: (pill: Pill) => void;
  onRemove: (pill: Pill) => void;
  onUpdate: (pill: Pill, to: Candidate) => void;
}

/** List what is attached to a message, with what can be done about each: look at it, remove it, say where it is now. */
export function AttachedList({ pills, problems, ...given }: AttachedListProps) {
  if (!pills.length) return null;
  return (
    <ul className="attached" aria-label="Attached context">
      {pills.map((pill) => (
        <Attached key={pill.name} pill={pill} problem={problems.get(pill.name)} {...given} />
      ))}
    </ul>
  );
}

interface AttachedProps extends Omit<AttachedListProps, "pills" | "problems"> {
  pill: Pill;
  problem: string | undefined;
}

function Attached({ pill, problem, sources, onVisit, onRemove, onUpdate }: AttachedProps) {
  const [places, setPlaces] = useState<Candidate[] | null>(null);

  async function find() {
    const last = pill.name.split(pill.type === "symbol" ? "." : "/").at(-1) ?? pill.name;
    const found =
      (await sources?.complete(last, new AbortController().signal).catch(() => [])) ?? [];
    setPlaces(
      found.filter(({ name, type }) => type === pill.type && name !== pill.name).slice(0, 5),
    );
  }

  return (
    <li className={problem ? "attached-missing" : undefined}>
      <button type="button" onClick={() => onVisit(pill)}>
        {pill.name}
      </button>
      {problem && (
        <>
          <span className="problem">{problem}</span>
          <button type="button" aria-label={`Update ${pill.name}`} onClick={() => void find()}>
            Update
          </button>
        </>
      )}
      <button type="button" aria-label={`Remove ${pill.name}`} onClick={() => onRemove(pill)}>
        ×
      </button>
      {problem && places && (
        <span role="group" aria-label={`Possible locations of ${pill.name}`}>
          {places.length === 0 && "There is no other match."}
          {places.map((place) => (
            <button key={place.name} type="button" onClick={() => onUpdate(pill, place)}>
              {place.name}
            </button>
          ))}
        </span>
      )}
    </li>
  );
}
