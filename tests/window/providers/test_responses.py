"""OpenAI's Responses: what is read, written back and refused."""

import json
from typing import Any

import pytest

from polycontext.window.part import Part
from polycontext.window.providers import get_format
from polycontext.window.providers.responses.messages import parse
from polycontext.window.turn import ToolCall, Turn
from tests.window.providers.vendor_shapes import TABLE

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


FORMS: list[list[Item]] = TABLE["items"]


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
