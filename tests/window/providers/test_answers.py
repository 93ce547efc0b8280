"""SDK answers and accumulated streams, as objects or as their dumps, are read as messages."""

from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response

from polycontext import ContextSession, project
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import check, get_format
from polycontext.window.providers.formats import unwrap
from tests.window.providers.vendor_shapes import TABLE

ASK: dict[str, Any] = {"role": "user", "content": "weather in Paris?"}
COMPLETION, ANSWER, RESPONSE = TABLE["read"].values()
ITEMS = RESPONSE["output"]


def chunk(*deltas: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a chunk of a stream."""
    choices = [
        {"index": number, "delta": delta, "finish_reason": None}
        for number, delta in enumerate(deltas)
    ]
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-5.6",
        "choices": choices,
        **more,
    }


def calling(index: int, **call: Any) -> dict[str, Any]:
    """Return a chunk that tells some more of a call."""
    return chunk({"tool_calls": [{"index": index, **call}]})


CHUNKS = [
    chunk(),
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Let me "}),
    chunk({"content": "see."}),
    calling(0, id="a", type="function", function={"name": "weather", "arguments": ""}),
    calling(0, function={"arguments": '{"city": '}),
    calling(1, id="b", type="function", function={"name": "time", "arguments": ""}),
    calling(0, function={"name": "", "arguments": '"Paris"}'}),
    calling(1, function={"arguments": "{}"}),
    chunk({}),
    chunk(usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}),
]


def final_completion() -> Any:
    """Return what the SDK's stream helper returns in the end."""
    state = ChatCompletionStreamState()
    for each in CHUNKS:
        choices = [
            {**choice, "finish_reason": None if choice["delta"] else "tool_calls"}
            for choice in each["choices"]
        ]
        state.handle_chunk(ChatCompletionChunk.model_validate({**each, "choices": choices}))
    return state.get_final_completion()


def calls_of(session: ContextSession) -> list[tuple[str, str]]:
    """Return the calls of the last turn."""
    return [(call.id, call.name) for call in session.log()[-1].tool_calls]


CHAT = [
    COMPLETION,
    ChatCompletion.model_validate(COMPLETION),
    ChatCompletion.model_validate(COMPLETION).model_dump(),
]
REPEATING = [
    {
        **each,
        "choices": [
            {**one, "delta": {"role": "assistant", **one["delta"]}} for one in each["choices"]
        ],
    }
    for each in CHUNKS
]
"""Some gateways say in each chunk who speaks."""
STREAMED = [
    CHUNKS,
    tuple(CHUNKS),
    REPEATING,
    [ChatCompletionChunk.model_validate(each) for each in CHUNKS],
]


@pytest.mark.parametrize("provider", ["auto", "openai"])
@pytest.mark.parametrize("answer", [*CHAT, *STREAMED])
def test_a_chat_completion_is_its_message(answer: Any, provider: str) -> None:
    """As an object, as data, and as the chunks of a stream."""
    session = ContextSession(8000)
    session.add_message(ASK)
    session.add_message(answer, provider)
    assert session.log()[-1].text == "Let me see."
    assert calls_of(session) == [("a", "weather"), ("b", "time")]
    session.add_tool_turn("21", tool_call_id="a")
    session.add_tool_turn("noon", tool_call_id="b")
    check(session.messages("openai"), "openai")
    said = COMPLETION["choices"][0]["message"]
    assert session.messages("openai")[1]["tool_calls"] == said["tool_calls"]


def test_what_the_sdk_parsed_stays_with_the_sdk() -> None:
    """A stream's final completion has fields that no provider takes back."""
    session = ContextSession(8000)
    session.extend([ASK, final_completion()], "openai")
    (_, said) = session.messages("openai", allow_open=True)
    assert "parsed" not in said
    assert all(set(call["function"]) == {"name", "arguments"} for call in said["tool_calls"])
    assert calls_of(session) == [("a", "weather"), ("b", "time")]


def test_what_the_sdk_parsed_of_a_response_stays_with_the_sdk() -> None:
    """Neither the words' nor the calls'."""
    from openai.types.responses import ParsedResponse  # noqa: PLC0415 - beside what it is about

    output = [
        ITEMS[0],
        {**ITEMS[1], "content": [{**ITEMS[1]["content"][0], "parsed": {"a": 1}}]},
        {**ITEMS[2], "parsed_arguments": {}},
    ]
    session = ContextSession(8000)
    answer: Any = ParsedResponse.model_validate({**RESPONSE, "output": output})
    session.extend([ASK, answer])
    assert session.messages("openai-responses", allow_open=True)[1:] == ITEMS


@pytest.mark.parametrize("provider", ["auto", "openai-responses"])
@pytest.mark.parametrize(
    "answer",
    [RESPONSE, Response.model_validate(RESPONSE), Response.model_validate(RESPONSE).model_dump()],
)
def test_a_response_is_its_items(answer: Any, provider: str) -> None:
    """All of them in one commit, reasoning first."""
    session = ContextSession(8000)
    session.add_message(ASK)
    session.add_message(answer, provider)
    assert session.history.revision == 2
    assert calls_of(session) == [("a", "weather")]
    sent = session.messages("openai-responses", allow_open=True)
    assert [item.get("id") for item in sent] == [None, "rs_1", "msg_1", "fc_1"]


@pytest.mark.parametrize("provider", ["auto", "anthropic"])
@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        AnthropicMessage.model_validate(ANSWER),
        AnthropicMessage.model_validate(ANSWER).model_dump(),
    ],
)
def test_an_anthropic_message_is_its_role_and_content(answer: Any, provider: str) -> None:
    """Its usage and its id stay behind, also where it comes as data."""
    session = ContextSession(8000)
    session.add_message(ASK)
    session.add_message(answer, provider)
    said = session.messages("anthropic")[1]
    assert set(said) == {"role", "content"}
    assert said["content"][0]["text"] == "Let me see."
    check([*session.messages("anthropic"), ASK], "anthropic")


@pytest.mark.parametrize("answers", [[COMPLETION], CHUNKS, [CHUNKS]])
def test_a_list_may_hold_answers(answers: list[Any]) -> None:
    """Between messages, for `extend` and for `project`; the list that is given is not changed."""
    results = [{"role": "tool", "tool_call_id": name, "content": "21"} for name in "ab"]
    given = [ASK, *answers, *results]
    session, before = ContextSession(8000), [*given]
    session.extend(given)
    assert given == before
    assert session.messages("openai") == project(given, 8000).messages
    assert len(session.messages("openai")) == 4
    assert unwrap((ASK,)) == [ASK]


@pytest.mark.parametrize(
    "answer",
    [
        {**COMPLETION, "choices": []},
        {**COMPLETION, "choices": COMPLETION["choices"] * 2},
        {"object": "text_completion", "choices": [{"text": "hi"}]},
        [chunk({"content": "a"}, {"content": "b"})],
        [chunk({"content": "a"}), chunk({"content": {"b": "c"}})],
        [chunk({"tool_calls": [5]})],
        [chunk({"tool_calls": [{"index": []}]})],
        *(
            {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
            for parts in ("x", [5], [None], {"text": "x"})
        ),
        [chunk()],
        [chunk(choices=5)],
        [chunk(choices=[5])],
        {"type": "message_start", "message": ANSWER},
        {"type": "response.created", "response": RESPONSE},
    ],
)
def test_what_holds_no_single_message_is_refused(answer: Any) -> None:
    """In words, and nothing is taken in."""
    session = ContextSession(8000)
    session.add_message(ASK)
    with pytest.raises(InvalidMessagesError) as caught:
        session.add_message(answer)
    assert caught.value.rule == "bad-answer"
    assert session.history.revision == 1


def test_a_stream_of_many_chunks_is_joined_once() -> None:
    """Joining a stream of many chunks takes time linear in its characters."""
    said = unwrap([chunk({"content": "word "}) for _ in range(20_000)])
    assert said == [{"role": "assistant", "content": "word " * 20_000}]


def test_whatever_else_is_no_message() -> None:
    """A class, and an object that dumps to no object, are refused like everything that is none."""

    class Odd:
        def model_dump(self, **_: object) -> list[int]:
            return [1]

    for odd in (Odd(), Odd, object()):
        with pytest.raises(InvalidMessagesError, match=r"not-an-object|not-json"):
            get_format("openai").parse([odd])
        with pytest.raises(InvalidMessagesError):
            get_format("openai").parse([{"role": "user", "content": [odd, {1, 2}]}])
