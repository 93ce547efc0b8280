"""The breakdown of the window: its total, its parts and its drawing."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from polycontext import ContextSession, Turn
from polycontext.cli.session.page import filled, weighed
from polycontext.nodes.waffles import cells, waffle
from polycontext.polynomial import ContextState
from polycontext.pressure import Fidelity
from polycontext.testing import FAST
from polycontext.window import ContextItem, Part, Role, ToolCall, count_tools
from tests.cli.command import EXAMPLE, Command
from tests.house import ROOT, examples
from tests.laws.internal.readers import a_waffle_is_what_the_guard_weighs

TOOLS = [
    {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
    }
]


def lived(**options: Any) -> ContextSession:
    """Return a session with thoughts, calls, attachments, gists and a recalled turn."""
    session = ContextSession(max_tokens=1_500, counter=FAST, **options)
    session.add_system("Answer in German.")
    session.add_user_turn("Where is my parcel?")
    for number in range(6):
        thought = Part(
            "anthropic",
            json.dumps({"type": "thinking", "thinking": f"so {number} " * 20, "signature": "c2ln"}),
        )
        session.add(
            Turn(
                Role.ASSISTANT,
                f"I look, {number}.",
                tool_calls=[ToolCall(f"c{number}", "look")],
                parts=(thought,),
            )
        )
        session.add_tool_turn(
            f"Warehouse {number}: " + "boxes and barrels, " * 10, tool_call_id=f"c{number}"
        )
    session.attach(ContextItem("def run():\n    return 1\n", "file", {"filename": "agent.py"}))
    session.compress(0.3)
    gone = next(
        turn
        for turn in session.log()
        if turn not in session.window.all_turns() and turn.role is Role.ASSISTANT
    )
    session.recall(gone.resource_id)
    return session


def is_pressured(session: ContextSession) -> bool:
    """Tell what the machine says."""
    return session.state is ContextState.PRESSURED


def drawn(session: ContextSession, width: int = 100, **options: Any) -> str:
    """Return the waffle as it is printed on paper of a width."""
    paper = StringIO()
    Console(width=width, file=paper, highlight=False, **options).print(
        filled(waffle(session), width)
    )
    return paper.getvalue()


def test_the_number_is_the_sum_of_its_parts_and_the_guards() -> None:
    """The number is the sum of its parts, with reply and tools subtracted once."""
    session = lived(reserve=100, tools=TOOLS)
    found = waffle(session)
    a_waffle_is_what_the_guard_weighs(session)
    assert any(portion.fidelity is Fidelity.GIST for portion in found.portions)
    assert {portion.role for portion in found.portions} == set(Role)
    assert found.reserve == 100
    assert found.tools == count_tools(FAST, TOOLS) > 0
    assert found.total == 1_500
    assert found.max_tokens == session.window.max_tokens == 1_500 - 100 - found.tools


def test_a_window_over_its_budget_has_no_room_and_says_so() -> None:
    """Its parts are all shown; nothing is free."""
    session = ContextSession(max_tokens=60, auto=False, counter=FAST)
    session.add_user_turn("task")
    session.add_assistant_turn("far too much " * 30)
    found = waffle(session)
    assert found.used > found.max_tokens
    assert (found.free, found.total, found.is_pressured) == (0, found.used, True)
    assert weighed(found).style == "yellow"


@given(
    tokens=st.lists(st.integers(0, 100_000), min_size=1, max_size=20), count=st.integers(100, 400)
)
def test_cells_are_shared_out_whole(tokens: list[int], count: int) -> None:
    """All are given, and whatever there is any of has one."""
    places = cells(tokens, count)
    assert sum(places) == count
    assert all(place > 0 for place, each in zip(places, tokens, strict=True) if each)


# --- drawn ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [100, 40, 21, 8, 1])
def test_it_is_drawn_on_any_paper(width: int) -> None:
    """No line is wider than the paper, every part is told, and the number stands below."""
    text = drawn(lived(reserve=100, tools=TOOLS), width)
    assert max(map(len, text.splitlines())) <= max(width, 2)
    told = "".join(text.split())
    for word in (
        "system·",
        "user·",
        "assistant·",
        "tool·",
        "shortened",
        "keptfreeforthereply",
        "definitionsoftools",
        "compressesabove",
    ):
        assert word in told


def test_the_page_shows_what_is_printed(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waffle of docs/terminal.md is that of the example, as the page says it."""
    monkeypatch.setenv("COLUMNS", "100")
    ((_, shown),) = examples((ROOT / "docs" / "terminal.md").read_text(encoding="utf-8"), "text")
    where = ("trip", "--store", tmp_path / "chat.db")
    polycontext("session", "new", *where, "--max-tokens", 900, "--reserve", 100)
    polycontext("session", "append", *where, "--from", EXAMPLE)
    printed = polycontext("session", "show", *where).out
    assert shown in "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
