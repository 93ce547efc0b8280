import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { EditorState, Extension } from "@codemirror/state";
import { endOf, type Pill } from "./document";
import { pillField, problemField } from "./field";

/** A pill as it is seen: one thing, whose name and type a screen reader says, and why it cannot be had where that is so. */
class PillWidget extends WidgetType {
  constructor(
    private readonly pill: Pill,
    private readonly problem: string | undefined,
  ) {
    super();
  }

  override eq(other: PillWidget): boolean {
    return (
      this.pill.name === other.pill.name &&
      this.pill.type === other.pill.type &&
      this.problem === other.problem
    );
  }

  override toDOM(): HTMLElement {
    const dom = document.createElement("span");
    dom.className = `pill pill-${this.pill.type}${this.problem ? " pill-missing" : ""}`;
    dom.setAttribute("role", "button");
    dom.setAttribute("aria-label", labelOf(this.pill, this.problem));
    dom.title = this.problem ?? this.pill.name;
    dom.dataset.pill = this.pill.name;
    dom.textContent = this.pill.name;
    return dom;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

/** Return what a screen reader says of a pill. */
export function labelOf(pill: Pill, problem?: string): string {
  return `${pill.name}, attached ${pill.type}${problem ? `: ${problem}` : ""}`;
}

/** Show pills instead of their text, as one thing that the cursor steps over; a click visits what they name. */
export function marks(visit: (pill: Pill) => void): Extension {
  return [
    EditorView.decorations.compute([pillField, problemField], decorated),
    EditorView.atomicRanges.of((view) => decorated(view.state)),
    EditorView.domEventHandlers({
      click(event, view) {
        const dom =
          event.target instanceof Element ? event.target.closest<HTMLElement>("[data-pill]") : null;
        const pill = view.state.field(pillField).find((each) => each.name === dom?.dataset.pill);
        if (pill) visit(pill);
        return pill !== undefined;
      },
    }),
  ];
}

function decorated(state: EditorState): DecorationSet {
  const problems = state.field(problemField);
  return Decoration.set(
    state
      .field(pillField)
      .map((pill) =>
        Decoration.replace({ widget: new PillWidget(pill, problems.get(pill.name)) }).range(
          pill.start,
          endOf(pill),
        ),
      ),
  );
}
