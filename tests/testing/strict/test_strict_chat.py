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


USER = {"role": "user", "content": "hi"}


def ask(provider: StrictChat, *messages: Any, **further: Any) -> dict[str, Any]:
    """Return the answer to messages."""
    return provider.create({"model": MODEL, "messages": messages or [USER], **further})


def test_an_answer() -> None:
    """An answer has the vendor's fields; a call without id is given one, and says that it calls."""
    answer = ask(StrictChat(lambda _: CALLS, clock=lambda: 7.0))
    message = answer["choices"][0]["message"]
    assert (answer["object"], answer["created"], answer["model"]) == ("chat.completion", 7, MODEL)
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert [call["type"] for call in message["tool_calls"]] == ["function", "custom"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "a"}
        for call in message["tool_calls"]
    ]
    check([USER, message, *results], "openai")
    cut = StrictChat(lambda _: {"content": "a", "finish_reason": "length"})
    assert ask(cut)["choices"][0]["finish_reason"] == "length"


def tokens(*messages: Any, **further: Any) -> int:
    """Return the tokens of a prompt."""
    usage = ask(StrictChat(lambda _: "done"), *messages, **further)["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    return int(usage["prompt_tokens"])


def test_what_a_prompt_costs() -> None:
    """Text and tools count; a picture costs what pictures cost, and ids cost nothing."""
    url = "data:image/png;base64," + "iVBORw0KGgo" * 20_000
    picture = {"type": "image_url", "image_url": {"url": url}}
    words, tool = USER | {"content": "word " * 100}, {"name": "read"}
    assert 100 <= tokens(words) < 120
    assert tokens(words, tools=[{"type": "function", "function": tool}]) > tokens(words)
    assert tokens(USER | {"content": [picture]}) < 3000
    assert tokens(*loop("c" * 40)) == tokens(*loop("c"))


def loop(own: str) -> list[dict[str, Any]]:
    """Return a conversation with one call of the id `own`."""
    call = {"id": own, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": own, "content": "a"}
    return [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result]


def test_chunks() -> None:
    """All chunks have one id; the last ones give the finish reason and the usage, then the end."""
    said = "A text of some length, which takes pieces."
    provider = StrictChat(lambda _: CALLS | {"content": said, "refusal": "No."})
    options = {"stream": True, "stream_options": {"include_usage": True}}
    events = list(provider.stream({"model": MODEL, "messages": [USER], **options}))
    assert events[-1] == Event(None, "[DONE]")
    chunks = [event.data for event in events[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"] > 0) == ([], True)
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    for field, whole in (("content", said), ("refusal", "No.")):
        assert "".join(delta.get(field) or "" for delta in deltas) == whole
    pieces = [call for delta in deltas for call in delta.get("tool_calls", ())]
    arguments = [each["function"]["arguments"] for each in pieces if "function" in each]
    assert "".join(arguments) == '{"path": "a.py", "lines": [1, 2, 3]}'
    assert "".join(each["custom"]["input"] for each in pieces if "custom" in each) == "*** Begin"
    assert len({piece["id"] for piece in pieces if "id" in piece}) == len(CALLS["tool_calls"])
