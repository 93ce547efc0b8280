"""Pills in a real browser: what they name is sent, shown, and mended where it vanished."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polycontext.pills import FileResolver, SymbolResolver
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.testing import FAST
from tests.pills.trees import planted
from tests.server.browser.chromium import Tab
from tests.server.test_chats import serving

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # what is looked at is the page

MARK = "ZQXJ"
"""Stands in every file, and in nothing that a page may receive on the routes of chats."""

FILES = {
    "notes.txt": f"{MARK} notes\n",
    "src/agent.py": f"class Agent:\n    '''{MARK}'''\n\n    def run(self):\n        return 1\n",
    "src/other.py": f"ONE = '{MARK}'\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of files."""
    return planted(tmp_path / "root", FILES)


@pytest.fixture
def page(browser: Any, root: Path) -> Iterator[Tab]:
    """Return a page whose server knows the files."""
    resolvers = [FileResolver([root]), SymbolResolver([root])]
    options: dict[str, Any] = {"max_tokens": 50_000, "counter": FAST}
    with serving(InMemoryStore(), resolvers=resolvers, **options) as url:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        tab = Tab(context, url.removesuffix("/api"))
        tab.input.click()
        tab.page.locator(".cm-content").wait_for()
        yield tab
        context.close()
        assert tab.faults == []


def attach(tab: Tab, typed: str, name: str) -> None:
    """Type a prefix and choose its completion by keyboard."""
    tab.page.keyboard.type(f" {typed}")
    option = tab.page.get_by_role("option").filter(has_text=name).first
    option.wait_for()
    while "true" not in str(option.get_attribute("aria-selected")):
        tab.page.keyboard.press("ArrowDown")
    # An option that has just come is not taken by accident: the editor waits for a moment.
    tab.page.wait_for_timeout(100)
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("option").first.wait_for(state="detached")


def test_a_message_is_sent_with_what_its_pills_name(page: Tab) -> None:
    """A message is sent by keyboard alone, and no answer of a chat route holds file content."""
    page.page.keyboard.type("🙂 what of")
    attach(page, "@src/ag", "src/agent.py")
    with page.page.expect_response(lambda response: "/messages" in response.url) as answer:
        page.page.keyboard.press("Enter")
    page.says("what of @src/agent.py")
    told = answer.value.text()
    assert '"content":"[@src/agent.py]"' in told
    assert MARK not in told
    assert page.page.locator(".message-input [data-pill]").count() == 0


def test_a_pill_shows_its_source_and_what_vanished_is_mended(page: Tab, root: Path) -> None:
    """A click opens a pill's source, and a moved file is refused, then updated to its new place."""
    attach(page, "@other", "src/other.py")
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
    attach(page, "@notes", "notes.txt")
    attach(page, "@other", "src/other.py")
    (root / "src/other.py").unlink()
    page.button("src/other.py").click()
    page.page.get_by_role("status").filter(
        has_text="Cannot attach context: file not found"
    ).wait_for()
    page.button("notes.txt").click()
    page.page.get_by_role("region", name="Source of notes.txt").wait_for()
    page.input.focus()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type(" @s")
    page.page.get_by_role("option").first.wait_for()
    page.check("pills")
