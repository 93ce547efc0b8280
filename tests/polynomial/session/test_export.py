"""Sessions and logs are exported as JSON lines, and imported unchanged or refused."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session.export import with_missing_results
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.testing import FAST
from polycontext.window import ToolCall
from tests.polynomial.conversations import texts
from tests.sessions import sessions


class Order:
    """Belong to a conversation."""

    def to_data(self) -> Mapping[str, Any]:
        """Return it as JSON data."""
        return {"number": "QX7-2281"}


def lived() -> ContextSession:
    """Return a session with compressions, a recall, a companion, and hostile texts for lines."""
    session = ContextSession(
        400, counter=FAST, session_id="s", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
    )
    session.documents.accompany("order", Order())
    session.add_system("Be brief.")
    for number in range(60):
        session.add_user_turn(
            f"{number}: naïve 日本語\r\nline\u2028line \0 " + "word " * (number % 20)
        )
        session.add_assistant_turn(f"so {number}")
    session.compress(0.3)
    session.recall(session.log()[50].resource_id)
    session.pin("t2")
    session.add_user_turn("Look.")
    session.add_assistant_turn(None, [ToolCall("c1", "look", '{"at": "a b"}')])
    return session


def imported(
    lines: Any, store: Any, session_id: str | None = None, **options: Any
) -> ContextSession:
    """Return the session of these lines, with the options of `lived`."""
    return ContextSession.history.load(lines, store, session_id, 400, counter=FAST, **options)


@given(sessions())
def test_a_session_is_the_same_in_every_store_it_goes_through(session: ContextSession) -> None:
    """A session exported to a file and back is equal, and so is every exported line."""
    policy = session.policy
    options: Any = {"max_tokens": session.window.max_tokens, "counter": FAST}
    options |= {"threshold": policy.threshold, "auto": policy.auto, "cooldown": policy.cooldown}
    lines = list(session.history.export())
    with (
        TemporaryDirectory() as folder,
        ContextSession.history.load(lines, Path(folder) / "s.db", **options) as kept,
    ):
        assert kept.conversation == session.conversation
        again = list(kept.history.export())
    back = ContextSession.history.load(again, InMemoryStore(), **options)
    assert lines == again == list(back.history.export())
    assert back.conversation == session.conversation


def test_a_patch_behind_a_compression_changes_no_state() -> None:
    """The guards choose the state anew where turns changed, and only there."""
    session = ContextSession(200, counter=FAST, auto=False, cooldown=0)
    session.add_user_turn("Look at the shelves. " * 6)
    session.add_user_turn(" " * 3_000)
    session.compress(0.1)
    session.documents.patch("notes", lambda _: [{"op": "add", "path": "", "value": {}}])
    again = ContextSession.history.load(
        session.history.export(), max_tokens=200, counter=FAST, auto=False, cooldown=0
    )
    assert again.state == session.state == "COMPRESSED"


@given(sessions())
def test_a_log_begins_a_conversation_of_the_same_turns(session: ContextSession) -> None:
    """A new conversation made from a log keeps its turns, and exports the same lines."""
    anew = ContextSession.history.load_turns(
        session.history.export_turns(), 1_000_000, counter=FAST
    )
    assert texts(anew) == [turn.text for turn in with_missing_results(session.log())]
    assert (
        tuple(turn for turn in anew.log() if session.conversation.log.knows(turn.resource_id))
        == session.log()
    )
    assert list(
        ContextSession.history.load_turns(
            anew.history.export_turns(), 1_000_000, counter=FAST
        ).history.export_turns()
    ) == list(anew.history.export_turns())


@pytest.mark.parametrize("provider", [None, "openai", "anthropic", "openai-responses"])
def test_the_whole_log_is_handed_out_in_every_format(provider: str | None) -> None:
    """Also what the view no longer has, over budget and with a call that waits."""
    session = lived()
    written = json.dumps(session.history.messages(provider), ensure_ascii=False)
    assert all(f'"so {number}"' in written for number in range(60))
    assert '"so 3"' not in json.dumps(session.messages(allow_open=True))
    again = ContextSession.from_messages(session.history.messages(provider), 100_000, counter=FAST)
    assert texts(again) == texts(session)
    assert [call.id for call in again.open_calls] == ["c1"]


@cache
def in_lines() -> list[str]:
    """Return the lines of a session that has lived."""
    return list(lived().history.export())


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: [*lines[:70], lines[70][:-9], *lines[71:]], "line 71: not JSON"),
        (lambda lines: [*lines[:-2], lines[-1]],
         "line [0-9]+: OrderError|the last line: 1 events are missing"),
        (lambda lines: lines[:70], "the last line: [0-9]+ events are missing"),
        (lambda lines: [*lines, lines[-1]], "behind the last event"),
        (lambda lines: [lines[0], *lines[2:4], lines[1], *lines[4:]], "line [2-5]"),
        (lambda lines: [*lines[:9], lines[9].replace('"ACCUMULATING"', '"EMPTY"'), *lines[10:]],
         "line 10.state: .* leads to"),
        (lambda lines: lines[1:], "line 1.* Use an object with format, schema"),
        (lambda lines: [lines[0].replace('"schema":1', '"schema":2'), *lines[1:]],
         "line 1: format 'polycontext session', schema 2. Use .* schema 1"),
        (lambda lines: [re.sub('"events":[0-9]+', '"events":-1', lines[0]), *lines[1:]],
         r"line 1\.events: -1 events"),
        (lambda lines: [lines[0].replace('QX7-2281\\"}', "QX7"), *lines[1:]],
         "line 1.companions.order: not JSON"),
        (lambda lines: [None], "line 1: not JSON"),
    ],
)  # fmt: skip
def test_damage_is_refused_with_its_line_and_nothing_is_stored(
    damage: Callable[[list[str]], list[str]], line: str, tmp_path: Path
) -> None:
    """A damaged line is refused by its number, and nothing is stored."""
    file = tmp_path / "sessions.db"
    with pytest.raises(InvalidDataError, match=line):
        imported(damage(in_lines()), file)
    assert not file.exists()
    store = SQLiteStore(file)
    with pytest.raises(InvalidDataError, match=line):
        imported(damage(in_lines()), store)
    assert store.list_sessions() == ()
    store.close()


def test_lines_come_from_a_file_a_text_or_its_bytes(tmp_path: Path) -> None:
    """Empty lines are none; whatever separates lines inside of a text separates none here."""
    lines = in_lines()
    file = tmp_path / "session.jsonl"
    with file.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(lines)
    with file.open(encoding="utf-8") as read, file.open("rb") as raw:
        found = [
            list(imported(given, InMemoryStore()).history.export())
            for given in (read, raw, "".join(lines), "".join(lines).encode(),
                          "\r\n".join(line.rstrip("\n") for line in lines), ["\n", *lines])
        ]  # fmt: skip
    assert all(each == lines for each in found)


def test_an_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Importing a taken id is refused and changes nothing, and a new id imports beside it."""
    file = tmp_path / "sessions.db"
    with ContextSession.open(file, "s", 400, counter=FAST) as there:
        there.documents.accompany("order", Order())
        there.documents.save()
        before = list(there.history.export())
        with pytest.raises(
            InvalidOptionError,
            match=r"session_id = 's'. Use an id of which there is no session yet",
        ):
            imported(in_lines(), file)
        assert list(ContextSession.open(file, "s", 400, counter=FAST).history.export()) == before
    with imported(in_lines(), file, "t") as other:
        assert other.documents.get("order") == {"number": "QX7-2281"}
    assert ContextSession.history.list_sessions(file) == ("s", "t")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (
            '{"role": "user", "content": "hi", "tokens": "few"}',
            r"line 2\.tokens: 'few' is not a whole number",
        ),
        ('{"role": "nobody", "content": "hi"}', r"line 2\.role: unknown 'nobody'"),
        ("[]", "line 2: list is not an object. Use a line that export_turns wrote"),
    ],
)
def test_a_line_that_is_no_turn_is_refused(line: str, place: str) -> None:
    """By its number, and the place of its first fault."""
    with pytest.raises(InvalidDataError, match=place):
        ContextSession.history.load_turns(["\n", line], 400, counter=FAST)


def test_a_log_is_lines_that_others_can_read() -> None:
    """One object a turn; a turn needs a role and its content, everything else can be left out."""
    session = ContextSession(400, counter=FAST)
    session.add_user_turn("Hi 日本語")
    (line,) = session.history.export_turns()
    turn = json.loads(line)
    assert (turn["role"], turn["content"], turn["resource_id"]) == ("user", "Hi 日本語", "t1")
    assert "tokens" not in turn
    plain = ContextSession.history.load_turns(
        '{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}', 400, counter=FAST
    )
    assert [(turn.resource_id, turn.text) for turn in plain.log()] == [("t1", "a"), ("t2", "b")]


def test_a_torn_last_line_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Wherever a crash cut it off, also inside a character, or filled it with zero bytes."""
    session = ContextSession(400, counter=FAST)
    for said in ("Grüße", "Plums.", "Süße Pflaumen?"):
        session.add_user_turn(said)
    *whole, last = (line.encode() for line in session.history.export())
    for end in range(1, len(last) - 2):
        caplog.clear()
        torn = last[:end] + bytes(end % 3)
        loaded = ContextSession.history.load([*whole, torn], counter=FAST)
        assert texts(loaded) == ["Grüße", "Plums."]
        assert caplog.messages == ["line 4 is cut off, and was left out"]
    place = tmp_path / "torn.jsonl"
    place.write_bytes(b"".join(whole) + last[: last.index("ü".encode()) + 1])
    with place.open(encoding="utf-8") as lines:
        loaded = ContextSession.history.load(lines, counter=FAST)
    assert texts(loaded) == ["Grüße", "Plums."]
    with pytest.raises(InvalidDataError, match="1 events are missing"):
        ContextSession.history.load(whole, counter=FAST)
    turns = "".join(session.history.export_turns())[:-9]
    loaded = ContextSession.history.load_turns(turns, 400, counter=FAST)
    assert texts(loaded) == ["Grüße", "Plums."]


def test_swapped_events_are_refused() -> None:
    """An export says in which order its events stood, though most orders would be legal."""
    session = ContextSession(400, counter=FAST)
    for number in range(4):
        session.add_user_turn(f"Where is parcel {number}?")
    session.pin("t2")
    header, *events = session.history.export()
    for first, second in combinations(range(len(events)), 2):
        swapped = [*events]
        swapped[first], swapped[second] = events[second], events[first]
        with pytest.raises(InvalidDataError):
            ContextSession.history.load([header, *swapped], counter=FAST)
    with pytest.raises(InvalidDataError, match="not in the order"):
        ContextSession.history.load([header, events[1], events[0], *events[2:]], counter=FAST)
    old = {name: value for name, value in json.loads(header).items() if name != "order"}
    loaded = ContextSession.history.load([json.dumps(old), *events], counter=FAST)
    assert loaded.conversation == session.conversation
