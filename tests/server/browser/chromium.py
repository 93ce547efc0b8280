"""Debian's Chromium without a window, driven by Playwright, and the page in it."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
WAITS = 180_000
"""Milliseconds that a busy machine may need."""


@contextmanager
def chromium() -> Generator[Any]:
    """Run a browser while a block runs; skip the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=[*SWITCHES])
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """Hold a page in a browser, by what a user sees of it."""

    def __init__(self, context: Any, url: str) -> None:
        self.faults: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(WAITS)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(url)

    @property
    def input(self) -> Any:
        """Return where messages are written."""
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def meter(self) -> Any:
        """Return the gauge of the pressure."""
        return self.page.get_by_role("meter", name="Context used")

    @property
    def messages(self) -> Any:
        """Return the messages that can be seen."""
        return self.page.locator(".message")

    def button(self, name: str) -> Any:
        """Return a button by its name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def choose(self, name: str) -> None:
        """Choose something from the menu of the chat, once it can be chosen."""
        self.button("More for this chat").click()
        self.page.locator(
            f'[role="menuitem"]:not([aria-disabled="true"]):text-is("{name}")'
        ).click()

    def says(self, text: str) -> Any:
        """Wait for a message that holds a text, and return it."""
        found = self.messages.filter(has_text=text).last
        found.wait_for()
        return found

    def wait_for(self, selector: str, number: int) -> None:
        """Wait until so many elements are there."""
        self.page.wait_for_function(
            "([selector, number]) => document.querySelectorAll(selector).length === number",
            arg=[selector, number],
        )

    def send(self, text: str, answer: str | None = None) -> None:
        """Write a message, send it, and wait for the answer unless there is to be none."""
        self.input.fill(text)
        self.page.keyboard.press("Enter")
        if answer is not None:
            self.page.locator(
                f'.message[data-role="assistant"]:not([aria-busy]):has-text("{answer}")'
            ).last.wait_for()

    def check(self, what: str) -> None:
        """Check that axe finds no violation in what is shown."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.page).response["violations"]
        told = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]
        assert told == [], what

    @property
    def session(self) -> str:
        """Return the id of the chat that the address names."""
        self.page.wait_for_url("**/#/s/*")
        return str(self.page.url).rpartition("/")[2]
