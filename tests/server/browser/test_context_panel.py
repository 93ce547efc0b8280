"""The context panel answers what the model sees, why, and what it costs, in a real browser."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.cli.app import main
from polycontext.polynomial import ContextSession
from polycontext.server.chats import key_of
from polycontext.window import ToolCall
from tests.server.browser.chat_server import served
from tests.server.browser.chromium import Tab

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # the server is in another process

WIDE = {"width": 1280, "height": 800}
FACT = "medlars"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of the test's own with a chat, and an agent's session of another program."""
    path = tmp_path / "chats.db"
    for key in (key_of("local", "chat"), "agent"):
        with ContextSession.open(path, key, max_tokens=900) as session:
            session.add_system("You keep the cellar. Name the shelf.")
            session.add_user_turn("Let us go through the cellar.")
            session.add_assistant_turn("Gladly.")
            session.add_user_turn(f"We keep {FACT} on shelf 40.")
            session.add_assistant_turn("Noted.")
            for number in range(12):
                session.add_user_turn(f"What is on shelf {number}? " + "plums and pears, " * 6)
                call = ToolCall(f"c{number}", "find_stock", json.dumps({"shelf": number}))
                session.add_assistant_turn("", tool_calls=[call])
                session.add_tool_turn(f"{number} bottles", tool_call_id=call.id)
                session.add_assistant_turn(f"Shelf {number} holds {number} bottles.")
    return path


def name_of(url: str, *, own: bool) -> str:
    """Return the id of the user's chat, or of the other program's session."""
    chats = httpx.get(f"{url}/api/sessions", timeout=300).json()["chats"]
    return str(next(chat["id"] for chat in chats if chat["readOnly"] is not own))


def answers(tab: Tab) -> None:
    """Ask the panel everything that can be asked without changing the session."""
    panel = tab.page.get_by_role("complementary", name="Context")
    panel.get_by_role("slider", name="What the model saw at step").wait_for()
    assert panel.get_by_role("heading", name="Cost").is_visible()
    panel.get_by_role("searchbox", name="Search the log").fill(FACT)  # is it still seen?
    found = panel.get_by_role("list", name="Messages found").get_by_role("button").first
    found.filter(has_text=re.compile("summar|Dropped")).wait_for()
    found.click()  # what replaced it, and why?
    message = tab.page.get_by_role("dialog")
    message.get_by_role("heading", name="What replaced it").wait_for()
    assert message.locator("dl dd").count() > 0
    assert FACT in message.get_by_role("region", name="Text of the message").inner_text()
    message.get_by_role("button", name="Close").click()
    slider = panel.get_by_role("slider", name="What the model saw at step")
    slider.fill("5")  # what did the model see at turn 5?
    tab.page.get_by_text("What the model saw at step 5 of").wait_for()
    tab.messages.filter(has_text=FACT).wait_for()
    panel.get_by_text("since the step before").click()
    panel.get_by_role("list", name="Difference to the step before").get_by_role(
        "button"
    ).first.wait_for()
    tab.button("Back to now").click()


def test_the_panel_of_a_chat_answers_and_brings_back(browser: Any, store: Path) -> None:
    """A lost fact is found, explained and brought back; a compression is undone."""
    with served(store, "--max-tokens", "900") as server:
        name = name_of(server.url, own=True)
        tab = Tab(browser.new_context(viewport=WIDE), f"{server.url}/#/s/{name}")
        answers(tab)
        tab.page.get_by_role("searchbox", name="Search the log").fill(FACT)
        found = tab.page.get_by_role("list", name="Messages found").get_by_role("button").first
        found.click()
        tab.button("Bring back").click()
        found.get_by_text("Seen verbatim").wait_for()
        assert tab.faults == []


def test_an_agents_session_is_read_and_continued_as_a_branch(browser: Any, store: Path) -> None:
    """A session of another program is read-only, shows its tools, and can be branched."""
    with served(store, "--max-tokens", "900") as server:
        name = name_of(server.url, own=False)
        tab = Tab(browser.new_context(viewport=WIDE), f"{server.url}/#/s/{name}")
        answers(tab)
        tool = tab.page.locator(".tool").last
        assert "find_stock" in tool.inner_text()
        assert "done" in tool.inner_text()
        assert tab.input.count() == 0
        tab.button("Continue as a branch").click()
        tab.send("plums", "So you say: plums")
        assert tab.faults == []


def test_a_report_answers_without_a_server(browser: Any, store: Path, tmp_path: Path) -> None:
    """The same panel answers from the data in the file, and asks the network for nothing."""
    report = tmp_path / "report.html"
    said = ["inspect", key_of("local", "chat"), "--store", str(store), "-o", str(report)]
    assert main(said) == 0
    context = browser.new_context(viewport=WIDE)
    asked_for: list[str] = []
    context.on("request", lambda request: asked_for.append(request.url))
    tab = Tab(context, report.as_uri())
    answers(tab)
    assert tab.button("Bring back").count() == 0
    assert not [url for url in asked_for if url.startswith("http")]
    assert tab.faults == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing_in_the_panel(browser: Any, store: Path, scheme: str, width: int) -> None:
    """The panel, a message of it and a past turn are accessible, wide and narrow."""
    with served(store, "--max-tokens", "900") as server:
        look: dict[str, Any] = {"color_scheme": scheme, "reduced_motion": "reduce"}
        context = browser.new_context(viewport={"width": width, "height": 800}, **look)
        tab = Tab(context, f"{server.url}/#/s/{name_of(server.url, own=True)}")
        tab.messages.last.wait_for()
        if width == 360:
            tab.check("chat")
            tab.button("Context").click()
        tab.page.get_by_role("slider").wait_for()
        tab.check("panel")
        tab.page.get_by_role("searchbox", name="Search the log").fill(FACT)
        tab.page.get_by_role("list", name="Messages found").get_by_role("button").first.click()
        tab.page.get_by_role("heading", name="What replaced it").wait_for()
        tab.check("message")
        tab.button("Close").click()
        tab.page.get_by_role("slider").fill("5")
        tab.page.get_by_text("What the model saw at step 5 of").first.wait_for()
        tab.check("past")
        tab.button("Hide context").click()
        tab.messages.filter(has_text=FACT).wait_for()  # what the model saw stays
        tab.check("conversation of the past")
