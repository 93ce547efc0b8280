"""Inputs and outputs: what fits which direction, tool calls as providers write them, plug-ins."""

from typing import Any

import pytest

from polycontext.base import CallerError, InvalidOptionError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextInput, ContextOutput, ContextState, InputKind
from polycontext.polynomial.session.commands import as_tool_call
from polycontext.polynomial.session.plugins import RENDERERS, load
from polycontext.pressure import Edit
from polycontext.window import (
    ContextWindow,
    InvalidTurnError,
    OrderError,
    PluginError,
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


def test_every_direction_has_a_maker() -> None:
    """Each kind of input is made by a method of its name."""
    made = [
        ContextInput.user_turn("hi"),
        ContextInput.assistant_turn("hi", [ToolCall("c", "f")]),
        ContextInput.tool_turn("hi", "c"),
        ContextInput.system("hi"),
        ContextInput.compress(),
        ContextInput.clear(),
        ContextInput.recall(Edit()),
        ContextInput.refill(Edit()),
        ContextInput.promote("t1", ResourceClass.PRESERVED, "it matters"),
        ContextInput.resize(1000),
        ContextInput.rewind(ContextWindow(1000)),
        ContextInput.undo(ContextWindow(1000)),
        ContextInput.forget(ContextWindow(1000)),
    ]
    assert [each.kind for each in made] == list(InputKind)
    assert made[1].turn.tool_calls == (ToolCall("c", "f"),)
    assert made[4].payload == 0.7


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


def test_an_output_is_a_value() -> None:
    """Outputs with the same window and state are equal, and their messages contain no calls."""
    window = (
        ContextWindow(100, counter=WORDS)
        .append(Turn("user", "hi"))
        .append(Turn("assistant", None, tool_calls=[ToolCall("c", "f")]))
    )
    output = ContextOutput(window, ContextState.ACCUMULATING)
    assert output == ContextOutput(window, ContextState.ACCUMULATING)
    assert [message["role"] for message in output.messages] == ["user"]
    assert not output.compressed
    with pytest.raises(OrderError):
        window.append(Turn("user", "still there?"))


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


def test_a_missing_renderer_is_named() -> None:
    """An entry point that nobody announced is the installation's fault and is named."""
    with pytest.raises(PluginError, match=r"'polycontext\.renderers' failed on 'opera'"):
        load(RENDERERS, "opera")
