"""The strict Chat Completions: answers, usage, faults, chunks."""

from typing import Any

from polycontext.testing.strict import StrictChat
from polycontext.testing.strict.provider import Event
from polycontext.window.providers import check

MODEL = "gpt-5.6"
CALLS = {
    "tool_calls": [
        {"function": {"name": "read", "arguments": '{"path": "a.py", "lines": [1, 2, 3]}'}},
        {"type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
    ]
}


def ask(provider: StrictChat, *words: str, **further: Any) -> dict[str, Any]:
    """Return the answer to the user's `words`."""
    return provider.create(
        {"model": MODEL, "messages": [{"role": "user", "content": word} for word in words]}
        | further
    )


def test_an_answer() -> None:
    """An answer has the vendor's fields; a call without id is given one, and says that it calls."""
    answer = ask(StrictChat(lambda _: CALLS, clock=lambda: 7.0), "hi")
    message = answer["choices"][0]["message"]
    assert (answer["object"], answer["created"], answer["model"]) == ("chat.completion", 7, MODEL)
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert [call["type"] for call in message["tool_calls"]] == ["function", "custom"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "a"}
        for call in message["tool_calls"]
    ]
    check([{"role": "user", "content": "hi"}, message, *results], "openai")
    assert (
        ask(StrictChat(lambda _: {"content": "a", "finish_reason": "length"}), "hi")["choices"][0][
            "finish_reason"
        ]
        == "length"
    )


def test_usage() -> None:
    """Usage counts the request's tokens, tools among them."""
    provider = StrictChat(lambda _: "done")
    small = ask(provider, "word " * 100)["usage"]
    assert small["prompt_tokens"] + small["completion_tokens"] == small["total_tokens"]
    assert 100 <= small["prompt_tokens"] < 120
    with_tools = ask(
        provider, "word " * 100, tools=[{"type": "function", "function": {"name": "read"}}]
    )["usage"]
    assert with_tools["prompt_tokens"] > small["prompt_tokens"]


def test_a_picture_costs_what_pictures_cost() -> None:
    """The payload of a picture is not counted as text."""
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 20_000},
    }
    usage = StrictChat(lambda _: "a cat").create(
        {"model": MODEL, "messages": [{"role": "user", "content": [picture]}]}
    )["usage"]
    assert usage["prompt_tokens"] < 3000


def test_ids_and_types_are_not_counted() -> None:
    """Long and short ids cost the same tokens."""
    long, short = (
        StrictChat(lambda _: "a").create({"model": MODEL, "messages": loop(own)})["usage"][
            "prompt_tokens"
        ]
        for own in ("c" * 40, "c")
    )
    assert long == short


def loop(own: str) -> list[dict[str, Any]]:
    """Return a conversation with one call of the id `own`."""
    call = {"id": own, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": own, "content": "a"}
    return [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        result,
    ]


def test_chunks() -> None:
    """The chunks give the message, the finish reason and, on request, the usage, then the end."""
    provider = StrictChat(
        lambda _: CALLS | {"content": "A text of some length, which takes pieces."}
    )
    request = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    events = list(provider.stream(request))
    assert events[-1] == Event(None, "[DONE]")
    chunks = [event.data for event in events[:-1]]
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"] > 0) == ([], True)
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert (
        "".join(delta.get("content") or "" for delta in deltas)
        == "A text of some length, which takes pieces."
    )
    pieces = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert (
        "".join(piece["function"]["arguments"] for piece in pieces if piece["index"] == 0)
        == '{"path": "a.py", "lines": [1, 2, 3]}'
    )
    assert len({piece["id"] for piece in pieces if "id" in piece}) == len(CALLS["tool_calls"])
    refused = [event.data for event in StrictChat(lambda _: {"refusal": "No."}).stream(request)][
        :-1
    ]
    assert (
        "".join(
            chunk["choices"][0]["delta"].get("refusal") or ""
            for chunk in refused
            if chunk["choices"]
        )
        == "No."
    )
