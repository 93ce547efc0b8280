"""The budget of a reopened session, and stores given by path or URL."""

import logging
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession, project
from polycontext.base import InvalidOptionError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.testing import FAST
from polycontext.window import ToolCall
from polycontext.window.model_profiles import find_model
from tests.polynomial.conversations import texts


@pytest.fixture(params=["a path", "a text", "a URL", "a store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return where sessions are kept, in each form that `open` takes."""
    file = tmp_path / "s.db"
    return {
        "a path": file,
        "a text": str(file),
        "a URL": f"sqlite:///{file}",
        "a store": InMemoryStore(),
    }[request.param]


@pytest.mark.parametrize(
    "given", [{"max_tokens": 1_500}, {"model": 1_500}, {"max_tokens": 1_500, "reserve": 100}]
)
def test_a_session_is_opened_with_the_budget_that_it_had(place: Any, given: dict[str, Any]) -> None:
    """Unless another one is given, which is the next one's too."""
    with ContextSession.open(place, "s", counter=FAST, **given) as session:
        session.add_user_turn("Where is my parcel?")
    with ContextSession.open(place, "s", counter=FAST) as session:
        assert session.window.max_tokens == 1_500
        assert texts(session) == ["Where is my parcel?"]
    with ContextSession.open(place, "s", max_tokens=3_000, counter=FAST) as session:
        assert session.window.max_tokens == 3_000
        session.add_assistant_turn("On its way.")
    with ContextSession.open(place, "s", counter=FAST) as session:
        assert session.window.max_tokens == 3_000


def test_a_session_of_a_model_is_opened_with_that_model(place: Any) -> None:
    """With its window, its way to count, and the format of its provider."""
    with ContextSession.open(place, "s", "claude-sonnet-4-5") as session:
        session.add_user_turn("Where is my parcel?")
    with ContextSession.open(place, "s") as again:
        assert (again.window.max_tokens, again.usage.provider) == (
            session.window.max_tokens,
            session.usage.provider,
        )
        assert again.window.counter == find_model("claude-sonnet-4-5").counter()


def test_a_place_where_no_store_can_be_is_refused(tmp_path: Path) -> None:
    """Nothing stays open then: the next one has the file."""
    with pytest.raises(InvalidOptionError, match="oracle"):
        ContextSession(store="oracle://host/db")
    with pytest.raises(InvalidOptionError, match="listeners"):
        ContextSession(store=tmp_path / "s.db", listeners=5)  # type: ignore[arg-type]
    with ContextSession(store=tmp_path / "s.db") as session:
        session.add_user_turn("first")


def test_no_tools_may_be_said_as_none() -> None:
    """As gateways and SDKs hold them."""
    messages = [{"role": "user", "content": "Hello"}]
    assert project(messages, 1_000, tools=None) == project(messages, 1_000, tools=())
    session = ContextSession(1_000, tools=None, counter=FAST)
    session.add_user_turn("Hello")
    assert session.usage.tool_tokens == 0
    assert session.view(tools=None) == session.view()
    assert session.child("Look.", "child", tools=None).usage.tool_tokens == 0


def test_a_budget_without_room_for_a_summary_is_no_fault_of_the_summariser(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is rejected and nothing is logged where there is no room for a word."""
    session = ContextSession(96)
    with caplog.at_level(logging.WARNING):
        session.add_system("Be brief. Be brief. ")
        session.add_user_turn("task task task ")
        for number in range(8):
            session.add_assistant_turn(None, tool_calls=[ToolCall(f"c{number}", "look", "{}")])
            session.add_tool_turn("ok. ", tool_call_id=f"c{number}")
            output = session.add_user_turn(f"q {number} x ")
            assert output.compression is None or output.compression.rejections == ()
    assert caplog.messages == []
