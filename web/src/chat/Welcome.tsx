import { Waffle } from "../inspect/Window";

const FILLED = (system: number, pinned: number, summarised: number, verbatim: number) =>
  [
    ...Array<"system">(system).fill("system"),
    ...Array<"pinned">(pinned).fill("pinned"),
    ...Array<"summarised">(summarised).fill("summarised"),
    ...Array<"verbatim">(verbatim).fill("verbatim"),
    ...Array<"free">(50 - system - pinned - summarised - verbatim).fill("free"),
  ] as const;

/** How a context changes, in three pictures. */
const STEPS = [
  ["It fills", "Every message takes room in the model’s window.", FILLED(6, 0, 0, 36)],
  [
    "It compresses",
    "When it is nearly full, older messages become a summary.",
    FILLED(6, 0, 6, 10),
  ],
  [
    "You can look back",
    "Summarised messages stay here, and you can bring them back.",
    FILLED(6, 3, 6, 15),
  ],
] as const;

interface Props {
  isKnown: boolean;
  isMissing: boolean;
  /** whether a message can name files or symbols */
  hasNames: boolean;
}

/** Say what this page is, or why there is nothing to show. */
export function Welcome({ isKnown, isMissing, hasNames }: Props) {
  if (isMissing)
    return (
      <p className="welcome">This chat does not exist. Choose another one, or start a new one.</p>
    );
  if (!isKnown) return <p className="welcome">Opening…</p>;
  return (
    <div className="welcome">
      <h2>Start a conversation</h2>
      <p>
        {hasNames
          ? "Write a message, drop a file, or type @ to bring in something from your folder."
          : "Write a message, or drop a file."}
      </p>
      <div className="steps">
        {STEPS.map(([name, text, cells]) => (
          <figure key={name}>
            <Waffle cells={[...cells]} columns={10} />
            <figcaption>
              <b>{name}</b>
              {text}
            </figcaption>
          </figure>
        ))}
      </div>
    </div>
  );
}
