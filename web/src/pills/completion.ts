import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { PillDocument } from "./document";
import { PillError } from "./errors";
import { documentOf, replacing } from "./field";
import type { Candidate, PillSources } from "./sources";

/** The `@` begins no name inside of a word: addresses of people are text. */
const TYPED = /(?:^|[^\p{L}\p{N}_.])(\[?@[^\s@[\]]{0,1024})$/u;

/** Milliseconds without a key before names are asked for. */
const PAUSE = 80;

/** Milliseconds after which a user is told why nothing is offered yet. */
const PATIENCE = 300;

export const READING = "Loading file names…";

/** Offer what can be attached behind an `@`; `tell` hears what is refused, in words. */
export function completion(
  sources: () => PillSources | undefined,
  tell: (words: string) => void,
): Extension {
  return autocompletion({
    override: [(context) => offered(context, sources(), tell)],
    activateOnTypingDelay: PAUSE,
    icons: false,
  });
}

async function offered(
  context: CompletionContext,
  sources: PillSources | undefined,
  tell: (words: string) => void,
): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos);
  const typed = TYPED.exec(line.text.slice(0, context.pos - line.from))?.[1];
  if (typed === undefined || !sources) return null;
  const asked = new AbortController();
  // Whoever types on asks anew.
  context.addEventListener("abort", () => asked.abort(), { onDocChange: true });
  let isTold = false;
  const waiting = setTimeout(() => {
    isTold = true;
    tell(READING);
  }, PATIENCE);
  try {
    const found = await sources.complete(typed, asked.signal);
    if (context.aborted || asked.signal.aborted) return null;
    return {
      from: context.pos - typed.length,
      options: found.map((each) => option(each, tell)),
      filter: false,
    };
  } catch {
    return null;
  } finally {
    clearTimeout(waiting);
    // Whoever typed on has cleared it, and may be told of the next question by now.
    if (isTold && !asked.signal.aborted) tell("");
  }
}

function option(candidate: Candidate, tell: (words: string) => void): Completion {
  return {
    label: candidate.name,
    detail: candidate.detail ? `${candidate.type} · ${candidate.detail}` : candidate.type,
    apply: (view: EditorView, _: Completion, from: number, to: number) =>
      attach(view, candidate, from, to, tell),
  };
}

/** Put a pill in the place of what was typed; what is refused leaves everything as it was. */
export function attach(
  view: EditorView,
  { name, type }: Pick<Candidate, "name" | "type">,
  from: number,
  to: number,
  tell: (words: string) => void,
): void {
  try {
    const typed = documentOf(view.state).deleteRange(from, to);
    // Asked of the document, which refuses what may not stand there.
    typed.insertPill(name, from, type);
    view.dispatch(
      replacing(
        view.state,
        from,
        to,
        PillDocument.EMPTY.insertPill(name, 0, type),
        "input.complete",
      ),
    );
  } catch (refused) {
    if (!(refused instanceof PillError)) throw refused;
    tell(refused.message);
  }
}
