import {
  deleteCharBackwardStrict,
  history,
  historyKeymap,
  insertNewline,
  standardKeymap,
} from "@codemirror/commands";
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
  /** text, pills or problems may be others; `written` tells whether the text is */
  changed: (state: EditorState, written: boolean) => void;
  sources: () => PillSources | undefined;
}

/** Return the state of an editor in which a document stands, with nothing to be undone. */
export function stateOf(document: PillDocument, extensions: Extension): EditorState {
  const state = {
    doc: document.text,
    selection: { anchor: document.text.length },
    extensions: [extensions, pillField.init(() => document.pills)],
  };
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
    keymap.of([
      { any: (_, event) => entered(event, heard.send) },
      { key: "Shift-Enter", run: insertNewline },
      // In prose, blanks at the beginning of a line are no indentation.
      { key: "Backspace", run: deleteCharBackwardStrict },
      ...historyKeymap,
      ...standardKeymap,
    ]),
    placeholder("Write a message"),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of(attributes),
    EditorView.updateListener.of((update) => heard.changed(update.state, update.docChanged)),
  ];
}

/** Send on Enter alone; while an input method composes, it takes its word and sends nothing. */
function entered(event: KeyboardEvent, send: () => void): boolean {
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey)
    return false;
  if (!event.isComposing) send();
  return true;
}
