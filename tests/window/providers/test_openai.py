"""OpenAI's chat format: what is read, written back and refused."""

from typing import Any

import pytest

from polycontext import project
from polycontext.window.errors import InvalidMessagesError, InvalidTurnError
from polycontext.window.part import Part, PartKind
from polycontext.window.providers import Provider, get_format
from polycontext.window.providers.chat.messages import parse
from polycontext.window.providers.places import Place
from polycontext.window.providers.tool_pairs import NO_RESULT
from polycontext.window.turn import ToolCall, Turn

render = get_format("openai").render
check = get_format("openai").check

PLACE = Place(Provider.OPENAI, ("messages", 3))
USER: dict[str, Any] = {"role": "user", "content": "weather in Paris?"}


def calling(*ids: str, **fields: Any) -> dict[str, Any]:
    """Return an assistant message that calls once for each id."""
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
        }
        for call_id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def result(call_id: str, text: str = "21 degrees") -> dict[str, Any]:
    """Return the result of one call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def refused(messages: object, **options: bool) -> tuple[str, int | None]:
    """Return rule and index of the error that reading and checking raises."""

    def read() -> None:
        parse(messages)
        check(messages, **options)

    with pytest.raises(InvalidMessagesError) as caught:
        read()
    assert caught.value.provider == "openai"
    assert caught.value.legal
    return caught.value.rule, caught.value.index


def test_a_part_of_another_vendor_may_hold_anything() -> None:
    """Also a refusal that is no text."""
    parts = [{"type": "newer", "refusal": 5}, {"type": "text", "text": "x"}]
    check([USER, {"role": "assistant", "content": parts}])


@pytest.mark.parametrize(
    "field", [{"content": b"x"}, {"score": float("nan")}, {"score": 10**5000}, {7: "y"}]
)
def test_what_is_no_json_is_refused(field: dict[Any, Any]) -> None:
    """A message with anything but JSON data is refused."""
    assert refused([{"role": "user", "content": "x", **field}]) == ("not-json", 0)


def test_a_turn_that_is_refused_surfaces_as_a_refused_message() -> None:
    """Whatever a turn itself refuses names the message's index and the turn's field."""
    with (
        pytest.raises(
            InvalidMessagesError,
            match=r"messages\[3\] breaks the openai rule bad-turn: role: unknown role",
        ),
        PLACE.turn_errors(),
    ):
        Turn("poet", "x")


def test_integers_are_accepted_up_to_what_a_double_can_hold() -> None:
    """The largest integer of as many bits passes, the next one does not."""
    check([{**USER, "content": [{"type": "image", "seed": -(2**14284)}]}])
    assert refused([{**USER, "content": [{"type": "image", "seed": 2**14284}]}]) == ("not-json", 0)


def function(call_id: str, **further: Any) -> dict[str, Any]:
    """Return one call with further fields."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        **further,
    }


def test_a_refusal_is_what_is_said() -> None:
    """A refusal becomes the turn's text, unless the message also has an answer."""
    refusing, answering = (
        {"role": "assistant", "content": content, "refusal": "No."} for content in (None, "Yes.")
    )
    turns = parse([USER, refusing, answering]).turns
    assert [turn.content for turn in turns[1:]] == ["No.", "Yes."]
    assert get_format("anthropic").render(turns[:2]).messages[1]["content"] == [
        {"type": "text", "text": "No."}
    ]


@pytest.mark.parametrize("data", ["not json", "[1]", "{}", '{"type": 7}'])
def test_a_part_that_is_no_block_is_refused(data: str) -> None:
    """A part made by hand must be a block of its provider; the error names the turn's field."""
    with pytest.raises(InvalidTurnError, match=r"'parts.data': is not a block of openai"):
        render([Turn("user", "hi", parts=(Part("openai", data),))])


def test_hand_made_parts_never_break_a_rendering() -> None:
    """Hand-made parts cannot change the role of a message or lose a word or call."""
    part = Part(
        "openai", '{"role": "tool", "content": null, "refusal": 7, "audio": 7}', PartKind.MESSAGE
    )
    assert render([Turn("user", "hi", parts=[part])]).messages == [
        {"role": "user", "content": "hi", "refusal": 7, "audio": 7}
    ]
    some = [
        Part("openai", "{}", PartKind.WORDS, 1, 2),
        Part("openai", '{"id": "z", "x": 1}', PartKind.CALL, 1),
    ]
    turn = Turn("assistant", "abc", tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")], parts=some)
    message = render([turn]).messages[0]
    assert [block["text"] for block in message["content"]] == ["a", "b", "c"]
    assert message["tool_calls"] == [function("a"), function("b", x=1)]


def test_repair_closes_calls_in_the_middle_and_says_so() -> None:
    """With `repair` unanswered calls get a marked result, except in the open tail."""
    messages = [USER, calling("a", "b", "c"), result("b"), USER, calling("d")]
    parsed = parse(messages, repair=True)
    assert parsed.repaired == (3, 4)
    assert parsed.places == (0, 1, 2, 2, 2, 3, 4)
    assert [(turn.tool_call_id, turn.content) for turn in parsed.turns[3:5]] == [
        ("a", NO_RESULT),
        ("c", NO_RESULT),
    ]
    assert all(turn.metadata == {"repaired": True} for turn in parsed.turns[3:5])
    written = render(parsed.turns).messages
    assert written == [*messages[:3], result("a", NO_RESULT), result("c", NO_RESULT), *messages[3:]]
    check(written, allow_open_tail=True)
    assert parse([USER, result("a")], repair=True).omitted == (1,)


@pytest.mark.parametrize("role", [[], {}, 5, None, ["user"]])
def test_a_role_that_is_not_text_is_refused(role: object) -> None:
    """Also where the format of the list is still to be found out."""
    with pytest.raises(InvalidMessagesError, match="unknown-role"):
        project([{"role": role, "content": "hello"}], max_tokens=100)
