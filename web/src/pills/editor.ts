import { defaultKeymap, history, historyKeymap, insertNewline } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { clipboard } from "./clipboard";
import { completion } from "./completion";
import type { Pill, PillDocument } from "./document";
import { inStep, pillField } from "./field";
import { marks } from "./marks";
import type { PillSources } from "./sources";

/** What an input of messages does with what happens in it. */
export interface Heard {
  /** Enter was pressed */
  send: () => void;
  /** a pill was clicked */
  visit: (pill: Pill) => void;
  /** something was refused, in words */
  tell: (words: string) => void;
  /** text, pills or problems are others */
  changed: (state: EditorState) => void;
  sources: () => PillSources | undefined;
}

/** Return the state of an editor in which a document stands, with nothing to be undone. */
export function stateOf(document: PillDocument, extensions: Extension): EditorState {
  const state = { doc: document.text, selection: { anchor: document.text.length }, extensions: [extensions, pillField.init(() => document.pills)] };
  return EditorState.create(state);
}

/** Return what makes an editor the input of messages with pills; `attributes` are those of what is typed into. */
export function messageInput(heard: Heard, attributes: Record<string, string>): Extension {
  return [
    inStep,
    marks(heard.visit),
    clipboard(heard.tell),
    completion(heard.sources, heard.tell),
    history(),
    // Keys that belong to an input method's word never come here.
    keymap.of([
      { key: "Enter", run: () => (heard.send(), true), shift: insertNewline },
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    placeholder("Write a message"),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of(attributes),
    EditorView.updateListener.of((update) => heard.changed(update.state)),
  ];
}
