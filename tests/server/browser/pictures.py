"""Take the screenshots of docs/page.md in Chromium: light and dark, wide and narrow.

Usage: python -m tests.server.browser.pictures
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from polycontext.polynomial import ContextSession
from polycontext.server.chat import ABOUT, About
from polycontext.server.chats import key_of
from polycontext.window import ToolCall
from tests.house import ROOT
from tests.server.browser.chat_server import SHOWN, served
from tests.server.browser.chromium import Tab, chromium

FOLDER = ROOT / "docs" / "pictures"
MOST = 170_000
"""Bytes of a picture."""
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 720}
BUDGET = 1100
ASKED = "What is in the cellar now? Make me a table of it, and a function that counts the bottles."
OTHERS = ("Which cider goes with the cheese?", "A label for the quince jelly", "Order new corks")


def main() -> int:
    """Write the pictures, and say how heavy they are."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        store = Path(folder) / "chats.db"
        fill(store)
        with served(store, "--max-tokens", str(BUDGET)) as server:
            url = f"{server.url}/#/s/cellar"
            _taken(_opened(browser, url, "light"), "page")
            tab = _opened(browser, url, "dark")
            tab.page.get_by_role("searchbox", name="Search the log").fill("What is on shelf 9")
            found = tab.page.get_by_role("list", name="Messages found").get_by_role("button")
            found.filter(has_text="You").filter(has_text="summar").first.click()
            tab.page.get_by_role("heading", name="What replaced it").wait_for()
            _taken(tab, "page-message")
            tab = _opened(browser, url, "light")
            tab.page.get_by_role("slider").fill("30")
            tab.page.get_by_text("What the model saw at step 30").first.wait_for()
            _taken(tab, "page-past")
            tab = _opened(browser, url, "light", NARROW)
            tab.button("Context").click()
            tab.page.get_by_role("slider").wait_for()
            _taken(tab, "page-narrow")
    sizes = {path.name: path.stat().st_size for path in sorted(FOLDER.glob("page*.png"))}
    print(*(f"{size:>8} bytes  {name}" for name, size in sizes.items()), sep="\n")
    return 1 if max(sizes.values()) > MOST else 0


def fill(store: Path) -> None:
    """Keep a long chat that was compressed, with calls of a tool, and a few short ones."""
    for number, title in enumerate(OTHERS):
        with _chat(store, f"o{number}") as other:
            other.add_user_turn(title)
            other.add_assistant_turn("Let me see what the cellar has. " * (9 * number + 6))
    with _chat(store, "cellar") as session:
        session.add_system("You keep the cellar of a small inn. Name the shelf in each answer.")
        session.add_user_turn("Stock of the cellar: let us go through it, shelf by shelf.")
        session.add_assistant_turn("Gladly. Which shelf is first?")
        session.add_user_turn("We keep the medlars on shelf 40, because they must not touch pears.")
        session.add_assistant_turn("Noted: medlars on shelf 40, away from the pears.")
        session.add_user_turn("Never promise a guest what is not on the shelves.")
        session.add_assistant_turn("I will not.")
        for shelf in range(1, 15):
            session.add_user_turn(f"What is on shelf {shelf}, and is any of it from last year?")
            call = ToolCall(f"c{shelf}", "find_stock", json.dumps({"shelf": shelf}))
            session.add_assistant_turn("", tool_calls=[call])
            told = json.dumps({"jars": shelf * 3, "bottles": shelf})
            session.add_tool_turn(told, tool_call_id=call.id)
            session.add_assistant_turn(
                f"Shelf {shelf} holds {shelf * 3} jars of pears and {shelf} bottles of cider. "
                f"The cider is of this autumn; {shelf} of the jars are from last year."
            )
        session.add_user_turn(ASKED)
        session.add_assistant_turn(SHOWN)


def _chat(store: Path, name: str) -> ContextSession:
    session = ContextSession.open(store, key_of("local", name), max_tokens=BUDGET)
    session.documents.accompany(ABOUT, About.of(session))
    return session


def _opened(browser: Any, url: str, scheme: str, viewport: dict[str, int] = WIDE) -> Tab:
    look: dict[str, Any] = {"color_scheme": scheme, "viewport": viewport}
    context = browser.new_context(reduced_motion="reduce", locale="en-GB", **look)
    tab = Tab(context, url)
    tab.button("Answer again").wait_for()
    return tab


def _taken(tab: Tab, name: str) -> None:
    # What comes last is asked for a moment after the rest.
    tab.page.wait_for_timeout(1_500)
    tab.page.screenshot(path=FOLDER / f"{name}.png")
    tab.page.context.close()


if __name__ == "__main__":
    sys.exit(main())
