"""The scripted model: it says what it was told to say, and keeps what it was asked."""

import asyncio
from types import MappingProxyType
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.testing import ScriptedModel, ScriptEndedError

CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "track", "arguments": '{"key": 7}'}}
    ],
}


def test_replies_come_in_order() -> None:
    """Each call gets the next reply, sync or async."""
    model = ScriptedModel(["one", "two"])
    assert model.complete("first") == "one"
    assert asyncio.run(model.acomplete("second")) == "two"
    assert model.requests == ["first", "second"]


def test_a_script_at_its_end_names_the_call() -> None:
    """A call too many is an error with its number, and is kept as a request all the same."""
    model = ScriptedModel(["one"])
    model.complete("a")
    with pytest.raises(
        ScriptEndedError, match=r"call 2 came after the last of 1 replies. Script"
    ) as caught:
        model.complete("b")
    assert (caught.value.call, caught.value.replies, caught.value.rules) == (2, 1, ())
    assert model.requests == ["a", "b"]


@pytest.mark.parametrize(
    "error", [TimeoutError("too slow"), TimeoutError], ids=["instance", "class"]
)
def test_an_error_is_raised(error: Any) -> None:
    """An exception in the script is raised, and the script goes on behind it."""
    model = ScriptedModel([error, "after"])
    with pytest.raises(TimeoutError):
        model.complete("a")
    assert model.complete("b") == "after"


def test_a_function_answers_from_the_request() -> None:
    """A function in the script is called with the request."""
    assert ScriptedModel([lambda request: request.upper()]).complete("hello") == "HELLO"


def test_what_it_hands_out_and_keeps_is_nobody_elses() -> None:
    """Changing a reply or a request afterwards changes neither script nor record."""
    model = ScriptedModel([MappingProxyType(CALLING), CALLING])
    request = [{"role": "user", "content": "hi"}]
    reply = model.complete(request)
    reply["tool_calls"].clear()
    request.clear()
    assert len(model.complete("again")["tool_calls"]) == 1
    assert model.requests[0] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "request_",
    [
        "what is the weather",
        [{"role": "user", "content": "hello"}, {"role": "user", "content": "the weather?"}],
        [{"role": "user", "content": [{"type": "text", "text": "the weather?"}]}],
    ],
    ids=["prompt", "last message", "blocks"],
)
def test_a_rule_answers_where_it_is_found(request_: object) -> None:
    """A rule answers as often as it matches, and the script does not move on."""
    model = ScriptedModel(
        ["scripted"], rules={r"\bweather\b": "It rains.", "weather": "never asked"}
    )
    assert [model.complete(request_), model.complete(request_), model.complete("else")] == [
        "It rains.",
        "It rains.",
        "scripted",
    ]


def test_a_rule_reads_the_last_message_alone() -> None:
    """A rule reads only the last message, and an empty list matches none."""
    model = ScriptedModel(rules={"weather": "It rains."})
    for request in (
        [{"role": "user", "content": "weather"}, {"role": "user", "content": "thanks"}],
        [],
    ):
        with pytest.raises(ScriptEndedError, match="none of the rules matches: 'weather'"):
            model.complete(request)


@pytest.mark.parametrize(
    ("replies", "rules", "message"),
    [
        ("one text", {}, "replies = 'one text'. Use a sequence"),
        (CALLING, {}, "replies = {'role': .*. Use a sequence of replies"),
        (["fine", 7], {}, "reply 2 = 7. Use a text, an assistant message"),
        (
            [{"role": "user", "content": "hi"}],
            {},
            "reply 1 = {'role': 'user', .*. Use a message of role 'assistant'",
        ),
        ([], {"(": "never"}, r"rule = '\('. Use a regular expression \(.* at position 0\)"),
        ([], {"a": None}, "rule 'a' = None. Use a text"),
    ],
    ids=["text", "message", "number", "user message", "pattern", "rule"],
)
def test_a_script_that_could_not_be_played_is_refused(
    replies: Any, rules: Any, message: str
) -> None:
    """An invalid script is refused when the model is made, with its place."""
    with pytest.raises(InvalidOptionError, match=message):
        ScriptedModel(replies, rules=rules)


def test_a_model_reports_the_usage_that_it_is_told() -> None:
    """Each reply is a message with it; a message of the script keeps its own."""
    own = {"role": "assistant", "content": "Bye.", "usage": {"prompt_tokens": 9}}
    model = ScriptedModel(["Hello.", own], usage={"prompt_tokens": 5})
    assert model.complete("hi") == {
        "role": "assistant",
        "content": "Hello.",
        "usage": {"prompt_tokens": 5},
    }
    assert model.complete("bye") == own
