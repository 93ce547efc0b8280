import type { Inspection } from "./data";

/** States whose names a reader would not know. */
const NAMES: Record<string, string> = { ACCUMULATING: "ready", PRESSURED: "nearly full" };

/** Show the states of a session's machine, the one it is in, and which node of an agent works. */
export function StateOf({ inspection: { state, states, regions } }: { inspection: Inspection }) {
  return (
    <section>
      <h3>State</h3>
      <ul className="states">
        {states.map((each) => (
          <li key={each} aria-current={each === state ? "step" : undefined}>
            {NAMES[each] ?? each.toLowerCase().replaceAll("_", " ")}
          </li>
        ))}
      </ul>
      {Object.entries(regions).map(([region, value]) => (
        <p key={region} className="soft">
          {region.replaceAll("_", " ")}: {value.toLowerCase().replaceAll("_", " ")}
        </p>
      ))}
    </section>
  );
}
