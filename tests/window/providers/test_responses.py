"""OpenAI's Responses: what is read, written back and refused."""

import json
from typing import Any

import pytest

from polycontext.window.errors import InvalidMessagesError
from polycontext.window.part import Part
from polycontext.window.providers import get_format
from polycontext.window.providers.responses.messages import parse
from polycontext.window.turn import ToolCall, Turn

render = get_format("openai-responses").render
check = get_format("openai-responses").check

Item = dict[str, Any]
ASK: Item = {"role": "user", "content": "weather in Paris?"}
SCREEN: Item = {"type": "computer_screenshot", "image_url": "https://example.org/a.png"}


def call(call_id: str, **fields: Any) -> Item:
    """Return a call of a function."""
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "weather",
        "arguments": "{}",
        **fields,
    }


def output(call_id: str, said: Any = "21 degrees", **fields: Any) -> Item:
    """Return what a function gave."""
    return {"type": "function_call_output", "call_id": call_id, "output": said, **fields}


def text(words: str, **fields: Any) -> Item:
    """Return a text that the model made."""
    return {"type": "output_text", "text": words, "annotations": [], **fields}


def said(*content: Item, **fields: Any) -> Item:
    """Return a message item of the model."""
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": list(content),
        **fields,
    }


FORMS: list[list[Item]] = [
    [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}],
    [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": [], "type": "message"},
        ASK,
    ],
    [
        {"role": "user", "content": [{"type": "input_text", "text": ""}]},
        {"role": "user", "content": ""},
    ],
    [
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": "https://example.org/a.png"},
                {"type": "input_text", "text": "?"},
            ],
        }
    ],
    [ASK, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
    [ASK, said({"type": "refusal", "refusal": "No."}), ASK],
    [ASK, said({"type": "from_2030", "x": 1}, text("x")), call("a"), output("a")],
    [ASK, said(), said(text(""), id="msg_2"), {"role": "assistant", "content": []}, ASK],
    [{"type": "compaction", "id": "cmp_1", "encrypted_content": "AA"}, ASK],
    [{"type": "additional_tools", "role": "developer", "tools": []}, ASK],
    [
        ASK,
        call("a"),
        output("a", []),
        call("a"),
        output("a", [{"type": "input_text", "text": "x"}], status="completed"),
    ],
    [
        ASK,
        call("a"),
        output("a", [{"type": "input_image", "file_id": "f"}, {"type": "input_text", "text": "x"}]),
        ASK,
    ],
    [
        ASK,
        {"type": "custom_tool_call", "call_id": "a", "name": "shell", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "x"},
    ],
    [
        ASK,
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "a",
            "action": {"type": "screenshot"},
            "status": "completed",
        },
        {"type": "computer_call_output", "call_id": "a", "output": SCREEN},
    ],
    [
        ASK,
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "a",
            "action": {"commands": ["ls"]},
            "status": "completed",
        },
        {
            "type": "shell_call_output",
            "call_id": "a",
            "output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
    ],
    [
        ASK,
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
        {
            "type": "tool_search_output",
            "call_id": "s",
            "execution": "client",
            "tools": [{"name": "f"}],
        },
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
        ASK,
    ],
]


@pytest.mark.parametrize("items", FORMS)
def test_every_form_is_written_as_it_came(items: list[Item]) -> None:
    """Every form of an item is written back unchanged from its turns."""
    turns = parse(items).turns
    assert render(turns).messages == items
    assert render(parse(json.loads(json.dumps(items))).turns, readable=True).messages == items


def test_what_another_tool_gave_is_readable() -> None:
    """Outputs that are JSON data are the turn's text, so that every other provider is told."""
    turns = parse(FORMS[14]).turns
    assert turns[1].tool_calls == (ToolCall("a", "shell", '{"action":{"commands":["ls"]}}'),)
    assert (
        turns[2].content == '[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":0}}]'
    )
    assert get_format("openai").render(turns).messages[2]["content"] == turns[2].content


def test_a_result_made_by_hand_answers_in_the_kind_of_its_call() -> None:
    """A hand-made result of a custom call is written as that kind of output."""
    turns = [*parse(FORMS[12]).turns[:2], Turn("tool", "by hand", tool_call_id="a")]
    assert render(turns).messages[-1] == {
        "type": "custom_tool_call_output",
        "call_id": "a",
        "output": "by hand",
    }


def test_a_text_that_answers_a_computer_call_is_sent_behind_its_screenshot() -> None:
    """The provider takes no text there, so the text follows; a picture becomes the screenshot."""
    asked = parse(next(form for form in FORMS if form[-1].get("output") == SCREEN)[:2]).turns
    written = render([*asked, Turn("tool", "The screen is locked.", tool_call_id="a")]).messages
    line = {"role": "assistant", "content": "[computer_call_output: The screen is locked.]"}
    assert written[-2]["output"]["type"] == "computer_screenshot"
    assert written[-1] == line
    check([*written, ASK])
    picture = Part("openai-responses", json.dumps({**SCREEN, "type": "input_image"}))
    shown = Turn("tool", "The screen is locked.", tool_call_id="a", parts=[picture])
    assert render([*asked, shown]).messages[-2:] == [
        {"type": "computer_call_output", "call_id": "a", "output": SCREEN},
        line,
    ]


@pytest.mark.parametrize(
    ("items", "rule", "index"),
    [
        ([{"type": 7}], "bad-item", 0),
        ([{"text": "x"}], "bad-item-id", 0),
        ([{"role": "tool", "content": "x"}], "unknown-role", 0),
        ([{"role": "user"}], "missing-content", 0),
        ([{"role": "user", "content": 7}], "bad-content", 0),
        ([{"role": "user", "content": [7]}], "bad-content", 0),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "bad-content", 0),
        ([ASK, call("a", name=None)], "bad-tool-name", 1),
        ([ASK, call("a", arguments={})], "bad-tool-call", 1),
        ([ASK, call("a"), call("a"), output("a")], "duplicate-call-id", 2),
        ([ASK, call("a"), output("a", 7)], "bad-content", 2),
        ([ASK, output("a")], "orphan-result", 1),
        ([ASK, call("a"), output("a"), output("a")], "duplicate-result", 3),
        ([ASK, call("a"), ASK], "unanswered-call", 1),
        ([ASK, call("a")], "unanswered-call", 1),
        ([ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, ASK], "reasoning-alone", 1),
    ],
)
def test_each_broken_shape_names_its_rule_and_place(
    items: list[Item], rule: str, index: int
) -> None:
    """Whatever is broken is refused with a stable rule name and the item's index."""
    with pytest.raises(InvalidMessagesError) as caught:
        check(items)
    assert (caught.value.provider, caught.value.rule, caught.value.index) == (
        "openai-responses",
        rule,
        index,
    )
