"""The contract of hosts: what leaves is valid, within the budget, and says what it stands for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.base.codec import strict_converter
from polycontext.hosts import (
    Call,
    CompactRequest,
    Message,
    Result,
    Status,
    answer,
    json_schema,
    read_request,
)
from polycontext.window import EstimatingCounter
from tests.transcripts.writers import Step, conversations
from tests.vendors import findings

RULE = "From now on, never push to main."


def messages_of(steps: Sequence[Step], words: int = 1) -> tuple[Message, ...]:
    """Return a conversation as a host hands it over, results apart from their calls."""
    told = [Message("user", f"Fix the price in src/cart.py. {RULE}")]
    for step in steps:
        calls = tuple(Call(f"c{n}", "shell", {"n": n}) for n, _ in step.calls)
        told.append(Message(step.role, step.text * words, calls))  # type: ignore[arg-type]
        if calls:
            results = tuple(Result(f"c{n}", f"{text} {n}\n" * words) for n, text in step.calls)
            # Some hosts keep what the user types meanwhile beside the results.
            said = f"Always keep file {step.calls[0][0]}." if len(calls) > 1 else ""
            told.append(Message("user", said, results=results))
    return tuple(told)


def applied(messages: Sequence[Message], plan: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the list that a host makes of a plan."""
    told = list[Message]()
    for item in plan:
        if "message" in item:
            told.append(strict_converter().structure(item["message"], Message))
            continue
        message, cut = messages[item["keep"]], item.get("cut", {})
        results = tuple(
            Result(each.id, cut.get(each.id, each.text), each.error) for each in message.results
        )
        told.append(Message(message.role, message.text, message.calls, results))
    return told


def sent(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as Anthropic takes them."""
    told: list[dict[str, Any]] = []
    for message in messages:
        blocks: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": each.id, "content": each.text}
            for each in message.results
        ]
        blocks += [{"type": "text", "text": message.text}] if message.text else []
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.input)}
            for call in message.calls
        ]
        told.append({"role": message.role, "content": blocks})
    return told


@given(steps=conversations(), words=st.integers(1, 120), tokens=st.integers(400, 3_000))
def test_a_plan_is_valid_small_and_final(steps: list[Step], words: int, tokens: int) -> None:
    """No refused list, no list above the window; the rule stands; the new list fits."""
    messages = messages_of(steps, words)
    asked = CompactRequest(1, tokens, messages)
    told = answer(asked)
    assert _judge("answer").is_valid(told.to_data())
    if told.status is Status.CANNOT:
        assert told.needed is not None
        assert told.needed > tokens
        return
    assert told.tokens_after <= tokens
    kept = applied(messages, told.plan)
    assert not [*findings(sent(kept), "anthropic")]
    assert any(RULE in message.text for message in kept)
    places = [item["keep"] for item in told.plan if "keep" in item]
    assert places == sorted(set(places))
    again = answer(CompactRequest(1, tokens, tuple(kept)))
    assert again.tokens_after <= told.tokens_after


@given(steps=conversations(), words=st.integers(1, 120), tokens=st.integers(400, 3_000))
def test_one_text_is_small_and_keeps_the_rule(steps: list[Step], words: int, tokens: int) -> None:
    """A host that keeps one text gets the rule word for word, within the window."""
    told = answer(CompactRequest(1, tokens, messages_of(steps, words), shape="text"))
    if told.status is not Status.CANNOT:
        assert told.summary is not None
        assert RULE in told.summary
        assert EstimatingCounter().count(told.summary) <= 2 * tokens


def test_a_fault_names_the_message_of_the_host() -> None:
    """Results are rows of their own inside; the host knows its messages only."""
    twice = Message("user", results=(Result("a"), Result("b")))
    calls = (Call("a", "f"), Call("b", "f"))
    good = (Message("user", "Hello!"), Message("assistant", "", calls), twice)
    with pytest.raises(InvalidDataError, match=r"messages\[3\]"):
        answer(CompactRequest(1, 900, (*good, Message("user", "x", (Call("d", "f"),)))))


def _judge(name: str) -> Draft202012Validator:
    schema = json.loads(json_schema())
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"})


def _long() -> tuple[Message, ...]:
    log = "\n".join(f"row {number} of the table costs {number * 7}" for number in range(400))
    call = Call("a", "query", {"table": "prices"})
    return (
        Message("user", f"Fix the price. {RULE}"),
        Message("assistant", "", (call,)),
        Message("user", results=(Result("a", log),)),
    )


def test_a_result_is_cut_in_place() -> None:
    """The last result has no room whole: it is cut by its call, which the mark names."""
    told = answer(CompactRequest(1, 1_000, _long()))
    (cut,) = [item["cut"] for item in told.plan if "cut" in item]
    assert [*cut] == ["a"]
    assert cut["a"].startswith("[Cut; the whole is a in the log]")
    one = answer(CompactRequest(1, 1_000, _long(), shape="text"))
    assert "-> [Cut; the whole is a in the log]" in (one.summary or "")


def test_what_is_open_is_said() -> None:
    """A call without a result, and what the summary says is open."""
    asked = CompactRequest(1, 4_000, _long()[:2])
    assert answer(asked).open == ['unfinished: query({"table": "prices"})']
    note = "[Summary of earlier messages]\nOpen:\nuser: Who signs?\n[End of summary]"
    told = answer(CompactRequest(1, 4_000, (Message("user", note), *_long()[:1])))
    assert told.open == ["unfinished: user: Who signs?"]


def test_the_low_mark_leaves_room() -> None:
    """A list that fits into the window, but not below the low mark, is shortened."""
    asked = CompactRequest(1, 8_000, _long(), low_mark=0.25)
    assert answer(asked).tokens_after <= 2_000
    assert answer(CompactRequest(1, 8_000, _long(), low_mark=1.0)).status is Status.FITS


def test_originals_lose_nothing_by_repeating() -> None:
    """Ten compactions of all that was said: what the first kept of the oldest, the tenth keeps."""
    messages = [Message("user", f"Fix src/a_0.py first. {RULE}")]
    kept = list[int]()
    for number in range(1, 41):
        messages.append(Message("assistant", f"I changed src/a_{number}.py: total is {number}7."))
        messages.append(Message("user", f"Go on with step {number}. " + "Please. " * 30))
        if number % 4 == 0:
            told = answer(CompactRequest(1, 3_000, tuple(messages), shape="text"))
            text = told.summary or ""
            kept.append(sum(f"src/a_{each}.py" in text for each in range(4)))
    assert kept[-1] == kept[0] == 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version"),
        ({"version": None}, "version"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "9"}, "max_tokens"),
        ({"low_mark": 0}, "low_mark"),
        ({"shape": "tail"}, "shape"),
        ({"messages": []}, "messages"),
        ({"transcript": "x", "shape": "text"}, "messages"),
        ({"messages": [{"role": "poet"}]}, "role"),
        ({"messages": [{"role": "user", "txt": "x"}]}, "txt"),
    ],
)
def test_a_bad_request_names_its_fault(change: Mapping[str, Any], says: str) -> None:
    """What is wrong is named by its field."""
    good = {"version": 1, "max_tokens": 900, "messages": [{"role": "user", "text": "Hello!"}]}
    assert read_request(good).messages[0].text == "Hello!"
    with pytest.raises((InvalidDataError, InvalidOptionError), match=says):
        read_request({**good, **change})
    assert _judge("request").is_valid(good)
    assert not _judge("request").is_valid({**good, **change})
