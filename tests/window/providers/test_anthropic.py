"""Anthropic's message format: what is read, written back and refused."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from polycontext.window.errors import InvalidMessagesError
from polycontext.window.part import Part, PartKind
from polycontext.window.providers import Rendered, get_format
from polycontext.window.providers.anthropic.messages import hoist, parse
from polycontext.window.turn import Role, ToolCall, Turn
from tests.laws.inputs import wire_turns

render = get_format("anthropic").render
check = get_format("anthropic").check

Block = dict[str, Any]


def text(words: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": words}


def call(call_id: str, **arguments: Any) -> Block:
    """Return a call."""
    return {"type": "tool_use", "id": call_id, "name": "weather", "input": arguments}


def result(call_id: str, content: Any = "21 degrees", **fields: Any) -> Block:
    """Return the result of a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def user(*blocks: Block) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Block) -> dict[str, Any]:
    """Return an assistant message."""
    return {"role": "assistant", "content": list(blocks)}


ASK = user(text("weather in Paris?"))


@given(wire_turns())
def test_rendered_roles_alternate(turns: list[Turn]) -> None:
    """Rendered roles alternate, for endpoints that refuse consecutive messages of one role."""
    roles = [message["role"] for message in render(turns).messages]
    assert all(one != other for one, other in pairwise(roles))


def test_a_run_of_calling_assistant_messages_is_one_turn() -> None:
    """The results of all its calls follow the run, so its messages are kept or yielded together."""
    messages = [
        ASK,
        assistant(text("x")),
        assistant(call("a")),
        assistant(text("y"), call("b")),
        user(result("a"), result("b")),
        ASK,
    ]
    parsed = parse(messages)
    assert parsed.places == (0, 1, 2, 4, 4, 5)
    turns = parsed.turns
    assert render(turns).messages == messages
    assert render([turns[0], turns[5]], readable=True).messages == [ASK, ASK]
    assert render([turns[0], *turns[2:5]]).messages == [ASK, *messages[2:5]]


def test_blank_text_never_leaves_beside_blocks_or_in_results() -> None:
    """Blank text is left out beside blocks and in results; a blank failure gets a placeholder."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/map.png"}}
    calling = Turn(
        "assistant",
        " ",
        tool_calls=(ToolCall("a", "weather"), ToolCall("b", "weather"), ToolCall("c", "weather")),
    )
    turns = [
        Turn("user", "\n", parts=(Part("anthropic", json.dumps(image)),)),
        calling,
        Turn("tool", " ", tool_call_id="a"),
        Turn("tool", " ", tool_call_id="b", metadata={"is_error": True}),
        Turn(
            "tool",
            " ",
            tool_call_id="c",
            parts=(
                Part("anthropic", json.dumps(image)),
                Part("anthropic", "{}", PartKind.WORDS, 0, 1),
            ),
        ),
    ]
    assert render(turns).messages == [
        user(image),
        assistant(call("a"), call("b"), call("c")),
        user(result("a", ""), result("b", "[empty]", is_error=True), result("c", [image])),
    ]


def test_tool_names_outside_the_pattern_are_spelled_anew() -> None:
    """Invalid tool names are rewritten without collisions, and the turn keeps the real name."""
    calls = [
        ToolCall(str(number), name)
        for number, name in enumerate(["a.b", "a_b", "a.b", "ü" * 201, "ok"])
    ]
    turns = [Turn("user", "hi"), Turn("assistant", None, tool_calls=calls)]
    written = [block["name"] for block in render(turns).messages[1]["content"]]
    assert written == ["a_b_2", "a_b", "a_b_2", "_" * 200, "ok"]
    check(render(turns).messages, allow_open_tail=True)
    assert turns[1].tool_calls[0].name == "a.b"


def test_arguments_and_ids_that_the_provider_refuses_are_given_a_shape_it_takes() -> None:
    """Arguments that are not objects are wrapped; invalid ids are rewritten with their results."""
    calls = (
        ToolCall("f:1", "f", "oops"),
        ToolCall("f_1", "f", '{"x": NaN}'),
        ToolCall("f.1", "f", '{"b": 1, "a": [2]}'),
    )
    results = [Turn("tool", call_id, tool_call_id=call_id) for call_id in ("f.1", "f_1", "f:1")]
    messages = render(
        [Turn("user", "hi"), Turn("assistant", None, tool_calls=calls), *results]
    ).messages
    check(messages)
    assert [(block["id"], block["input"]) for block in messages[1]["content"]] == [
        ("f_1_2", {"raw_arguments": "oops"}),
        ("f_1", {"raw_arguments": '{"x": NaN}'}),
        ("f_1_3", {"b": 1, "a": [2]}),
    ]
    assert [(block["tool_use_id"], block["content"]) for block in messages[2]["content"]] == [
        ("f_1_3", "f.1"),
        ("f_1", "f_1"),
        ("f_1_2", "f:1"),
    ]


def test_leading_system_turns_are_hoisted_and_later_ones_stay() -> None:
    """Leading system turns are hoisted; later ones and special blocks stay in place."""
    added = Part("anthropic", '{"type":"tool_addition","tool":{}}')
    turns = [
        Turn("system", "one"),
        Turn("system", " "),
        Turn("system", "two"),
        Turn("user", "hi"),
        Turn("system", "three"),
    ]
    rendered = render([*turns, Turn("system", None, parts=(added,))])
    addition = {"role": "system", "content": [{"type": "tool_addition", "tool": {}}]}
    assert rendered.system == (text("one"), text("two"))
    assert rendered.messages == [
        user(text("hi")),
        {"role": "system", "content": [text("three")]},
        addition,
    ]
    assert render([Turn("system", None, parts=(added,)), *turns]).inline()[0] == addition
    check(rendered.messages)


def test_inline_and_hoist_are_opposites() -> None:
    """System texts are stored as a leading system message and taken out again to be sent."""
    rendered = render([Turn("system", "Be brief."), Turn("user", "hi")])
    stored = rendered.inline()
    assert [turn.role for turn in parse(stored).turns] == [Role.SYSTEM, Role.USER]
    assert hoist(stored) == rendered
    assert hoist([ASK]) == Rendered([ASK])
    with pytest.raises(InvalidMessagesError) as caught:
        hoist([7])
    assert (caught.value.provider, caught.value.index) == ("anthropic", 0)
