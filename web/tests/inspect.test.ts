import { expect, test } from "vitest";
import { groupsOf } from "../src/app/Chats";
import { withFormulas } from "../src/chat/formulas";
import { attachmentOf } from "../src/chat/pillText";
import { departureOf, type Moment, type Receipt, type Turn, viewAt } from "../src/inspect/data";
import { fileOf } from "../src/inspect/TurnLink";
import { cellsOf } from "../src/inspect/Window";
import { around, seenAs, speakerOf } from "../src/inspect/words";

function moment(kind: string, came: string, places: number[] = [], went = ""): Moment {
  const ids = (text: string) => text.split(" ").filter(Boolean);
  return {
    kind,
    at: null,
    state: "",
    maxTokens: 100,
    tokens: [0, 0, 0, 0],
    came: ids(came),
    went: ids(went),
    places,
  };
}

const TIMELINE = [
  moment("", ""),
  moment("system", "t1", [0]),
  moment("user_turn", "t2", [1]),
  moment("user_turn", "t3", [2]),
  moment("compress", "g4", [1], "t2"),
  moment("clear", "", [], "g4 t3"),
  moment("recall", "t2", [0]),
];
const RECEIPT = {
  revision: 4,
  atoms: [{ turns: ["t2"], why: "older" }],
  summariser: { name: "extractive" },
} as Receipt;

test("the view at a turn is what the machine had then, in its order", () => {
  expect(viewAt(TIMELINE, 3)).toEqual(["t1", "t2", "t3"]);
  expect(viewAt(TIMELINE, 4)).toEqual(["t1", "g4", "t3"]);
  expect(viewAt(TIMELINE, 6)).toEqual(["t2", "t1"]);
});

test("a report says what took a message out of the window from its timeline and receipts", () => {
  expect(departureOf("t2", TIMELINE, [RECEIPT])).toEqual({
    left: "compress",
    since: 4,
    leftAt: null,
    leftBy: "extractive",
    leftWhy: "older",
  });
  expect(departureOf("t1", TIMELINE, [RECEIPT]).since).toBe(null);
});

test("the cells of a window show each class, and where compression begins", () => {
  const cells = cellsOf({
    tokens: 50,
    maxTokens: 100,
    pressuredAbove: 80,
    free: 50,
    reserve: 0,
    tools: 0,
    classes: { system: 10, pinned: 0, summarised: 0.1, verbatim: 40 },
  });
  const count = (kind: string) => cells.filter((cell) => cell === kind).length;
  expect(["system", "pinned", "summarised", "verbatim", "free", "over"].map(count)).toEqual([
    20, 0, 1, 80, 59, 40,
  ]);
});

test("formulas stand between double dollars; prices and code stay as they are", () => {
  expect(withFormulas("It is $x^2$ or \\(y\\).")).toBe("It is $$x^2$$ or $$y$$.");
  for (const text of ["It costs $5 and $6.", "`$PATH$`", "```sh\necho $A$\n```", "US$5 to US$6"])
    expect(withFormulas(text)).toBe(text);
});

test("a message that only attaches something is known by its name", () => {
  expect(attachmentOf("[@src/a.py]")).toBe("src/a.py");
  expect(attachmentOf("see [@src/a.py]")).toBe(null);
  expect(attachmentOf("[@a] [@b]")).toBe(null);
});

test("chats are grouped by date; sessions of other programs stand apart", () => {
  const now = new Date(2026, 4, 20, 12);
  const at = (days: number) => new Date(2026, 4, 20 - days, 9).toISOString();
  const chat = (id: string, when: string | null, readOnly = false) => ({
    id,
    title: id,
    at: when,
    pressure: null,
    model: null,
    readOnly,
  });
  const chats = [
    chat("a", at(0)),
    chat("b", at(1)),
    chat("c", at(4)),
    chat("d", at(40)),
    chat("e", null, true),
  ];
  expect(groupsOf(chats, now).map(([name, group]) => [name, group[0]?.id])).toEqual([
    ["Today", "a"],
    ["Yesterday", "b"],
    ["Last 7 days", "c"],
    ["April", "d"],
    ["Other programs", "e"],
  ]);
});

test("a summarised message is seen as far as the summary quotes it", () => {
  const lines = [
    { text: "We keep medlars on shelf 40.", sources: ["t3"] },
    { text: "Cider is cold.", sources: ["t5"] },
  ];
  const summaries = [{ id: "g9", tokens: 9, sources: ["t3", "t5"], lines }];
  const turn = { id: "t3", fate: "summarised", gist: "g9" } as Turn;
  expect(seenAs(turn, summaries, "Medlars, shelf 40")).toBe("Seen in the summary");
  expect(seenAs(turn, summaries, "We keep medlars and cider.")).toBe("Partly in the summary");
  expect(seenAs(turn, summaries, "cold")).toBe("Not seen: summarised");
  expect(seenAs({ ...turn, fate: "dropped" }, summaries, "medlars")).toBe("Dropped");
  expect(speakerOf({ role: "user", tool: null, kind: "summarised" })).toBe("Summary");
});

test("a line of a search begins near the first word that was found", () => {
  const text = "It was a long summer, and the medlars came late.";
  expect(around(text, "MEDLARS late")).toBe("…and the medlars came late.");
  expect(around(text, "it was")).toBe(text);
  expect(around(text, "plums")).toBe(text);
});

test("a file is shown by its name and text, whatever fences stand in it", () => {
  const text = "### File\n#### notes.txt\n````text\na\n```\nb\n```\n````";
  expect(fileOf(text)).toEqual({ name: "notes.txt", text: "a\n```\nb\n```" });
  expect(fileOf("### File\nnothing")).toBe(null);
});
