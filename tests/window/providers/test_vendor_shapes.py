"""What vendors, servers and clients really send is taken by every door, and sent on validly."""

import copy
import json
from collections.abc import Callable, Sequence
from struct import pack
from typing import Any

import pytest

from polycontext import ContextSession, project
from polycontext.adapters import Bridge
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import check, get_format
from tests.vendors import check_request, findings
from tests.window.media_files import b64, png
from tests.window.providers.vendor_shapes import (
    ANSWERS,
    REWRITTEN,
    TABLE,
    UNCHANGED,
    Message,
    Shape,
    shapes,
)

CHAT, RESPONSES, ANTHROPIC = "openai", "openai-responses", "anthropic"
ROOM = 50_000
CLIENT_CALLS: dict[str, Message] = TABLE["client_calls"]


def user(content: Any) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def assistant(content: Any, **further: Any) -> Message:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": content, **further}


def called(call_id: str, arguments: str = "{}") -> Message:
    """Return a call of a chat message."""
    function = {"name": "look", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def by_project(messages: Sequence[Message], provider: str) -> list[Message]:
    """Return what `project` makes of a list."""
    return project(messages, ROOM, provider=provider).messages


def by_session(messages: Sequence[Message], provider: str) -> list[Message]:
    """Return what a session sends that was handed a list."""
    session = ContextSession(ROOM, provider=provider)
    session.extend(messages, provider)
    return session.request(provider).inline()


def by_bridge(messages: Sequence[Message], provider: str) -> list[Message]:
    """Return what a wrapped client sends."""
    return [*map(dict, Bridge(WireDialect(provider), model=ROOM).fit(messages))]


Door = Callable[[Sequence[Message], str], list[Message]]


@pytest.mark.parametrize("door", [by_project, by_session, by_bridge])
@pytest.mark.parametrize("shape", [*UNCHANGED, *REWRITTEN], ids=str)
def test_every_door_takes_what_vendors_and_clients_send(shape: Shape, door: Door) -> None:
    """The list goes on to the model, valid and with its words."""
    before = copy.deepcopy(shape.value)
    sent = door(shape.value, shape.provider)
    assert shape.value == before
    get_format(shape.provider).check(sent)
    assert [word for word in shape.words if word not in json.dumps(sent)] == []


@pytest.mark.parametrize("shape", UNCHANGED, ids=str)
def test_a_list_that_a_vendor_accepts_and_that_fits_is_unchanged(shape: Shape) -> None:
    """The provider accepts it as it is, and so does `check`."""
    check(shape.value, shape.provider)
    projection = project(shape.value, ROOM, provider=shape.provider)
    assert projection.messages == shape.value
    assert not projection.changed


@pytest.mark.parametrize("shape", shapes("accepted"), ids=str)
def test_odd_but_legal(shape: Shape) -> None:
    """What a vendor accepts is no fault, however odd it looks."""
    assert findings(shape.value, shape.provider) == []


@pytest.mark.parametrize("row", TABLE["refused"], ids=str)
def test_each_broken_shape_names_its_rule_and_place(row: Message) -> None:
    """A broken list is refused with a stable rule name and the index of the message.

    The requests of tests/testing/strict are not repeated here.
    """
    wire = get_format(row["provider"])

    def read() -> None:
        if row["provider"] == CHAT:
            wire.parse(row["value"])
        wire.check(row["value"])

    with pytest.raises(InvalidMessagesError) as caught:
        read()
    assert caught.value.provider == row["provider"]
    assert (caught.value.rule, caught.value.index) == (row["rule"], row["index"])
    assert caught.value.legal


WHOLE: dict[str, Message] = {
    ANTHROPIC: {"model": "m", "max_tokens": 9, "messages": [user("hi")]},
    CHAT: {"model": "m", "messages": [user("hi")]},
    RESPONSES: {"model": "m", "input": [user("hi")]},
}


@pytest.mark.parametrize("row", TABLE["malformed"], ids=str)
def test_what_is_malformed_is_refused_by_its_rule(row: Message) -> None:
    """A field of another type or value breaks the rule that the error names."""
    request = WHOLE[row["provider"]]
    check_request(request, row["provider"])
    with pytest.raises(InvalidMessagesError) as refused:
        check_request(request | row["change"], row["provider"])
    assert refused.value.rule == row["rule"]


@pytest.mark.parametrize("shape", [*UNCHANGED, *REWRITTEN], ids=str)
def test_a_list_that_a_vendor_accepts_is_valid_at_every_length(shape: Shape) -> None:
    """Repeated and shortened, it stays valid for its vendor."""
    given = [*shape.value, *(message for _ in range(4) for message in shape.value)]
    whole = project(given, 10**6, provider=shape.provider)
    for percent in (85, 60, 40):
        room = max(whole.tokens_before * percent // 100, whole.floor + 30)
        sent = project(given, room, provider=shape.provider)
        assert sent.reached
        get_format(shape.provider).check(sent.messages)


@pytest.mark.parametrize("shape", ANSWERS, ids=str)
def test_an_answer_is_stored_and_the_next_request_is_valid(shape: Shape) -> None:
    """No answer is refused, none is lost, and the conversation goes on with every vendor."""
    session = ContextSession(ROOM, provider=shape.provider)
    session.add_user_turn("Reserve a table, please.")
    session.add_message(copy.deepcopy(shape.value), shape.provider)
    assert len(session.log()) == 2
    for call in session.open_calls:
        session.add_tool_turn("RX-90", tool_call_id=call.id)
    session.add_user_turn("Go on, please.")
    sent = session.request(shape.provider).inline()
    get_format(shape.provider).check(sent)
    told = json.dumps(sent)
    assert [word for word in (*shape.words, "Go on, please.") if word not in told] == []
    for other in (CHAT, RESPONSES, ANTHROPIC):
        get_format(other).check(session.messages(other))
    session.compress(0.0001)
    get_format(shape.provider).check(session.messages(shape.provider))


@pytest.mark.parametrize("shape", [each for each in ANSWERS if each.name == "a stream"], ids=str)
def test_a_single_piece_of_a_stream_is_refused(shape: Shape) -> None:
    """One chunk given alone would become a turn of its own."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    with pytest.raises(InvalidMessagesError, match="all chunks or events of one answer"):
        session.add_message(shape.value[0])


@pytest.mark.parametrize("written", ["", " ", "null", "[]"])
def test_a_call_without_arguments_is_converted_to_an_empty_object(written: str) -> None:
    """Servers write no arguments as an empty text, some as null, and PHP as an empty list."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    session.add_message(assistant(None, tool_calls=[called("call_look", written)]))
    session.add_tool_turn("RX-90", tool_call_id="call_look")
    assert session.messages(ANTHROPIC)[1]["content"][0]["input"] == {}


def test_what_was_spoken_is_the_text_of_the_turn() -> None:
    """It is searched and converted, and sent as it came to its own vendor."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    (answer,) = (each.value for each in ANSWERS if each.name == "speech")
    session.add_message(answer)
    assert session.log()[1].text == "Table four."
    assert session.history.search("Table four")
    assert session.messages(CHAT)[1] == answer["choices"][0]["message"]


def test_each_call_keeps_its_field_of_reasoning() -> None:
    """Servers refuse a call without the reasoning that they gave; an empty one will do."""
    given = [user("Reserve every table, please.")]
    for number in range(8):
        calls = [called(f"c{number}")]
        thought = f"Table {number} is next. " * 20
        given.append(assistant("", tool_calls=calls, reasoning_content=thought, reasoning=thought))
        result = f"Table {number} is free. " * 20
        given.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    whole = project(given, 10**6).tokens_before
    for percent in (80, 60, 45):
        sent = [m for m in project(given, whole * percent // 100).messages if "tool_calls" in m]
        assert sent
        assert all(
            isinstance(each.get(name), str)
            for each in sent
            for name in ("reasoning_content", "reasoning")
        )


def answered(session: ContextSession) -> Message:
    """Return the last output that a session sends, once the user goes on."""
    session.add_user_turn("And now?")
    items = session.messages(RESPONSES)
    check(items, RESPONSES)
    return next(item for item in reversed(items) if "_output" in item.get("type", ""))


@pytest.mark.parametrize("tool", CLIENT_CALLS)
def test_a_text_answers_a_client_tool_in_the_form_that_the_vendor_takes(tool: str) -> None:
    """A result that is added, closed or inserted has the tool's own form."""
    call = CLIENT_CALLS[tool]

    added, closed = (
        ContextSession.from_messages([user("Do it."), call], max_tokens=ROOM, provider=RESPONSES)
        for _ in range(2)
    )
    added.add_tool_turn("It worked.", tool_call_id="c1")
    closed.close_open_calls("it was stopped")
    (done, failed) = answered(added), answered(closed)
    assert {done["type"], failed["type"]} == {f"{tool}_call_output"}
    if tool == "shell":
        assert [done["output"][0]["stdout"], failed["output"][0]["outcome"]["exit_code"]] == [
            "It worked.",
            1,
        ]
    if tool == "local_shell":
        assert (done["id"], done["call_id"], done["output"]) == ("c1", "c1", "It worked.")
    if tool == "apply_patch":
        assert (done["status"], done["output"], failed["status"]) == (
            "completed",
            "It worked.",
            "failed",
        )
    repaired = project(
        [user("Do it."), call, user("And?")], ROOM, provider=RESPONSES, repair=True
    ).messages
    assert [item.get("type", "message") for item in repaired][2] == f"{tool}_call_output"


def test_long_results_of_client_tools_are_shortened_in_their_own_form() -> None:
    """A shell's output stays a list of outputs, however little of it is left."""
    given = [user("Why does it fail?")]
    for number in range(6):
        outcome = {"type": "exit", "exit_code": 0}
        said = f"compiling part {number}\n" * 90
        part = {"stdout": said, "stderr": "", "outcome": outcome}
        own = {"call_id": f"c{number}"}
        given.append({**CLIENT_CALLS["shell"], **own, "id": f"sh_{number}"})
        given.append({"type": "shell_call_output", **own, "output": [part]})
    whole = project(given, 10**6, provider=RESPONSES).tokens_before
    for percent in (90, 60, 30):
        sent = project(given, whole * percent // 100, provider=RESPONSES).messages
        check(sent, RESPONSES)
        outputs = [item for item in sent if item.get("type") == "shell_call_output"]
        assert all(set(item["output"][0]) == {"stdout", "stderr", "outcome"} for item in outputs)


def picture(width: int, height: int) -> str:
    """Return a data URL of a picture, of which only the head is real."""
    return f"data:image/png;base64,{b64(png(width, height, 200_000))}"


def film(seconds: int) -> str:
    """Return a data URL of a film, of which only the head is real."""
    head = b"\0\0\0\x6cmvhd" + bytes(12) + pack(">II", 600, 600 * seconds)
    return f"data:video/mp4;base64,{b64(b'ftypisom' + head + bytes(200_000))}"


PLOT = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "container_id": "c",
    "code": "plot()",
    "outputs": [{"type": "image", "url": picture(1024, 768)}],
}


@pytest.mark.parametrize(
    ("messages", "least", "most"),
    [
        ([user([{"type": "video_url", "video_url": {"url": film(10)}}])], 3_000, 3_200),
        ([user([{"type": "video_url", "video_url": {"url": "https://e.org/a"}}])], 18_000, 18_200),
        ([user([{"type": "from_2030", "of": {"it": picture(640, 480)}}])], 700, 1_000),
        ([user("Plot it."), PLOT], 1_500, 2_500),
        (
            [user([{"type": "image_url", "image_url": {"url": picture(8_000, 8_000)}}])],
            9_000,
            12_100,
        ),
    ],
    ids=["film", "linked film", "unknown block", "plot", "huge picture"],
)
def test_base64_is_counted_as_what_it_shows(messages: list[Message], least: int, most: int) -> None:
    """Pictures count by their pixels up to the vendors' cap, and films by their seconds."""
    assert least <= project(messages, 10**6).tokens_before <= most


@pytest.mark.parametrize("room", [2_600, 3_700])
def test_the_newest_picture_stays_while_it_fits(room: int) -> None:
    """It goes only if it does not fit beside what must stay, however large a share it takes."""
    given = [user("Book the flight on the page.")]
    for number in range(2):
        data = picture(1024, 768).partition(",")[2]
        source = {"type": "base64", "media_type": "image/png", "data": data}
        name = f"t{number}"
        used = {"type": "tool_use", "id": name, "name": "look", "input": {}}
        seen = {"type": "tool_result", "tool_use_id": name}
        given.append(assistant([used]))
        given.append(user([{**seen, "content": [{"type": "image", "source": source}]}]))
    sent = project(given, room, provider=ANTHROPIC).messages
    assert '"base64"' in json.dumps(sent[-1])
    assert json.dumps(sent).count('"base64"') == 1


@pytest.mark.parametrize(
    "shape", [each for each in REWRITTEN if "interrupted" in each.name], ids=str
)
def test_what_was_open_is_given_up_after_it_was_sent(shape: Shape) -> None:
    """A request may be made at any point; what is judged once is judged again if it changed."""
    session = ContextSession(ROOM, provider=shape.provider)
    for message in shape.value:
        session.extend([message], shape.provider)
        session.messages(allow_open=True)
    session.add_assistant_turn("Fine.")
    session.add_user_turn("Thanks.")
    check(session.messages(), shape.provider)
