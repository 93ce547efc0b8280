import { describe, expect, it } from "vitest";
import {
  endOf,
  type Pill,
  PillDocument,
  pillOf,
  unitsTo,
  pointsTo,
  written,
} from "../../src/pills/document";
import {
  CannotAttachError,
  DuplicatePillError,
  InvalidPillNameError,
  PillError,
} from "../../src/pills/errors";
import { findPills, isName } from "../../src/pills/names";
import vectors from "../../src/pills/vectors.json";

type Placed = [string, string, number];
interface Step {
  do: string;
  at?: number;
  end?: number;
  new?: string | null;
  name?: string;
  type?: string | null;
  duplicate?: "error" | "update";
  from?: Placed[];
  text?: string;
  pills?: Placed[];
  error?: string;
}

/** Do a step; positions of the cases count characters. */
function done(document: PillDocument, step: Step): PillDocument {
  const units = (at: number | undefined) => unitsTo(document.text, at ?? 0);
  const name = step.name ?? "";
  const text = step.new ?? "";
  const pills = (): Pill[] =>
    (step.from ?? []).map(([each, type, start]) => pillOf(each, type, unitsTo(text, start)));
  switch (step.do) {
    case "insert_text":
      return document.insertText(units(step.at), text);
    case "insert_pill":
      return document.insertPill(name, units(step.at), step.type ?? "", step.duplicate);
    case "insert_document":
      return document.insertDocument(units(step.at), PillDocument.recover(text, pills()));
    case "delete_range":
      return document.deleteRange(units(step.at), units(step.end));
    case "remove_pill":
      return document.removePill(name);
    case "update_pill":
      return document.updatePill(name, {
        newName: step.new ?? undefined,
        type: step.type ?? undefined,
      });
    case "parse":
      return PillDocument.parse(text);
    case "recover":
      return PillDocument.recover(text, pills());
    default:
      throw new Error(`no such operation: ${step.do}`);
  }
}

describe("the document is the twin of Python's", () => {
  it.each((vectors as unknown as Step[][]).map((steps, number) => ({ number, steps })))(
    "in case $number",
    ({ steps }) => {
      let document = PillDocument.EMPTY;
      for (const step of steps) {
        let error: string | undefined;
        const before = document;
        try {
          document = done(document, step);
        } catch (refused) {
          expect(refused).toBeInstanceOf(PillError);
          error = (refused as PillError).message;
        }
        expect(error, JSON.stringify(step)).toBe(step.error);
        if (error !== undefined) {
          expect(document).toBe(before);
          continue;
        }
        expect(document.text).toBe(step.text);
        const data = document.toData();
        expect(data.pills.map(({ name, type, start }) => [name, type, start])).toEqual(step.pills);
        expect(document.context).toEqual(step.pills?.map(([name]) => name));
        for (const pill of document.pills)
          expect(document.text.slice(pill.start, endOf(pill))).toBe(written(pill));
        expect(PillDocument.fromData(data)).toEqual(document);
      }
    },
  );
});

describe("at its edges", () => {
  it("counts as Python does where a server is told", () => {
    const document = PillDocument.of("🙂🙂").insertPill("📎", 4);
    expect([document.pill("📎").start, document.toData().pills[0]?.start]).toEqual([4, 2]);
    expect(PillDocument.fromData(document.toData()).pills).toEqual(document.pills);
    expect([unitsTo("🙂a", -1), unitsTo("🙂a", 1), unitsTo("🙂a", 5)]).toEqual([-1, 2, 6]);
    expect([pointsTo("🙂a", 2), pointsTo("🙂a", 3)]).toEqual([1, 2]);
  });

  it("refuses half a character, and what is no document", () => {
    expect(() => PillDocument.of("\ud83d")).toThrow("no such text");
    expect(() => PillDocument.EMPTY.insertText(0, "a\ude00")).toThrow("no such text");
    for (const data of [null, {}, { text: 1, pills: [] }, { text: "" }, "x"])
      expect(() => PillDocument.fromData(data)).toThrow(PillError);
    expect(() =>
      PillDocument.fromData({ text: "[@a]", pills: [{ name: "a", type: "folder" }] }),
    ).toThrow(InvalidPillNameError);
    expect(
      PillDocument.fromData({
        text: "[@a] [@a]",
        pills: [
          { name: "a", type: "file", start: 9 },
          { name: "b", type: "file" },
        ],
      }).pills,
    ).toEqual([{ name: "a", type: "file", start: 5 }]);
  });

  it("speaks the seed's words", () => {
    const attached = PillDocument.parse("[@a]");
    expect(() => attached.insertPill("a", 0)).toThrow(new DuplicatePillError("a"));
    expect(new DuplicatePillError("a").message).toBe("Context already attached");
    expect(() => attached.insertPill("", 0)).toThrow("Invalid context name");
    expect(new CannotAttachError("a", "file not found").message).toBe(
      "Cannot attach context: file not found",
    );
    expect(new CannotAttachError("a", "").message).toBe("Cannot attach context");
  });

  it("reads hostile text in a moment", () => {
    for (const text of [
      "[@".repeat(100_000),
      `[@${"[".repeat(100_000)}`,
      `[@${"[a".repeat(50_000)}${"]".repeat(50_000)}`,
      "[@a".repeat(50_000),
    ]) {
      expect(findPills(text)).toEqual([]);
    }
    expect(isName("a".repeat(2_000_000))).toBe(false);
    const many = "🙂[@a]".repeat(50_000);
    expect(
      PillDocument.recover(many, [{ name: "a", type: "file", start: many.length - 1 }]).pills[0]
        ?.start,
    ).toBe(many.length - 4);
  });
});
