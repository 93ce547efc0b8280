"""Measure in Chromium, without a GPU, how long a long chat takes to open and how it scrolls.

Usage: python -m tests.server.browser.speed [--turns N]

Exit code 1 says that it opened in more than 2 s, or that 5 % of the frames took more than 100 ms.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from polycontext.polynomial import ContextSession
from polycontext.server.chats import key_of
from tests.server.browser.chat_server import served
from tests.server.browser.chromium import Tab, chromium

MOST_OPENING, MOST_FRAME = 2.0, 100.0
"""Seconds, and milliseconds at the 95th percentile."""
SCREENS = 150
"""How far it is scrolled, a wheel's turn each."""

FRAMES = """
window.frames_ = []; let before = performance.now(); window.measuring = true;
const next = now => { window.frames_.push(now - before); before = now; \
if (window.measuring) requestAnimationFrame(next); };
requestAnimationFrame(next);
"""


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=100_000)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "chats.db"
        write(store, turns)
        with served(store) as server, chromium() as browser:
            cold, tab = opened(browser, f"{server.url}/#/s/long", turns)
            warm, tab = opened(browser, f"{server.url}/#/s/long", turns)
            frames, seen = scrolled(tab)
    worst = statistics.quantiles(frames, n=20)[-1]
    print(
        f"{turns:,} turns: opened in {cold:.2f} s where the server had not read it, {warm:.2f} s "
        "where it had"
    )
    print(
        (
            f"scrolled {SCREENS} turns of the wheel through {seen} messages: {len(frames)} "
            f"frames, median {statistics.median(frames):.0f} ms, "
        ),
        end="",
    )
    print(f"95 % within {worst:.0f} ms, longest {max(frames):.0f} ms")
    return 1 if cold > MOST_OPENING or worst > MOST_FRAME else 0


def write(store: Path, turns: int) -> None:
    """Write a session of many turns into a store."""
    words = [
        "plums",
        "pears",
        "quinces",
        "cider",
        "honey",
        "shelves",
        "bottles",
        "crates",
        "cellar",
        "stairs",
        "lantern",
        "ledger",
    ]
    with ContextSession.open(store, key_of("local", "long"), max_tokens=8000) as session:
        for numbers in _parts(range(turns), 2000):
            session.extend(
                [
                    {
                        "role": "user" if number % 2 == 0 else "assistant",
                        "content": f"line {number}: "
                        + " ".join(words[number % 7 :] * (1 + number % 4)),
                    }
                    for number in numbers
                ]
            )


def opened(browser: Any, url: str, turns: int) -> tuple[float, Tab]:
    """Return how many seconds passed until the newest words could be read."""
    begun = perf_counter()
    tab = Tab(browser.new_context(viewport={"width": 1200, "height": 800}), url)
    tab.says(f"line {turns - 1}:")
    return perf_counter() - begun, tab


def scrolled(tab: Tab) -> tuple[list[float], int]:
    """Return the milliseconds of each frame while scrolling up, and the number of messages seen."""
    seen: set[str] = set()
    tab.page.locator(".conversation").hover()
    tab.page.evaluate(FRAMES)
    for _ in range(SCREENS):
        tab.page.mouse.wheel(0, -600)
        tab.page.wait_for_timeout(30)
        seen |= set(
            tab.page.evaluate(
                "[...document.querySelectorAll('.message .markdown')].map(each => "
                "each.textContent.split(':')[0])"
            )
        )
    return tab.page.evaluate("(() => { window.measuring = false; return window.frames_ })()"), len(
        seen
    )


def _parts(numbers: range, size: int) -> Any:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


if __name__ == "__main__":
    sys.exit(main())
