"""Gemini's contents become turns and are written again; answers and streams are read."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, project
from polycontext.window import InvalidMessagesError, Part, ToolCall, Turn
from polycontext.window.providers import get_format, unwrap
from tests.vendors import findings
from tests.window.media_files import b64, png

GEMINI = get_format("gemini")
PNG = b64(png(64, 64))
CALL: Mapping[str, Any] = {"functionCall": {"name": "look", "args": {"at": "Böden"}}}


def user(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the user."""
    return {"role": "user", "parts": list(parts)}


def model(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the model."""
    return {"role": "model", "parts": list(parts)}


def result(name: str, response: Mapping[str, Any], **fields: object) -> dict[str, Any]:
    """Return a part that holds a result."""
    return {"functionResponse": {"name": name, "response": response, **fields}}


def read(*contents: Mapping[str, Any]) -> Sequence[Turn]:
    """Return the turns of contents."""
    return GEMINI.parse(list(contents)).turns


def test_both_spellings_are_read_and_one_is_written() -> None:
    """The API and its SDK write fields in camel case or snake case; null fields are absent."""
    snake = [
        {"parts": [{"inline_data": {"mime_type": "image/png", "data": "AA=="}, "text": None}]},
        model({"function_call": {"name": "look", "args": {}}, "thought_signature": "AA=="}),
        {
            "role": "function",
            "parts": [
                {
                    "function_response": {
                        "name": "look",
                        "response": {},
                        "parts": [{"inline_data": {"mime_type": "image/png", "data": "AA=="}}],
                    }
                }
            ],
        },
    ]
    assert GEMINI.render(read(*snake)).messages == [
        user({"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
        model({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "AA=="}),
        {
            "role": "function",
            "parts": [
                {
                    "functionResponse": {
                        "name": "look",
                        "response": {},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}],
                    }
                }
            ],
        },
    ]
    assert read(*snake)[2].parts[-1].is_medium


def test_results_without_ids_find_their_calls_by_name_and_order() -> None:
    """Text beside results follows them."""
    asked = model(CALL, {"functionCall": {"name": "taste"}}, CALL)
    found = user(
        result("taste", {"sweet": "süß", "at": None}),
        {"text": "And?"},
        result("look", {"result": "one"}),
        result("look", {}),
    )
    turns = read(user({"text": "Well?"}), asked, found)
    assert [call.id for call in turns[1].tool_calls] == [
        "by-order:0:look",
        "by-order:1:taste",
        "by-order:2:look",
    ]
    assert [(turn.text, turn.tool_call_id) for turn in turns[2:]] == [
        ('{"sweet":"süß","at":null}', "by-order:1:taste"),
        ("one", "by-order:0:look"),
        ("{}", "by-order:2:look"),
        ("And?", None),
    ]


def test_a_result_finds_a_call_of_an_earlier_list() -> None:
    """A session reads one content at a time, and a call without an id is still answered."""
    session = ContextSession(8_000)
    session.add_message(user({"text": "Look."}), "gemini")
    session.add_message({"candidates": [{"content": model(CALL), "finishReason": "STOP"}]})
    session.add_message(user(result("look", {"result": "mould"})), "gemini")
    assert not session.window.open_calls
    assert session.messages("gemini")[2] == user(result("look", {"result": "mould"}))


@pytest.mark.parametrize(
    ("response", "text", "metadata"),
    [
        ({"result": "one"}, "one", {}),
        ({"output": "one"}, "one", {}),
        ({"error": "no"}, "no", {"is_error": True}),
        ({"result": [1]}, '{"result":[1]}', {}),
    ],
)
def test_a_response_of_one_text_is_that_text(
    response: Mapping[str, Any], text: str, metadata: Mapping[str, Any]
) -> None:
    """The name of its field is kept, and `error` marks a failed result; other data are JSON."""
    contents = [user({"text": "Look."}), model(CALL), user(result("look", response))]
    *_, found = read(*contents)
    assert (found.text, found.metadata) == (text, metadata)
    assert GEMINI.render(read(*contents)).messages[2] == contents[2]


def test_turns_of_others_get_what_the_provider_demands() -> None:
    """Names for results, one content for all of them, a signature, the user before a call."""
    turns = [
        Turn("assistant", "Well."),
        Turn("assistant", None, tool_calls=[ToolCall("a", "look"), ToolCall("b", "taste")]),
        Turn("tool", "mould", tool_call_id="a"),
        Turn("tool", "no", tool_call_id="b", metadata={"is_error": True}),
        Turn("system", "Be brief."),
    ]
    written = GEMINI.render(turns).messages
    GEMINI.check(written)
    assert [content["role"] for content in written] == ["model", "user", "model", "user", "user"]
    first, second = written[2]["parts"]
    assert "thoughtSignature" in first
    assert "thoughtSignature" not in second
    assert written[3]["parts"] == [
        result("look", {"result": "mould"}, id="a"),
        result("taste", {"error": "no"}, id="b"),
    ]


def test_media_become_parts_in_either_direction() -> None:
    """A picture of another provider is sent as data or by its address, and the other way round."""
    url = "https://example.org/cat.png"
    data = '{"type":"image_url","image_url":{"url":"%s"}}'
    turns = [
        Turn("user", "", parts=[Part("openai", data % address)])
        for address in ("data:image/png;base64," + PNG, url)
    ]
    assert [content["parts"][0] for content in GEMINI.render(turns).messages] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"fileData": {"mimeType": "image/png", "fileUri": url}},
    ]
    (turn,) = read(user({"inlineData": {"mimeType": "image/png", "data": PNG}}))
    assert get_format("openai").render([turn]).messages[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}
    ]
    (stored,) = read(user({"fileData": {"fileUri": "gs://cellar/plum.png"}}))
    assert [*get_format("openai").render([stored]).messages[0]["content"]] != [url]


def test_pieces_of_a_stream_are_one_answer() -> None:
    """Pieces of a text are joined; the signature of the last one stays."""
    pieces = [
        {"candidates": [{"content": model({"text": "Plu"})}]},
        {"candidates": [{"content": model({"text": "ms.", "thoughtSignature": "AA=="})}]},
        {"candidates": [{"content": model(CALL), "finishReason": "STOP"}]},
    ]
    assert unwrap([pieces]) == [model({"text": "Plums.", "thoughtSignature": "AA=="}, CALL)]
    with pytest.raises(InvalidMessagesError, match="single chunk"):
        unwrap(pieces[:1])


@pytest.mark.parametrize(
    "between", [{"text": "One moment."}, {"text": "Hm.", "thought": True}], ids=["text", "thought"]
)
def test_nothing_stands_between_a_call_and_its_result(between: Mapping[str, Any]) -> None:
    """What the model said there joins the content that calls; the vendor refuses it apart."""
    given = [user({"text": "Go."}), model(CALL), model(between), user(result("look", {}))]
    with pytest.raises(InvalidMessagesError, match="unanswered-call"):
        GEMINI.check(given)
    session = ContextSession(8_000)
    session.extend(given, "gemini")
    for sent in (session.request("gemini").messages, project(given, 8_000).messages):
        GEMINI.check(sent)
        assert [content["role"] for content in sent] == ["user", "model", "user"]
        assert sent[1]["parts"][1:] == [between]


def test_results_without_ids_are_sent_in_the_order_of_their_calls() -> None:
    """Whatever order they arrive in, also if requests are made in between."""
    prices = [{"functionCall": {"name": "price", "args": {"of": of}}} for of in "abc"]
    session = ContextSession(8_000)
    session.extend([user({"text": "Prices?"}), model(*prices)], "gemini")
    a, b, c = [call.id for call in session.open_calls]
    for call_id in (c, a, b):
        session.add_tool_turn(call_id, tool_call_id=call_id)
        session.request("gemini", allow_open=True)
    sent = session.request("gemini").messages[-1]["parts"]
    assert [part["functionResponse"]["response"]["result"] for part in sent] == [a, b, c]


def test_a_call_is_sent_where_the_provider_accepts_it() -> None:
    """Behind the user or results, whatever stands before it in the list."""
    words = [model({"text": text}) for text in ("One.", "Two.", "Three.")]
    answered = [model(CALL), user(result("look", {"result": "x"})), user({"text": "Go on."})]
    for before in ([], words[:1], [user({"text": "hi"}), *words]):
        given = [*before, *answered]
        session = ContextSession.from_messages(given, max_tokens=8_000, provider="gemini")
        for sent in (
            project(given, 8_000, provider="gemini").messages,
            project(given, 8_000, provider="gemini", repair=True).messages,
            session.request("gemini").messages,
            session.messages("gemini"),
        ):
            assert findings(sent, "gemini") == []
            assert all(content["parts"][0]["text"] in str(sent) for content in before)


def calls_made(number: int) -> int:
    """Return the Python function calls that reading so many results without ids takes."""
    names, made = [f"look{each}" for each in range(number)], 0
    calls = [{"functionCall": {"name": name, "args": {}}} for name in names]
    results = [result(name, {"result": "x"}) for name in reversed(names)]
    contents = [user({"text": "hi"}), model(*calls), user(*results)]

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    GEMINI.parse(contents)
    sys.setprofile(before)
    return made


def test_a_result_without_an_id_takes_no_more_work_if_there_are_more() -> None:
    """The function calls for each of 600 results are about those for each of 200."""
    calls_made(10)
    assert calls_made(600) < 1.1 * 3 * calls_made(200)
