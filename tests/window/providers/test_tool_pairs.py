"""Every break of calls and results that stored conversations have is mended, in every format."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from polycontext import project
from polycontext.adapters import Bridge
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import check
from polycontext.window.providers.tool_pairs import NO_RESULT
from tests.vendors import findings

Message = dict[str, Any]
Step = tuple[str, str]
"""What is said by "user" or "model", a "call" of ids, or the "result" of an id."""

NONE = re.escape(NO_RESULT)
RESULTS = {"result": "KEY-{}", "none": NO_RESULT}
GO, SO = ("user", "Go."), ("user", "So?")
HURRY, WAIT = ("user", "And hurry."), ("model", "Wait.")
CALL, CALLS = ("call", "c1"), ("call", "c1 c2")
ONE, TWO = ("result", "c1"), ("result", "c2")


def answer(kind: str, call_id: str) -> str:
    """Return the text of a result."""
    return RESULTS[kind].format(call_id)


def chat(steps: Sequence[Step]) -> list[Message]:
    """Return steps as chat messages."""

    def message(kind: str, said: str) -> Message:
        if kind == "call":
            calls = [
                {"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}}
                for each in said.split()
            ]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        if kind in RESULTS:
            return {"role": "tool", "tool_call_id": said, "content": answer(kind, said)}
        return {"role": "assistant" if kind == "model" else kind, "content": said}

    return [message(*step) for step in steps]


def responses(steps: Sequence[Step]) -> list[Message]:
    """Return steps as items of Responses."""
    items = list[Message]()
    for kind, said in steps:
        if kind == "call":
            items += (
                {"type": "function_call", "call_id": each, "name": "look", "arguments": "{}"}
                for each in said.split()
            )
        elif kind in RESULTS:
            items.append(
                {"type": "function_call_output", "call_id": said, "output": answer(kind, said)}
            )
        else:
            items.append({"role": "assistant" if kind == "model" else kind, "content": said})
    return items


def anthropic(steps: Sequence[Step]) -> list[Message]:
    """Return steps as messages of Anthropic, those of the user in a row as one."""

    def blocks(kind: str, said: str) -> list[Message]:
        if kind == "call":
            used = {"type": "tool_use", "name": "look", "input": {}}
            return [{**used, "id": each} for each in said.split()]
        if kind in RESULTS:
            return [{"type": "tool_result", "tool_use_id": said, "content": answer(kind, said)}]
        return [{"type": "text", "text": said}]

    return joined(steps, "content", "assistant", blocks)


def gemini(steps: Sequence[Step]) -> list[Message]:
    """Return steps as contents of Gemini, with ids."""

    def parts(kind: str, said: str) -> list[Message]:
        if kind == "call":
            return [{"functionCall": {"id": each, "name": "look"}} for each in said.split()]
        if kind in RESULTS:
            response = {"result": answer(kind, said)}
            return [{"functionResponse": {"id": said, "name": "look", "response": response}}]
        return [{"text": said}]

    return joined(steps, "parts", "model", parts)


def joined(
    steps: Sequence[Step], key: str, model: str, inside: Callable[[str, str], list[Message]]
) -> list[Message]:
    """Return steps as messages whose roles alternate."""
    messages = list[Message]()
    for kind, said in steps:
        role = model if kind in ("call", "model") else "user"
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, key: []})
        messages[-1][key] += inside(kind, said)
    return messages


FORMATS = {
    "openai": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}

SHAPES: dict[str, tuple[list[Step], list[Step], list[str]]] = {
    "orphan": ([GO, ONE, SO], [GO, SO], ["messages[1]"]),
    "orphan first": ([ONE, GO, SO], [GO, SO], ["messages[0]"]),
    "double": ([GO, CALL, ONE, ONE, SO], [GO, CALL, ONE, SO], ["messages[3]"]),
    "double later": ([GO, CALL, ONE, SO, ONE, SO], [GO, CALL, ONE, SO, SO], ["messages[4]"]),
    "late": ([GO, CALL, HURRY, WAIT, ONE, SO], [GO, CALL, ONE, HURRY, WAIT, SO], ["t3"]),
    "early": ([GO, ONE, WAIT, HURRY, CALL, SO], [GO, WAIT, HURRY, CALL, ONE, SO], ["t5"]),
    "message between": ([GO, CALL, HURRY, ONE, SO], [GO, CALL, ONE, HURRY, SO], ["t3"]),
    "scattered": ([GO, CALLS, TWO, HURRY, ONE, SO], [GO, CALLS, TWO, ONE, HURRY, SO], ["t4"]),
    "unanswered": ([GO, CALLS, TWO, SO], [GO, CALLS, TWO, ("none", "c1"), SO], ["t4"]),
    "id again": ([ONE, GO, CALL, ONE, SO], [GO, CALL, ONE, SO], ["messages[0]"]),
}


STRICT = ("openai", "anthropic")
"""The formats in which each shape is broken; the others accept some results further behind."""


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_break_is_mended_and_named(shape: str, provider: str) -> None:
    """A projection is in order, no word is lost, and `repaired` says what was mended."""
    broken, mended, named = SHAPES[shape]
    given = FORMATS[provider](broken)
    projection = project(given, 5_000, provider=provider, repair=True)
    check(projection.messages, provider)
    assert words_of(projection.messages) == words_of(FORMATS[provider](mended))
    again = project(projection.messages, 5_000, provider=provider, repair=True)
    assert (again.messages, again.repaired) == (projection.messages, ())
    if provider in STRICT:
        assert projection.repaired
        with pytest.raises(InvalidMessagesError):
            project(given, 5_000, provider=provider)
    if provider == "openai":
        assert (projection.messages, [*projection.repaired]) == (chat(mended), named)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("shape", SHAPES)
def test_adapters_mend_the_same_way(shape: str, provider: str) -> None:
    """A wrapped client sends a valid list with the same words, at every request."""
    broken, mended, _ = SHAPES[shape]
    bridge, given = Bridge(WireDialect(provider), model=5_000), FORMATS[provider](broken)
    sent = bridge.fit(given)
    check(sent, provider)
    assert words_of(sent) == words_of(FORMATS[provider](mended))
    assert bridge.fit(given) == sent


def words_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is said in messages, sorted."""
    return sorted(re.findall(rf"KEY-c\d|Go\.|And hurry\.|Wait\.|So\?|{NONE}", json.dumps(messages)))


def test_contents_of_the_model_are_joined_where_a_result_between_was_left_out() -> None:
    """Gemini takes no call directly behind words of the model."""
    given = gemini([GO, WAIT, ("result", "c9"), CALL, ONE, SO])
    projection = project(given, 5_000, provider="gemini", repair=True)
    check(projection.messages, "gemini")
    assert projection.messages == gemini([GO, WAIT, CALL, ONE, SO])


def test_a_late_result_without_an_id_finds_its_call() -> None:
    """Also the second one of a content, behind a call of another tool."""

    def content(role: str, key: str, *names: str) -> Message:
        more = {"response": {"result": "KEY"}} if key == "functionResponse" else {}
        return {"role": role, "parts": [{key: {"name": name, **more}} for name in names]}

    called = content("model", "functionCall", "look", "taste")
    answered = content("user", "functionResponse", "look", "taste")
    other = [content("model", "functionCall", "wash"), content("user", "functionResponse", "wash")]
    go = {"role": "user", "parts": [{"text": "Go."}]}
    projection = project([go, called, go, *other, answered], 5_000, repair=True)
    assert NO_RESULT not in str(projection.messages)
    assert str(projection.messages).count("KEY") == len(["look", "taste", "wash"])


def looked(provider: str, value: Any) -> list[Message]:
    """Return a conversation with a call whose result holds `value`."""
    go, so = {"role": "user", "content": "Go."}, {"role": "user", "content": "So?"}
    match provider:
        case "openai":
            return [*chat([GO, CALL]), {"role": "tool", "tool_call_id": "c1", "content": value}, so]
        case "anthropic":
            used = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "c1", "content": value}
            return [
                go,
                {"role": "assistant", "content": [used]},
                {"role": "user", "content": [result, {"type": "text", "text": "So?"}]},
            ]
        case _:
            called = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
            return [go, called, {"type": "function_call_output", "call_id": "c1", "output": value}]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-responses"])
@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (7, "7"), (0.5, "0.5"), (True, "true"), ("ok", "ok")]
)
def test_the_value_of_a_tool_becomes_text(provider: str, value: object, text: str) -> None:
    """A number as the content of a result is its text, and null an empty text."""
    mended = project(looked(provider, value), 5_000, provider=provider, repair=True).messages
    assert findings(mended, provider) == []
    if value is not None or provider != "anthropic":  # Anthropic accepts null.
        assert mended == looked(provider, text)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-responses"])
def test_the_value_of_a_tool_is_refused_without_repair(provider: str) -> None:
    """Without `repair`, a number is no content of a result."""
    with pytest.raises(InvalidMessagesError):
        project(looked(provider, 7), 5_000, provider=provider)


@pytest.mark.parametrize(
    ("given", "arguments"), [(None, {}), ('{"path": "a.py"}', {"path": "a.py"}), ("a.py", None)]
)
def test_the_input_of_a_call_becomes_an_object(given: object, arguments: Message | None) -> None:
    """Null is an input without arguments, and JSON text of an object is that object."""
    messages = looked("anthropic", "ok")
    messages[1]["content"][0]["input"] = given
    with pytest.raises(InvalidMessagesError):
        project(messages, 5_000, provider="anthropic")
    if arguments is None:
        with pytest.raises(InvalidMessagesError):
            project(messages, 5_000, provider="anthropic", repair=True)
        return
    mended = project(messages, 5_000, provider="anthropic", repair=True).messages
    assert mended[1]["content"][0]["input"] == arguments


def test_an_answer_without_parts_becomes_empty_text() -> None:
    """OpenAI refuses an empty list of parts."""
    given = [*chat([GO]), {"role": "assistant", "content": []}, *chat([SO])]
    mended = project(given, 5_000, provider="openai", repair=True).messages
    assert findings(mended, "openai") == []
    assert mended[1] == {"role": "assistant", "content": ""}
