import { EditorView } from "@codemirror/view";
import {
  acceptCompletion,
  completionStatus,
  currentCompletions,
  startCompletion,
} from "@codemirror/autocomplete";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Composer, type ComposerProps } from "../../src/composer/Composer";
import { MIME } from "../../src/pills/clipboard";
import { attach } from "../../src/pills/completion";
import { PillDocument, type PillData } from "../../src/pills/document";
import { documentOf } from "../../src/pills/field";
import {
  type Candidate,
  type PillSources,
  type Source,
  SourceRefused,
} from "../../src/pills/sources";

const GONE = "Cannot attach context: file not found";

class Sources implements PillSources {
  files = ["src/agent.py", "src/other.py", "notes.txt"];
  asked: string[] = [];
  aborted = 0;
  held: Promise<void> | null = null;

  async complete(prefix: string, signal: AbortSignal): Promise<Candidate[]> {
    this.asked.push(prefix);
    signal.addEventListener("abort", () => this.aborted++);
    await this.held;
    const wanted = prefix.replace(/^\[?@/, "");
    return this.files
      .filter((name) => name.includes(wanted))
      .map((name) => ({ name, type: "file", detail: "" }));
  }

  async source({
    name,
    type,
  }: {
    name: string;
    type: "file" | "symbol" | "buffer";
  }): Promise<Source> {
    if (!this.files.includes(name)) throw new SourceRefused(GONE);
    return {
      name,
      type,
      content: `the content of ${name}`,
      path: name,
      startLine: null,
      notice: null,
    };
  }
}

let sources: Sources;
let sent: { content: string; pills: PillData[] }[];
let taken: boolean;

function composed(given: Partial<ComposerProps> = {}): EditorView {
  const onSend = async (content: string, pills: PillData[]) => {
    sent.push({ content, pills });
    return taken;
  };
  render(
    <StrictMode>
      <Composer disabled={false} reason="" onSend={onSend} sources={sources} {...given} />
    </StrictMode>,
  );
  const view = EditorView.findFromDOM(screen.getByRole("textbox", { name: "Message" }));
  if (!view) throw new Error("no editor");
  return view;
}

function typed(view: EditorView, text: string): void {
  const { head } = view.state.selection.main;
  act(() =>
    view.dispatch({
      changes: { from: head, insert: text },
      selection: { anchor: head + text.length },
      userEvent: "input.type",
    }),
  );
}

function attached(view: EditorView, ...names: string[]): void {
  for (const name of names)
    act(() =>
      attach(
        view,
        { name, type: "file" },
        view.state.selection.main.head,
        view.state.selection.main.head,
        () => {},
      ),
    );
}

const listed = () =>
  screen.queryAllByRole("listitem").map((each) => each.querySelector("button")?.textContent);

/** A clipboard that an event carries, which happy-dom does not make by itself. */
function clipboardEvent(kind: string, data: Map<string, string>): Event {
  const event = new Event(kind, { bubbles: true, cancelable: true });
  const clipboardData = {
    setData: (type: string, text: string) => data.set(type, text),
    getData: (type: string) => data.get(type) ?? "",
  };
  return Object.assign(event, { clipboardData });
}

beforeEach(() => {
  sources = new Sources();
  sent = [];
  taken = true;
});
afterEach(cleanup);

describe("a message", () => {
  it("is sent by Enter with its pills as a server counts them, and the input is empty again", async () => {
    const view = composed();
    typed(view, "🙂 see ");
    attached(view, "src/agent.py");
    expect(listed()).toEqual(["src/agent.py"]);
    await act(async () => void fireEvent.keyDown(view.contentDOM, { key: "Enter" }));
    expect(
      sent.map(({ content, pills }) => [
        content,
        pills.map(({ name, type, start }) => [name, type, start]),
      ]),
    ).toEqual([["🙂 see [@src/agent.py]", [["src/agent.py", "file", 6]]]]);
    expect([view.state.doc.toString(), listed()]).toEqual(["", []]);
  });

  it("is not sent while nothing can be, while a word is composed, or where there is none", async () => {
    const view = composed({ disabled: true, reason: "The window is full." });
    typed(view, "hello");
    fireEvent.keyDown(view.contentDOM, { key: "Enter" });
    fireEvent.submit(view.dom.closest("form") as HTMLFormElement);
    expect([
      sent,
      view.state.doc.toString(),
      screen.getByText("The window is full.").textContent,
    ]).toEqual([[], "hello", "The window is full."]);
    cleanup();
    const other = composed();
    fireEvent.keyDown(other.contentDOM, { key: "Enter" });
    typed(other, "日本");
    fireEvent.compositionStart(other.contentDOM);
    fireEvent.keyDown(other.contentDOM, { key: "Enter", isComposing: true, keyCode: 229 });
    expect(sent).toEqual([]);
  });

  it("gets a line by Shift+Enter", () => {
    const view = composed();
    typed(view, "one");
    fireEvent.keyDown(view.contentDOM, { key: "Enter", shiftKey: true });
    expect(view.state.doc.toString()).toBe("one\n");
  });

  it("comes back where it is refused, before what was written since, and says which context is gone", async () => {
    let answer: (taken: boolean) => void = () => {};
    const view = composed({ onSend: () => new Promise((resolve) => (answer = resolve)) });
    attached(view, "gone.py", "src/agent.py");
    fireEvent.keyDown(view.contentDOM, { key: "Enter" });
    expect(view.state.doc.toString()).toBe("");
    attached(view, "notes.txt");
    await act(async () => answer(false));
    expect(view.state.doc.toString()).toBe("[@gone.py][@src/agent.py]\n[@notes.txt]");
    await waitFor(() => expect(screen.getByText(GONE)).toBeTruthy());
    expect(screen.getByLabelText(`gone.py, attached file: ${GONE}`).className).toContain(
      "pill-missing",
    );
    expect(screen.getByLabelText("src/agent.py, attached file").className).not.toContain(
      "pill-missing",
    );
  });
});

describe("a pill", () => {
  it("shows its source when it is clicked, to be read and closed", async () => {
    const view = composed();
    attached(view, "notes.txt");
    fireEvent.click(screen.getByLabelText("notes.txt, attached file"));
    const pane = await screen.findByRole("region", { name: "Source of notes.txt" });
    expect(within(pane).getByText("the content of notes.txt")).toBeTruthy();
    fireEvent.keyDown(pane, { key: "Escape" });
    expect(screen.queryByRole("region", { name: "Source of notes.txt" })).toBeNull();
  });

  it("that vanished says so, and is updated, or removed", async () => {
    const view = composed();
    attached(view, "old/agent.py", "old/nothing.py");
    for (const name of ["old/agent.py", "old/nothing.py"]) {
      fireEvent.click(screen.getByRole("button", { name }));
      await waitFor(() =>
        expect(screen.getByLabelText(`${name}, attached file: ${GONE}`)).toBeTruthy(),
      );
    }
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe(GONE));
    fireEvent.click(await screen.findByRole("button", { name: "Update old/nothing.py" }));
    await screen.findByText("There is no other match.");
    fireEvent.click(screen.getByRole("button", { name: "Update old/agent.py" }));
    fireEvent.click(await screen.findByRole("button", { name: "src/agent.py" }));
    expect(view.state.doc.toString()).toBe("[@src/agent.py][@old/nothing.py]");
    fireEvent.click(screen.getByRole("button", { name: "Remove old/nothing.py" }));
    expect([view.state.doc.toString(), listed()]).toEqual(["[@src/agent.py]", ["src/agent.py"]]);
  });

  it("is not blamed for a server that is not there", async () => {
    const view = composed();
    attached(view, "notes.txt");
    vi.spyOn(sources, "source").mockRejectedValue(new TypeError("fetch failed"));
    fireEvent.click(screen.getByRole("button", { name: "notes.txt" }));
    await screen.findByText("The server cannot be reached.");
    expect(screen.getByLabelText("notes.txt, attached file").className).not.toContain(
      "pill-missing",
    );
  });

  it("goes whole by Backspace and by Delete", () => {
    const view = composed();
    typed(view, "a");
    attached(view, "notes.txt");
    fireEvent.keyDown(view.contentDOM, { key: "Backspace" });
    expect([view.state.doc.toString(), listed()]).toEqual(["a", []]);
    attached(view, "notes.txt");
    act(() => view.dispatch({ selection: { anchor: 1 } }));
    fireEvent.keyDown(view.contentDOM, { key: "Delete" });
    expect([view.state.doc.toString(), listed()]).toEqual(["a", []]);
    fireEvent.keyDown(view.contentDOM, { key: "z", ctrlKey: true });
    expect([view.state.doc.toString(), listed()]).toEqual(["a[@notes.txt]", ["notes.txt"]]);
  });
});

describe("behind an @", () => {
  async function completed(view: EditorView): Promise<(string | undefined)[]> {
    act(() => void startCompletion(view));
    await waitFor(() => expect(completionStatus(view.state)).not.toBe("pending"));
    return currentCompletions(view.state).map((each) => each.label);
  }

  it("names are offered, and the one that is chosen stands in the place of what was typed", async () => {
    const view = composed();
    typed(view, "see @src");
    expect(await completed(view)).toEqual(["src/agent.py", "src/other.py"]);
    await waitFor(() => expect(acceptCompletion(view)).toBe(true));
    expect([documentOf(view.state).context, view.state.doc.toString()]).toEqual([
      ["src/agent.py"],
      "see [@src/agent.py]",
    ]);
    expect(sources.asked).toContain("@src");
  });

  it("a name that is attached is refused in words, and what was typed stays", async () => {
    const view = composed();
    attached(view, "notes.txt");
    typed(view, " @notes");
    expect(await completed(view)).toEqual(["notes.txt"]);
    await waitFor(() => expect(acceptCompletion(view)).toBe(true));
    await waitFor(() =>
      expect(screen.getByRole("status").textContent).toBe("Context already attached"),
    );
    expect(view.state.doc.toString()).toBe("[@notes.txt] @notes");
  });

  it("an older question is given up when more is typed", async () => {
    const view = composed();
    let go = () => {};
    sources.held = new Promise((resolve) => (go = resolve));
    typed(view, "@s");
    act(() => void startCompletion(view));
    await waitFor(() => expect(sources.asked).toContain("@s"));
    typed(view, "rc/o");
    expect(sources.aborted).toBeGreaterThan(0);
    go();
    expect(await completed(view)).toEqual(["src/other.py"]);
  });

  it("whoever waits for the first names is told why", async () => {
    const view = composed();
    let go = () => {};
    sources.held = new Promise((resolve) => (go = resolve));
    typed(view, "@src");
    act(() => void startCompletion(view));
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe("Loading file names…"));
    go();
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe(""));
    expect(currentCompletions(view.state).map((each) => each.label)).toEqual([
      "src/agent.py",
      "src/other.py",
    ]);
  });

  it.each(["ann@example", "no at", "[@notes.txt]"])("nothing is asked in %j", async (text) => {
    const view = composed();
    typed(view, text);
    expect(await completed(view)).toEqual([]);
    expect(sources.asked).toEqual([]);
  });
});

describe("the clipboard", () => {
  it("carries pills, and their text for everybody else; what is attached already comes as text", () => {
    const view = composed();
    typed(view, "see ");
    attached(view, "notes.txt", "src/agent.py");
    act(() => view.dispatch({ selection: { anchor: 2, head: 16 } }));
    const data = new Map<string, string>();
    act(() => void view.contentDOM.dispatchEvent(clipboardEvent("cut", data)));
    expect([data.get("text/plain"), view.state.doc.toString(), listed()]).toEqual([
      "e [@notes.txt]",
      "se[@src/agent.py]",
      ["src/agent.py"],
    ]);
    act(() => void view.contentDOM.dispatchEvent(clipboardEvent("paste", data)));
    expect([view.state.doc.toString(), listed()]).toEqual([
      "see [@notes.txt][@src/agent.py]",
      ["notes.txt", "src/agent.py"],
    ]);
    act(() => void view.contentDOM.dispatchEvent(clipboardEvent("paste", data)));
    expect([view.state.doc.toString(), documentOf(view.state).context]).toEqual([
      "see [@notes.txt]e [@notes.txt][@src/agent.py]",
      ["notes.txt", "src/agent.py"],
    ]);
    expect(screen.getByRole("status").textContent).toBe("Context already attached");
  });

  it.each(["", "{", '{"text": 5}', '{"text": "[@a]", "pills": [{"name": "a", "type": "folder"}]}'])(
    "takes %j for no pills",
    (text) => {
      const view = composed();
      const data = new Map([
        [MIME, text],
        ["text/plain", "[@notes.txt]"],
      ]);
      act(() => void view.contentDOM.dispatchEvent(clipboardEvent("paste", data)));
      expect(listed()).toEqual([]);
    },
  );

  it("makes pills anew whose places are wrong", () => {
    const view = composed();
    const damaged = {
      ...PillDocument.parse("look at\r\n[@a.py]").toData(),
      pills: [
        { name: "a.py", type: "symbol", start: 1 },
        { name: "gone", type: "file" },
      ],
    };
    act(
      () =>
        void view.contentDOM.dispatchEvent(
          clipboardEvent("paste", new Map([[MIME, JSON.stringify(damaged)]])),
        ),
    );
    expect(documentOf(view.state).pills).toEqual([{ name: "a.py", type: "symbol", start: 8 }]);
  });
});
