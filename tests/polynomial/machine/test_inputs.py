"""Inputs and outputs: what fits which direction, and tool calls as providers write them."""

from typing import Any

import pytest

from polycontext.base import CallerError, InvalidOptionError
from polycontext.polynomial import ContextInput, ContextOutput, ContextState, InputKind
from polycontext.polynomial.session.commands import as_tool_call
from polycontext.window import (
    ContextWindow,
    InvalidTurnError,
    ToolCall,
    Turn,
)
from tests.polynomial.conversations import WORDS

TURN_KINDS = [InputKind.USER_TURN, InputKind.ASSISTANT_TURN, InputKind.SYSTEM]


@pytest.mark.parametrize("kind", TURN_KINDS)
def test_turn_kinds_take_text_or_a_turn_of_their_role(kind: InputKind) -> None:
    """Text becomes a turn of the kind's role; a turn of that role is taken as it is."""
    role = kind.removesuffix("_turn")
    assert ContextInput(kind, "hello").turn == Turn(role, "hello")
    turn = Turn(role, "hello", name="ann")
    assert ContextInput(kind, turn).turn is turn
    assert ContextInput.of_turn(turn).kind is kind


MISFITS: list[tuple[str, Any]] = [
    ("user_turn", None),
    ("user_turn", 5),
    ("user_turn", Turn("assistant", "hi")),
    ("tool_turn", "text without the call it answers"),
    ("tool_turn", Turn("user", "hi")),
    ("system", Turn("user", "hi")),
    ("compress", None),
    ("compress", "half"),
    ("compress", True),
    ("clear", "everything"),
    ("clear", 0.5),
    ("recall", "t1"),
    ("promote", "t1"),
]


@pytest.mark.parametrize(("kind", "payload"), MISFITS)
def test_a_payload_that_does_not_fit_is_refused(kind: str, payload: Any) -> None:
    """The error names the kind, the payload and what would be legal; it is the caller's."""
    with pytest.raises(InvalidOptionError) as caught:
        ContextInput(InputKind(kind), payload)
    assert kind in caught.value.option
    assert caught.value.value is payload
    assert caught.value.legal in str(caught.value)
    assert isinstance(caught.value, CallerError)


def test_an_output_shows_no_open_calls() -> None:
    """Its messages end before them."""
    window = (
        ContextWindow(100, counter=WORDS)
        .append(Turn("user", "hi"))
        .append(Turn("assistant", None, tool_calls=[ToolCall("c", "f")]))
    )
    output = ContextOutput(window, ContextState.ACCUMULATING)
    assert [message["role"] for message in output.messages] == ["user"]


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("c", "search", '{"q":"日本"}'),
        {
            "id": "c",
            "type": "function",
            "function": {"name": "search", "arguments": '{"q":"日本"}'},
        },
        {"id": "c", "function": {"name": "search", "arguments": {"q": "日本"}}},
        {"type": "tool_use", "id": "c", "name": "search", "input": {"q": "日本"}},
        {"id": "c", "name": "search", "arguments": '{"q":"日本"}'},
    ],
    ids=["ours", "OpenAI", "OpenAI, parsed", "Anthropic", "flat"],
)
def test_known_shapes_of_calls(call: Any) -> None:
    """All known shapes give the same call."""
    assert as_tool_call(call) == ToolCall("c", "search", '{"q":"日本"}')


@pytest.mark.parametrize(
    "call",
    [
        None,
        "search",
        5,
        {},
        {"id": "c"},
        {"id": "c", "function": "search"},
        {"id": 5, "name": "f", "input": {}},
        {"id": "c", "name": "f", "input": {1}},
    ],
)
def test_unknown_shapes_of_calls_are_refused(call: Any) -> None:
    """Anything else is refused as a turn's fault."""
    with pytest.raises(InvalidTurnError, match="tool_calls"):
        as_tool_call(call)
