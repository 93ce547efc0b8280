"""Take the screenshots of docs/page.md in Chromium: light, dark, pressured and narrow.

Usage: python -m tests.server.browser.pictures
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.house import ROOT
from tests.server.browser.chat_server import served
from tests.server.browser.chromium import Tab, chromium

FOLDER = ROOT / "docs" / "pictures"
MOST = 100_000
"""Bytes of a picture."""
WIDE, NARROW = {"width": 1100, "height": 700}, {"width": 360, "height": 700}
SAID = (
    "We keep a cellar: plums, pears and quinces. Never promise what is not on the shelves.",
    "What is in the cellar now? Make me a table of it, and a function that counts the bottles.",
    "And what is in the cellar after that?",
)


def main() -> int:
    """Write the pictures, and say how heavy they are."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        served(Path(folder) / "chats.db", "--max-tokens", "700", "--by-hand") as server,
    ):
        tab = _opened(browser, server.url, color_scheme="light", viewport=WIDE)
        for said in SAID[:2]:
            tab.send(said, "")
            tab.button("Answer again").wait_for()
        _taken(tab, "page")
        dark = _opened(
            browser, f"{server.url}/#/s/{tab.session}", color_scheme="dark", viewport=WIDE
        )
        dark.button("Answer again").wait_for()
        _taken(dark, "page-dark")
        while tab.page.locator('.gauge[data-phase="pressured"]').count() == 0:
            tab.send(SAID[2], "")
            tab.button("Answer again").wait_for()
        _taken(tab, "page-pressured")
        tab.choose("Compress")
        tab.page.get_by_text("Summarised for the model:").last.wait_for()
        narrow = _opened(
            browser, f"{server.url}/#/s/{tab.session}", color_scheme="light", viewport=NARROW
        )
        summary = narrow.page.get_by_text("Summarised for the model:").last
        narrow.button("Answer again").wait_for()
        narrow.messages.last.hover()
        for _ in range(60):
            if summary.count() and summary.bounding_box()["y"] > WIDE["height"] / 3:
                break
            narrow.page.mouse.wheel(0, -60)
            narrow.page.wait_for_timeout(50)
        _taken(narrow, "page-narrow")
    heavy = [path.name for path in sorted(FOLDER.glob("page*.png")) if path.stat().st_size > MOST]
    print(
        *(
            f"{path.stat().st_size:>8} bytes  {path.name}"
            for path in sorted(FOLDER.glob("page*.png"))
        ),
        sep="\n",
    )
    return 1 if heavy else 0


def _opened(browser: Any, url: str, **look: Any) -> Tab:
    return Tab(browser.new_context(reduced_motion="reduce", locale="en-GB", **look), url)


def _taken(tab: Tab, name: str) -> None:
    # The list of chats asks for their first words; nothing more comes when the network has been
    # still.
    tab.page.locator("nav li a").first.wait_for(state="attached")
    tab.page.wait_for_timeout(700)
    tab.page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
