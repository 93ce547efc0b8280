import { history, redo, undo } from "@codemirror/commands";
import { EditorState, type TransactionSpec } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { type Pill, PillDocument, endOf, written } from "../../src/pills/document";
import { sliceOf } from "../../src/pills/clipboard";
import {
  documentOf,
  inStep,
  pillField,
  problemField,
  removing,
  replacing,
  setPills,
  setProblem,
  updating,
} from "../../src/pills/field";

/** An editor without a screen. */
class Bench {
  state: EditorState;
  constructor(document: PillDocument = PillDocument.EMPTY) {
    this.state = EditorState.create({
      doc: document.text,
      extensions: [inStep, history({ newGroupDelay: 0 }), pillField.init(() => document.pills)],
    });
  }
  do(spec: TransactionSpec): this {
    this.state = this.state.update(spec).state;
    return this;
  }
  type(at: number, text: string): this {
    return this.do({ changes: { from: at, insert: text }, userEvent: "input.type" });
  }
  cut(from: number, to: number): this {
    return this.do({ changes: { from, to }, userEvent: "delete" });
  }
  run(command: typeof undo): boolean {
    return command({ state: this.state, dispatch: (change) => (this.state = change.state) });
  }
  get text(): string {
    return this.state.doc.toString();
  }
  get names(): string[] {
    return this.state.field(pillField).map((pill) => pill.name);
  }
}

const TWO = () => new Bench(PillDocument.parse("see [@a.py] and [@b.py]."));

describe("an edit keeps text and pills in step", () => {
  it.each([
    [4, 5, "see  and [@b.py]."],
    [6, 7, "see  and [@b.py]."],
    [10, 11, "see  and [@b.py]."],
    [0, 5, " and [@b.py]."],
    [10, 12, "see and [@b.py]."],
    [7, 18, "see ."],
    [11, 12, "see [@a.py]and [@b.py]."],
  ])("cut %i to %i: a pill that is touched goes whole", (from, to, text) => {
    const bench = TWO().cut(from, to);
    expect(bench.text).toBe(text);
    expect(bench.names).toEqual(PillDocument.parse(text).context);
    // As the twin says.
    expect(documentOf(bench.state)).toEqual(
      PillDocument.parse("see [@a.py] and [@b.py].").deleteRange(from, to),
    );
  });

  it("types before and behind a pill without joining it, and nothing inside", () => {
    const bench = TWO().type(4, "x").type(12, "y");
    expect(bench.text).toBe("see x[@a.py]y and [@b.py].");
    expect(bench.names).toEqual(["a.py", "b.py"]);
    expect(bench.type(8, "inside").text).toBe("see x[@a.py]y and [@b.py].");
    expect(
      bench.state.field(pillField).map((pill) => bench.text.slice(pill.start, endOf(pill))),
    ).toEqual(["[@a.py]", "[@b.py]"]);
  });

  it("takes brackets that are typed by hand for text", () => {
    expect(new Bench().type(0, "[@a.py]").names).toEqual([]);
  });

  it("replaces a selection that cuts a pill with what was typed", () => {
    const bench = TWO().do({ changes: { from: 6, to: 13, insert: "X" }, userEvent: "input.type" });
    expect([bench.text, bench.names]).toEqual(["see Xnd [@b.py].", ["b.py"]]);
  });

  it("keeps a pill that is dragged elsewhere", () => {
    const bench = TWO().do({
      changes: [
        { from: 4, to: 11 },
        { from: 24, insert: "[@a.py]" },
      ],
      userEvent: "move.drop",
    });
    expect([bench.text, bench.names]).toEqual(["see  and [@b.py].[@a.py]", ["b.py", "a.py"]]);
    bench.run(undo);
    expect([bench.text, bench.names]).toEqual(["see [@a.py] and [@b.py].", ["a.py", "b.py"]]);
  });
});

describe("undo and redo", () => {
  it("bring back text and pills together", () => {
    const bench = TWO();
    bench.do(removing(bench.state, "a.py"));
    bench.do(updating(bench.state, "b.py", "c.py", "symbol"));
    bench.do(replacing(bench.state, 0, 3, PillDocument.parse("[@d.py]"), "input.paste"));
    const seen = [[bench.text, bench.state.field(pillField)]];
    while (bench.run(undo)) seen.push([bench.text, bench.state.field(pillField)]);
    expect(seen.map(([text]) => text)).toEqual([
      "[@d.py]  and [@c.py].",
      "see  and [@c.py].",
      "see  and [@b.py].",
      "see [@a.py] and [@b.py].",
    ]);
    expect(bench.names).toEqual(["a.py", "b.py"]);
    for (const [text, pills] of seen.reverse().slice(1)) {
      expect(bench.run(redo)).toBe(true);
      expect([bench.text, bench.state.field(pillField)]).toEqual([text, pills]);
    }
  });

  it("do so where typing was joined to one step", () => {
    const bench = new Bench(PillDocument.parse("[@a]"));
    bench.state = EditorState.create({
      doc: "[@a]",
      extensions: [
        inStep,
        history({ newGroupDelay: 10_000 }),
        pillField.init(() => PillDocument.parse("[@a]").pills),
      ],
    });
    bench.type(0, "x").type(1, "y").cut(5, 6);
    expect([bench.text, bench.names]).toEqual(["xy", []]);
    while (bench.run(undo));
    expect([bench.text, bench.names]).toEqual(["[@a]", ["a"]]);
  });
});

describe("what is put in", () => {
  it("refuses nothing silently: what is attached stays text", () => {
    const bench = TWO();
    bench.do(replacing(bench.state, 0, 0, PillDocument.parse("[@a.py][@c.py]"), "input.paste"));
    expect(bench.text).toBe("[@a.py][@c.py]see [@a.py] and [@b.py].");
    expect(
      bench.state.field(pillField).map((pill): [string, number] => [pill.name, pill.start]),
    ).toEqual([
      ["c.py", 7],
      ["a.py", 18],
      ["b.py", 30],
    ]);
    expect(() => updating(bench.state, "a.py", "b.py", "file")).toThrow("Context already attached");
    expect(() => updating(bench.state, "a.py", "b[", "file")).toThrow("Invalid context name");
  });

  it("makes damaged pills anew, and lets go of what is written nowhere", () => {
    const wrong: Pill[] = [
      { name: "b.py", type: "symbol", start: 3 },
      { name: "gone", type: "file", start: 0 },
    ];
    const bench = TWO().do({ effects: setPills.of(wrong) });
    expect(bench.state.field(pillField)).toEqual([{ name: "b.py", type: "symbol", start: 16 }]);
    const half = new Bench().do({
      changes: { from: 0, insert: "\ud83d [@a]" },
      effects: setPills.of([{ name: "a", type: "file", start: 0 }]),
    });
    expect(half.names).toEqual(["a"]);
  });

  it("copies pills that are selected whole", () => {
    expect(sliceOf(TWO().state, 2, 12)).toEqual(PillDocument.parse("e [@a.py] "));
    expect(sliceOf(TWO().state, 16, 23)).toEqual(PillDocument.parse("[@b.py]"));
  });
});

describe("a reference that vanished", () => {
  it("is shown until it is removed, updated or found", () => {
    const bench = TWO().do({
      effects: setProblem.of({ name: "a.py", problem: "Cannot attach context: file not found" }),
    });
    expect([...bench.state.field(problemField)]).toEqual([
      ["a.py", "Cannot attach context: file not found"],
    ]);
    const same = bench.state.field(problemField);
    expect(bench.type(0, "x").state.field(problemField)).toBe(same);
    const found = new Bench().do({ effects: setProblem.of({ name: "nobody", problem: "x" }) });
    expect(found.state.field(problemField).size).toBe(0);
    bench.do(updating(bench.state, "a.py", "c.py", "file"));
    expect([bench.text, bench.state.field(problemField).size]).toEqual([
      "xsee [@c.py] and [@b.py].",
      0,
    ]);
  });
});

describe("random edits", () => {
  it.each([1, 2, 3, 4, 5])("hold the four invariants against a list of cells, seed %i", (seed) => {
    let value = seed;
    const draw = (below: number) => {
      value = (value * 48271) % 2147483647;
      return value % below;
    };
    const bench = new Bench();
    let twin = PillDocument.EMPTY;
    const past: PillDocument[] = [];
    for (let step = 0; step < 300; step++) {
      const at = draw(twin.text.length + 1);
      const inside = twin.pills.some((pill) => pill.start < at && at < endOf(pill));
      const before = twin;
      const kind = draw(6);
      if (kind === 0 && !inside) {
        bench.type(at, "ab [@]é"[draw(7)] ?? "");
        twin = twin.insertText(at, bench.text.slice(at, at + 1));
      } else if (kind === 1 && !inside) {
        const other = PillDocument.parse(
          `[@${["a", "b.py", "日", "app/[id]/x"][draw(4)]}]`,
          "symbol",
        );
        bench.do(replacing(bench.state, at, at, other, "input.paste"));
        twin = twin.insertDocument(at, other);
      } else if (kind === 2) {
        const end = Math.min(twin.text.length, at + draw(6));
        if (end > at) bench.cut(at, end);
        twin = twin.deleteRange(at, end);
      } else if (kind === 3 && twin.pills[0]) {
        bench.do(removing(bench.state, twin.pills[0].name));
        twin = twin.removePill(twin.pills[0].name);
      } else if (kind === 4 && past.length && draw(3) === 0) {
        bench.run(undo);
        twin = past.pop() ?? twin;
        expect(documentOf(bench.state)).toEqual(twin);
        continue;
      }
      if (
        twin !== before &&
        (twin.text !== before.text || twin.pills.length !== before.pills.length)
      )
        past.push(before);
      expect(bench.text).toBe(twin.text);
      expect(bench.state.field(pillField)).toEqual(twin.pills);
      for (const pill of bench.state.field(pillField))
        expect(bench.text.slice(pill.start, endOf(pill))).toBe(written(pill));
      expect(new Set(bench.names).size).toBe(bench.names.length);
    }
  });
});
