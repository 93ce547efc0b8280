"""What vendors, servers and clients really send is taken by every door, and sent on validly."""

import copy
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import pack
from typing import Any

import anthropic
import openai
import pytest

from polycontext import ContextSession, project
from polycontext.adapters.anthropic import wrap as wrap_anthropic
from polycontext.adapters.openai import wrap as wrap_openai
from polycontext.testing.strict import StrictServer
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import check, get_format
from tests.vendors import StrictAnthropic, StrictChat, StrictResponses
from tests.window.providers.vendor_shapes import (
    ANSWERS,
    ANTHROPIC,
    ASK,
    CHAT,
    CLIENT_CALLS,
    RESPONSES,
    REWRITTEN,
    UNCHANGED,
    VOICE,
    Message,
    Shape,
    assistant,
    called,
    choice,
    chunk,
    claude_events,
    response_events,
    result,
    tool_use,
    user,
)

ROOM = 50_000
Door = Callable[[Sequence[Message], str, Path], list[Message]]


def by_project(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what `project` makes of a list."""
    return project(messages, ROOM, provider=provider).messages


def by_session(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what a session sends that was handed a list."""
    session = ContextSession(ROOM, provider=provider)
    session.extend(messages, provider)
    return session.request(provider).inline()


def by_client(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what a wrapped client sends to a strict provider."""
    seen: list[Any] = []

    def reply(request: Any) -> str:
        seen.append(request)
        return "Fine."

    kinds: Any = {CHAT: StrictChat, ANTHROPIC: StrictAnthropic, RESPONSES: StrictResponses}
    options: dict[str, Any] = {"api_key": "none", "max_retries": 0}
    with StrictServer(kinds[provider](reply)) as server:
        if provider == ANTHROPIC:
            with anthropic.Anthropic(base_url=server.url, **options) as plain:
                ask: Any = wrap_anthropic(plain, ROOM).messages.create
                ask(model="claude-sonnet-5", max_tokens=9, messages=messages)
            return [*seen[0]["messages"]]
        with openai.OpenAI(base_url=f"{server.url}/v1", **options) as client:
            wrapped: Any = wrap_openai(client, ROOM)
            if provider == CHAT:
                wrapped.chat.completions.create(model="gpt-5", messages=messages)
                return [*seen[0]["messages"]]
            wrapped.responses.create(model="gpt-5", input=messages)
            return [*seen[0]["input"]]


DOORS: list[Door] = [by_project, by_session, by_client]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("shape", [*UNCHANGED, *REWRITTEN], ids=str)
def test_every_door_takes_what_vendors_and_clients_send(
    shape: Shape, door: Door, tmp_path: Path
) -> None:
    """The list goes on to the model, valid and with its words."""
    before = copy.deepcopy(shape.value)
    sent = door(shape.value, shape.provider, tmp_path)
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


@pytest.mark.parametrize(
    "part",
    [chunk(content="Table "), claude_events()[0], response_events()[0]],
    ids=["chunk", "message_start", "response.created"],
)
def test_a_single_piece_of_a_stream_is_refused(part: Message) -> None:
    """One chunk given alone would become a turn of its own."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    with pytest.raises(InvalidMessagesError, match="all chunks or events of one answer"):
        session.add_message(part)


def test_a_call_without_arguments_is_converted_to_an_empty_object() -> None:
    """Servers write no arguments as an empty text."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    session.add_message(assistant(None, tool_calls=[called("look", "")]))
    session.add_tool_turn("RX-90", tool_call_id="call_look")
    assert session.messages(ANTHROPIC)[1]["content"][0]["input"] == {}


def test_what_was_spoken_is_the_text_of_the_turn() -> None:
    """It is searched and converted, and sent as it came to its own vendor."""
    session = ContextSession(ROOM)
    session.add_user_turn("Reserve a table, please.")
    session.add_message(choice(content=None, audio=VOICE))
    assert session.log()[1].text == VOICE["transcript"]
    assert session.history.search("Table four")
    assert session.messages(CHAT)[1] == {"role": "assistant", "content": None, "audio": VOICE}


def test_each_call_keeps_its_field_of_reasoning() -> None:
    """Servers refuse a call without the reasoning that they gave; an empty one will do."""
    given = [user("Reserve every table, please.")]
    for number in range(8):
        calls = [called("look", id=f"c{number}")]
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

    def called() -> ContextSession:
        session = ContextSession(ROOM, provider=RESPONSES)
        session.extend([ASK, call], RESPONSES)
        return session

    (added, closed) = called(), called()
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
    repaired = project([ASK, call, user("And?")], ROOM, provider=RESPONSES, repair=True).messages
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


def data_url(media_type: str, data: bytes) -> str:
    """Return a data URL."""
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def png(width: int, height: int) -> str:
    """Return a data URL of a picture, of which only the head is real."""
    size = pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return data_url("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + size + bytes(200_000))


def film(seconds: int) -> str:
    """Return a data URL of a film, of which only the head is real."""
    head = b"\0\0\0\x6cmvhd" + bytes(12) + pack(">II", 600, 600 * seconds)
    return data_url("video/mp4", b"\0\0\0\x18ftypisom" + head + bytes(200_000))


PLOT = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "container_id": "c",
    "code": "plot()",
    "outputs": [{"type": "image", "url": png(1024, 768)}],
}


@pytest.mark.parametrize(
    ("messages", "least", "most"),
    [
        ([user([{"type": "video_url", "video_url": {"url": film(10)}}])], 3_000, 3_200),
        ([user([{"type": "video_url", "video_url": {"url": "https://e.org/a"}}])], 18_000, 18_200),
        ([user([{"type": "from_2030", "of": {"it": png(640, 480)}}])], 700, 1_000),
        ([user("Plot it."), PLOT], 1_500, 2_500),
        ([user([{"type": "image_url", "image_url": {"url": png(8_000, 8_000)}}])], 9_000, 12_100),
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
        data = png(1024, 768).partition(",")[2]
        source = {"type": "base64", "media_type": "image/png", "data": data}
        given.append(assistant([tool_use(f"t{number}")]))
        given.append(user([result(f"t{number}", [{"type": "image", "source": source}])]))
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
