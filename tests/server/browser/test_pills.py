"""Pills in a real browser, by keyboard and mouse, compared with the Python document."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polycontext.pills import FileResolver, PillDocument, SymbolResolver
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.testing import FAST
from tests.house import sizes
from tests.pills.trees import planted
from tests.server.browser.chromium import Tab, chromium
from tests.server.test_chats import serving

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # what is looked at is the page

MARK = "ZQXJ"
"""Stands in every file, and in nothing that a page may receive on the routes of chats."""

FILES = {
    "notes.txt": f"{MARK} notes\n",
    "src/agent.py": f"class Agent:\n    '''{MARK}'''\n\n    def run(self):\n        return 1\n",
    "src/other.py": f"ONE = '{MARK}'\n",
    "app/[id]/page.tsx": f"// {MARK}\n",
    "café/日本📎.txt": f"{MARK}\n",
}
TYPED = ("a", "b c", " ", "é", "日本", "🙂", "[", "]", "[@notes.txt]", "@", "x@y ", ".")

SEEN = """() => {
  const lines = [...document.querySelectorAll(".message-input .cm-line")];
  const text = (node) => node.dataset?.pill !== undefined ? `[@${node.dataset.pill}]`
    : node.classList?.contains("cm-placeholder") ? ""
    : node.nodeType === Node.TEXT_NODE ? node.data : [...node.childNodes].map(text).join("");
  const pills = [...document.querySelectorAll(".message-input [data-pill]")];
  return {
    text: lines.map(text).join("\\n"),
    pills: pills.map((pill) => [pill.dataset.pill, pill.getAttribute("role"), \
pill.getAttribute("aria-label")]),
    listed: [...document.querySelectorAll('ul[aria-label="Attached context"] li > \
button:first-child')].map((each) => each.textContent),
  };
}"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of files."""
    return planted(tmp_path / "root", FILES)


@pytest.fixture
def page(root: Path) -> Iterator[Tab]:
    """Return a page whose server knows the files."""
    with (
        chromium() as browser,
        serving(
            InMemoryStore(),
            resolvers=[FileResolver([root]), SymbolResolver([root])],
            max_tokens=50_000,
            counter=FAST,
        ) as url,
    ):
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        tab = Tab(context, url.removesuffix("/api"))
        tab.input.click()
        tab.page.locator(".cm-content").wait_for()
        yield tab
        assert tab.faults == []


class Writer:
    """Edit the page and the Python document alike; `at` and `anchor` are the selection."""

    def __init__(self, tab: Tab) -> None:
        self.tab, self.keyboard = tab, tab.page.keyboard
        self.document = PillDocument()
        self.at = self.anchor = 0

    @property
    def selected(self) -> tuple[int, int]:
        """Return where the selection begins and ends."""
        return min(self.at, self.anchor), max(self.at, self.anchor)

    def move(self, step: int, *, selecting: bool = False) -> None:
        """Go one to the left or right: over a pill as a whole."""
        shift = "Shift+" if selecting else ""
        self.keyboard.press(f"{shift}Arrow{'Left' if step < 0 else 'Right'}")
        first, last = self.selected
        if not selecting and first != last:
            self.at = self.anchor = first if step < 0 else last
            return
        if 0 <= self.at + step <= len(self.document.text):
            pill = (
                self.document.pill_at(self.at + min(step, 0))
                if self.at + min(step, 0) < len(self.document.text)
                else None
            )
            self.at = self.at + step if pill is None else pill.start if step < 0 else pill.end
        if not selecting:
            self.anchor = self.at

    def end(self) -> None:
        """Go behind everything."""
        self.keyboard.press("Control+End")
        self.at = self.anchor = len(self.document.text)

    def type(self, text: str) -> None:
        """Type, in the place of what is selected."""
        self.keyboard.type(text)
        # A list of names may have opened; what is typed next is not meant for it.
        self.keyboard.press("Escape")
        self._delete(*self.selected)
        self.document = self.document.insert_text(self.at, text)
        self.at = self.anchor = self.at + len(text)

    def line(self) -> None:
        """Begin a line."""
        self.keyboard.press("Shift+Enter")
        self._delete(*self.selected)
        self.document = self.document.insert_text(self.at, "\n")
        self.at = self.anchor = self.at + 1

    def erase(self, key: str) -> None:
        """Press Backspace or Delete."""
        self.keyboard.press(key)
        first, last = self.selected
        if first == last:
            first, last = (
                (max(self.at - 1, 0), self.at)
                if key == "Backspace"
                else (self.at, min(self.at + 1, len(self.document.text)))
            )
        self._delete(first, last)

    def attach(self, typed: str, name: str, *, by_mouse: bool) -> None:
        """Type a prefix and choose its completion; an attached name leaves the typed text."""
        self.type(" ")
        self.keyboard.type(typed)
        option = self.tab.page.get_by_role("option").filter(has_text=name).first
        option.wait_for()
        if by_mouse:
            option.click()
        else:
            while "true" not in str(option.get_attribute("aria-selected")):
                self.keyboard.press("ArrowDown")
            # An option that has just come is not taken by accident: the editor waits for a moment.
            self.tab.page.wait_for_timeout(100)
            self.keyboard.press("Enter")
        kind = "symbol" if "/" not in name and name.endswith(("run", "ONE", "Agent")) else "file"
        if name in self.document.context:
            self.tab.page.get_by_role("status").filter(
                has_text="Context already attached"
            ).wait_for()
            self.keyboard.press("Escape")
            self.document = self.document.insert_text(self.at, typed)
            self.at = self.anchor = self.at + len(typed)
        else:
            self.tab.page.get_by_role("option").first.wait_for(state="detached")
            self.document = self.document.insert_pill(name, self.at, kind)
            self.at = self.anchor = self.at + len(name) + 3

    def copy(self, *, cut: bool) -> None:
        """Copy or cut what is selected, and paste it at the end."""
        first, last = self.selected
        copied = self.document.delete_range(last, len(self.document.text)).delete_range(0, first)
        self.keyboard.press("Control+X" if cut else "Control+C")
        if cut:
            self._delete(first, last)
        self.end()
        self.keyboard.press("Control+V")
        self.document = self.document.insert_document(self.at, copied)
        self.at = self.anchor = self.at + len(copied.text)

    def remove(self, name: str) -> None:
        """Take a pill away by its button in the list."""
        self.tab.button(f"Remove {name}").click()
        self.document = self.document.remove_pill(name)
        self.end()

    def undo_and_redo(self, times: int) -> None:
        """Go back, with text and list in step on the way, and forward again to where all stood."""
        for key in ("Control+z", "Control+y"):
            for _ in range(times):
                self.keyboard.press(key)
                self.check_step()
        self.end()

    def check_step(self) -> dict[str, Any]:
        """Check that every pill says its name, and that the list matches the text."""
        seen: dict[str, Any] = self.tab.page.evaluate(SEEN)
        names = [name for name, _, _ in seen["pills"]]
        assert seen["listed"] == names
        assert len(set(names)) == len(names)
        for name, role, label in seen["pills"]:
            assert (role, label.startswith(f"{name}, attached ")) == ("button", True)
            assert f"[@{name}]" in seen["text"]
        return seen

    def check(self) -> None:
        """Compare what is seen with Python's document."""
        seen = self.check_step()
        assert seen["text"] == self.document.text
        assert [(name, label) for name, _, label in seen["pills"]] == [
            (pill.name, f"{pill.name}, attached {pill.type}") for pill in self.document.pills
        ]

    def _delete(self, first: int, last: int) -> None:
        touched = [
            pill for pill in self.document.pills if max(pill.start, first) < min(pill.end, last)
        ]
        self.document = self.document.delete_range(first, last)
        self.at = self.anchor = min([first, *(pill.start for pill in touched)])


def edit(draw: random.Random, writer: Writer) -> str:
    """Do one random edit, and tell which."""
    if len(writer.document.text) > 150:
        writer.keyboard.press("Control+a")
        writer.at, writer.anchor = len(writer.document.text), 0
        writer.erase("Delete")
        return "all"
    names = writer.document.context
    acts: dict[str, tuple[int, Callable[[], None]]] = {
        "type": (6, lambda: writer.type(draw.choice(TYPED))),
        "line": (1, writer.line),
        "move": (6, lambda: writer.move(draw.choice((-1, 1)))),
        "select": (5, lambda: writer.move(draw.choice((-1, 1)), selecting=True)),
        "backspace": (4, lambda: writer.erase("Backspace")),
        "delete": (3, lambda: writer.erase("Delete")),
        "end": (1, writer.end),
        "attach": (
            4,
            lambda: writer.attach(*draw.choice(OFFERED), by_mouse=bool(draw.randrange(2))),
        ),
        "undo": (1, lambda: writer.undo_and_redo(draw.randint(1, 4))),
    }
    if writer.at != writer.anchor:
        acts["copy"] = (4, lambda: writer.copy(cut=bool(draw.randrange(2))))
    if names:
        acts["remove"] = (1, lambda: writer.remove(draw.choice(names)))
    kind = draw.choices([*acts], [weight for weight, _ in acts.values()])[0]
    acts[kind][1]()
    return kind


OFFERED = (
    ("@notes", "notes.txt"),
    ("@src/ag", "src/agent.py"),
    ("@other", "src/other.py"),
    ("@page", "app/[id]/page.tsx"),
    ("@caf", "café/日本📎.txt"),
    ("@Agent.run", "src.agent.Agent.run"),
)


@pytest.mark.parametrize("edits", sizes(60, 500))
def test_random_edits_leave_what_python_says(page: Tab, edits: int) -> None:
    """After each random edit, the four invariants hold and the page matches the Python document."""
    draw, writer = random.Random(19), Writer(page)  # noqa: S311 - no secret
    done: list[str] = []
    for _ in range(edits):
        done.append(edit(draw, writer))
        try:
            writer.check()
        except AssertionError as error:
            raise AssertionError(f"after {done[-6:]}, edit {len(done)}: {error}") from error
    assert {"type", "attach", "copy", "remove", "undo", "backspace", "delete"} <= set(done)


def test_a_message_is_sent_with_what_its_pills_name(page: Tab) -> None:
    """A message is sent by keyboard alone, and no answer of a chat route holds file content."""
    writer = Writer(page)
    writer.type("🙂 what of")
    writer.attach("@src/ag", "src/agent.py", by_mouse=False)
    with page.page.expect_response(lambda response: "/messages" in response.url) as answer:
        page.page.keyboard.press("Enter")
    page.says("what of @src/agent.py")
    told = answer.value.text()
    assert '"content":"[@src/agent.py]"' in told
    assert MARK not in told
    assert writer.tab.page.evaluate(SEEN)["text"] == ""


def test_a_pill_shows_its_source_and_what_vanished_is_mended(page: Tab, root: Path) -> None:
    """A click opens a pill's source, and a moved file is refused, then updated to its new place."""
    writer = Writer(page)
    writer.attach("@other", "src/other.py", by_mouse=True)
    page.page.get_by_role("textbox", name="Message").get_by_role(
        "button", name="src/other.py, attached file"
    ).click()
    source = page.page.get_by_role("region", name="Source of src/other.py")
    source.get_by_text(MARK).wait_for()
    page.page.keyboard.press("Escape")
    source.wait_for(state="detached")
    (root / "moved").mkdir()
    (root / "src/other.py").rename(root / "moved/other.py")
    page.input.focus()
    page.page.keyboard.press("Enter")
    page.page.get_by_role("alert").filter(
        has_text="[@src/other.py]: Cannot attach context: file not found"
    ).wait_for()
    page.page.get_by_role(
        "button", name="src/other.py, attached file: Cannot attach context: file not found"
    ).wait_for()
    # Names are looked for anew after a while.
    place = page.page.get_by_role("button", name="moved/other.py", exact=True)
    for _ in range(100):
        page.button("Update src/other.py").click()
        try:
            place.wait_for(timeout=2_000)
        except Exception:  # noqa: BLE001, S112 - playwright's own, which may not be installed
            continue
        break
    place.click()
    page.page.get_by_role("button", name="moved/other.py, attached file", exact=True).wait_for()
    page.input.focus()
    page.page.keyboard.press("Enter")
    page.says("moved/other.py")


def test_axe_finds_nothing_wrong_with_pills(page: Tab, root: Path) -> None:
    """Axe reports no violation for valid and missing pills, an open source and completions."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    writer = Writer(page)
    writer.attach("@notes", "notes.txt", by_mouse=False)
    writer.attach("@other", "src/other.py", by_mouse=False)
    (root / "src/other.py").unlink()
    page.button("src/other.py").click()
    page.page.get_by_role("status").filter(
        has_text="Cannot attach context: file not found"
    ).wait_for()
    page.button("notes.txt").click()
    page.page.get_by_role("region", name="Source of notes.txt").wait_for()
    page.input.focus()
    writer.end()
    page.page.keyboard.type(" @s")
    page.page.get_by_role("option").first.wait_for()
    found = axe.run(page.page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
