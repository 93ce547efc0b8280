"""The timeline of a session: what stood at each event, whatever happened to the conversation."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore, Stored
from polycontext.pressure import pressure_of
from tests.house import sizes
from tests.polynomial.conversations import session_of, words
from tests.polynomial.session.faulty import Ticking


class Loads(InMemoryStore):
    """A store that counts how often it is read."""

    count = 0

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return what is stored."""
        self.count += 1
        return super().load(session_id, after)


def wander(random: Random, session: ContextSession, steps: int) -> ContextSession:
    """Return a session that was driven at random, perhaps a fork of `session`."""
    for number in range(steps):
        ids = [turn.resource_id for turn in session.log()] or ["t1"]
        chosen, history, seconds = random.choice(ids), session.history, f"n{number}_"
        moves: list[Callable[[], Any]] = [
            partial(history.rewind, random.randrange(history.revision + 1)),
            partial(history.edit, chosen, words(5, f"e{number}_")),
            partial(history.fork, f"fork-{number}", chosen),
            partial(history.forget, chosen),
            partial(session.compress, random.choice([0.1, 0.4])),
            partial(session.recall, chosen),
            partial(session.promote, chosen, "PRESERVED"),
            session.clear,
            partial(session.send, "resize", random.choice([250, 300, 400])),
            partial(session.documents.patch, "notes", partial(_value, number)),
            history.timeline,  # what is folded so far goes on with what comes
        ]
        says: Callable[[], Any] = partial(
            session.add_user_turn, words(random.randrange(1, 30), seconds)
        )
        with suppress(PolycontextError):
            done = random.choice([*moves, *[says] * 8])()
            session = done if isinstance(done, ContextSession) else session
    return session


def _value(number: int, _: object) -> list[dict[str, Any]]:
    return [{"op": "add", "path": "", "value": number}]


def shown(session: ContextSession) -> tuple[object, ...]:
    """Return what a past view shows."""
    now = session.conversation
    batches = [ids for _, ids in now.past.batches]
    return now.state, now.window, tuple(now.log), batches, now.documents, now.since


@pytest.mark.parametrize("seeds", sizes(8, 200))
def test_the_past_is_what_a_fresh_session_shows(seeds: int) -> None:
    """Edits, rewinds, forks and erasures: each past view equals that of a session opened anew."""
    for seed in range(seeds):
        compare(seed)


def compare(seed: int) -> None:
    """Compare the past views of a random session with those of sessions opened anew."""
    random, store = Random(seed), InMemoryStore()  # noqa: S311 - nothing here is a secret
    session = wander(random, session_of(300, clock=Ticking(), store=store), 40)
    entries = session.history.timeline()
    assert len(entries) == session.history.revision + 1
    for entry in entries:
        past = session.history.at(entry.revision)
        fresh = session_of(session.window.max_tokens, store=store, session_id=session.session_id)
        assert shown(past) == shown(fresh.history.at(entry.revision))
        assert (entry.state, entry.pressure) == (past.state, past.pressure)
        assert sum(entry.tokens.values()) == past.window.total_tokens


def test_an_entry_says_what_came_and_went() -> None:
    """A compression takes turns and brings a gist; a rewind does the reverse."""
    session = session_of(200, clock=Ticking())
    for number in range(4):
        session.add_user_turn(words(30, f"n{number}_"))
    output = session.compress(0.2)
    assert output.compression is not None
    session.history.rewind(4)
    *_, squeezed, back = session.history.timeline()
    assert set(squeezed.went) == {*output.compression.gisted, *output.compression.dropped}
    assert (squeezed.kind, back.kind) == ("compress", "rewind")
    assert (squeezed.came, squeezed.went) == (back.went, back.came)
    assert squeezed.pressure < back.pressure == pressure_of(session.window)
    assert squeezed.tokens[ResourceClass.PRESERVED] > 0


def test_events_are_read_while_another_thread_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """It drops what was folded, perhaps right after it was found."""
    session = session_of()
    session.add_user_turn("Message.")
    session.history.timeline()
    writer = session._writer
    found = writer._known_frames

    def emptied() -> object:
        frames, writer._frames = found(), ()
        return frames

    monkeypatch.setattr(writer, "_known_frames", emptied)
    assert len(session.history.events()) == 1


def test_what_is_folded_is_folded_once() -> None:
    """A past view, a moment by id and a longer timeline load what is new and nothing else."""
    store = Loads()
    session = session_of(store=store)
    for number in range(100):
        session.add_user_turn(f"Message {number}.")
    first = session.history.timeline()
    store.count = 0
    assert session.history.at(50).log()[-1].text == "Message 49."
    assert session.history.at("t7").log()[-1].text == "Message 6."
    assert not store.count
    session.add_user_turn("One more.")
    store.count = 0
    assert (len(first), len(session.history.timeline())) == (101, 102)
    assert store.count == 1


def test_what_is_forgotten_is_in_no_timeline() -> None:
    """An erasure drops what was folded before it."""
    session = session_of()
    session.add_user_turn("My number is 555-0199.")
    session.history.timeline()
    session.history.forget("t1")
    session.history.timeline()
    assert session.history.at(1).log()[0].text == "[forgotten]"
    assert "0199" not in repr(session._writer.frames())
