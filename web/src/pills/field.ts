import { invertedEffects, isolateHistory } from "@codemirror/commands";
import {
  type ChangeDesc,
  type EditorState,
  type Extension,
  EditorState as State,
  StateEffect,
  StateField,
  type Transaction,
  type TransactionSpec,
} from "@codemirror/state";
import { endOf, type Pill, PillDocument, widened } from "./document";

/** Say which pills there are, by where they stand behind the changes: those that are not written there are gone, misplaced ones are made anew. */
export const setPills = StateEffect.define<readonly Pill[]>({ map: moved });

/** Say in words why the context of a name cannot be had; null: it can. */
export const setProblem = StateEffect.define<{ name: string; problem: string | null }>();

/** The pills of an editor: spans that stand in its text, moved with every change by the laws of `PillDocument`. */
export const pillField = StateField.define<readonly Pill[]>({
  create: () => [],
  update(pills, change) {
    let after = change.docChanged ? moved(untouched(pills, change.changes), change.changes) : pills;
    // What is dragged is deleted in one place and written in another.
    if (change.isUserEvent("move.drop")) after = sound(change, [...after, ...pills]);
    for (const effect of change.effects)
      if (effect.is(setPills)) after = sound(change, effect.value);
    return after;
  },
});

/** What cannot be attached, by name, until it is updated, removed, or found again. */
export const problemField = StateField.define<ReadonlyMap<string, string>>({
  create: () => new Map(),
  update(problems, change) {
    const after = new Map(problems);
    for (const effect of change.effects) {
      if (!effect.is(setProblem)) continue;
      if (effect.value.problem === null) after.delete(effect.value.name);
      else after.set(effect.value.name, effect.value.problem);
    }
    const attached = new Set(change.state.field(pillField).map((pill) => pill.name));
    for (const name of after.keys()) if (!attached.has(name)) after.delete(name);
    return after.size === problems.size &&
      [...after].every(([name, problem]) => problems.get(name) === problem)
      ? problems
      : after;
  },
});

/** Keep text and pills in step: a pill that a change touches goes whole, nothing is written inside of one, and undoing brings back both. */
export const inStep: Extension = [
  pillField,
  problemField,
  State.transactionFilter.of(whole),
  invertedEffects.of((change) => {
    const before = change.startState.field(pillField);
    return before === change.state.field(pillField) ? [] : [setPills.of(before)];
  }),
];

/** Return what stands in an editor, as a document. */
export function documentOf(state: EditorState): PillDocument {
  return PillDocument.recover(state.doc.toString(), state.field(pillField));
}

/** Return the change that puts `other` in the place of a range, pills and all; those that are attached elsewhere stay text. */
export function replacing(
  state: EditorState,
  from: number,
  to: number,
  other: PillDocument,
  userEvent: string,
): TransactionSpec {
  const [start, end] = from === to ? [from, to] : widened(state.field(pillField), from, to);
  const after = documentOf(state).deleteRange(start, end).insertDocument(start, other);
  return {
    changes: { from: start, to: end, insert: other.text },
    effects: setPills.of(after.pills),
    selection: { anchor: start + other.text.length },
    annotations: isolateHistory.of("full"),
    scrollIntoView: true,
    userEvent,
  };
}

/** Return the change that takes a pill away. */
export function removing(state: EditorState, name: string): TransactionSpec {
  const pill = documentOf(state).pill(name);
  return {
    changes: { from: pill.start, to: endOf(pill) },
    userEvent: "delete.pill",
    annotations: isolateHistory.of("full"),
  };
}

/** Return the change that lets a pill name something else, where it stands. */
export function updating(
  state: EditorState,
  name: string,
  newName: string,
  type: string,
): TransactionSpec {
  const document = documentOf(state);
  const old = document.pill(name);
  const after = document.updatePill(name, { newName, type });
  return {
    changes: { from: old.start, to: endOf(old), insert: `[@${newName}]` },
    effects: [setPills.of(after.pills), setProblem.of({ name: newName, problem: null })],
    userEvent: "input.pill",
    annotations: isolateHistory.of("full"),
  };
}

function sound(change: Transaction, pills: readonly Pill[]): readonly Pill[] {
  return PillDocument.recover(wellFormed(change.newDoc.toString()), pills).pills;
}

/** Half a character, which a broken paste may hold, is nothing that can be sent; here it only must not stop the editor. */
function wellFormed(text: string): string {
  return text.replace(
    /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g,
    "\uFFFD",
  );
}

function untouched(pills: readonly Pill[], changes: ChangeDesc): readonly Pill[] {
  const gone = new Set<Pill>();
  changes.iterChangedRanges((from, to) => {
    for (const pill of pills) if (touches(pill, from, to)) gone.add(pill);
  }, true);
  return gone.size ? pills.filter((pill) => !gone.has(pill)) : pills;
}

/** Tell whether a change of that range takes something of a pill away, or writes inside of it. */
function touches(pill: Pill, from: number, to: number): boolean {
  return from === to
    ? pill.start < from && from < endOf(pill)
    : Math.max(pill.start, from) < Math.min(endOf(pill), to);
}

function moved(pills: readonly Pill[], changes: ChangeDesc): readonly Pill[] {
  // What is typed right before a pill stands before it; what is typed behind it never joins it.
  const after = pills.map((pill) => ({ ...pill, start: changes.mapPos(pill.start, 1) }));
  return after.every((pill, index) => pill.start === pills[index]?.start) ? pills : after;
}

/** Let a change that cuts a pill take the rest of it as well; what would be written inside of one is not. */
function whole(change: Transaction): Transaction | readonly TransactionSpec[] {
  const pills = change.startState.field(pillField);
  if (!change.docChanged || !pills.length || change.effects.some((effect) => effect.is(setPills)))
    return change;
  const rest: { from: number; to: number }[] = [];
  let inside = false;
  change.changes.iterChangedRanges((from, to) => {
    for (const pill of pills.filter((each) => touches(each, from, to))) {
      inside ||= from === to;
      for (const [start, end] of [
        [pill.start, from],
        [to, endOf(pill)],
      ] as const) {
        if (start < end)
          rest.push({ from: change.changes.mapPos(start, 1), to: change.changes.mapPos(end, -1) });
      }
    }
  }, true);
  if (inside) return [];
  const left = rest.filter(({ from, to }) => from < to);
  return left.length ? [change, { changes: left, sequential: true }] : change;
}
