import type { EditorState, Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { PillDocument, widened } from "./document";
import { DuplicatePillError } from "./errors";
import { documentOf, pillField, replacing } from "./field";

/** What pills are copied as, beside the text `[@name]` for everybody else. */
export const MIME = "application/x-polycontext-pills+json";

/** Copy, cut and paste pills as what they are; of text from elsewhere, brackets stay text. `tell` hears what is refused, in words. */
export function clipboard(tell: (words: string) => void): Extension {
  return EditorView.domEventHandlers({
    copy: (event, view) => copied(event, view),
    cut(event, view) {
      if (!copied(event, view)) return false;
      if (!view.state.readOnly)
        view.dispatch({
          ...view.state.replaceSelection(""),
          userEvent: "delete.cut",
          scrollIntoView: true,
        });
      return true;
    },
    paste(event, view) {
      const pasted = read(event.clipboardData?.getData(MIME) ?? "");
      if (!pasted || view.state.readOnly) return false;
      event.preventDefault();
      const { from, to } = view.state.selection.main;
      const kept = documentOf(view.state).deleteRange(
        ...(from === to ? ([from, to] as const) : widened(view.state.field(pillField), from, to)),
      );
      const twice = pasted.context.find((name) => kept.context.includes(name));
      view.dispatch(replacing(view.state, from, to, pasted, "input.paste"));
      // It came as text: the words say why.
      if (twice !== undefined) tell(new DuplicatePillError(twice).message);
      return true;
    },
  });
}

function copied(event: ClipboardEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  if (empty || !event.clipboardData) return false;
  const selected = sliceOf(view.state, from, to);
  event.clipboardData.setData("text/plain", selected.text);
  event.clipboardData.setData(MIME, JSON.stringify(selected.toData()));
  event.preventDefault();
  return true;
}

/** Return the part of what stands in an editor. */
export function sliceOf(state: EditorState, from: number, to: number): PillDocument {
  const document = documentOf(state);
  return document.deleteRange(to, document.text.length).deleteRange(0, from);
}

function read(text: string): PillDocument | null {
  try {
    const data = JSON.parse(text) as { text: unknown };
    // An editor knows one kind of line end.
    return PillDocument.fromData({
      ...data,
      text: typeof data.text === "string" ? data.text.replace(/\r\n?/g, "\n") : data.text,
    });
  } catch {
    return null;
  }
}
