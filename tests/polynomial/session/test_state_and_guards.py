"""The state always agrees with the guards, and every commit leaves a view that fits."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random

import pytest

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextOverflowError,
    ContextSession,
    ContextState,
)
from polycontext.polynomial.journal.events import CompressEvent, Event, ResizeEvent
from polycontext.polynomial.machine.step import allow_truncation, is_over_budget
from polycontext.pressure import FixedThreshold, Signals
from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError
from tests.polynomial.conversations import document, lines_of, session_of, texts, words
from tests.polynomial.session.faulty import Counting, heard_of, seeded


def usage(tokens: int) -> dict[str, int]:
    """Return what a provider of chat reports of a request."""
    return {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}


def filled(share: float, size: int = 40, **options: object) -> ContextSession:
    """Return a session of 2,000 words, `share` of which are used."""
    session = session_of(2_000, threshold=FixedThreshold(0.9, 0.5), **options)
    session.add_user_turn("What is in the halls?")
    while session.pressure < share:
        session.add_assistant_turn(words(size, f"a{session.history.revision}_"))
        session.add_user_turn(words(5, f"u{session.history.revision}_"))
    return session


def report(session: ContextSession, factor: float) -> None:
    """Report of the view `factor` times what was counted of it."""
    session.messages()
    session.usage.reported(usage(round(factor * (session.window.total_tokens + REQUEST_OVERHEAD))))


def test_the_signals_of_an_export_leave_it_compressed() -> None:
    """An exported COMPRESSED state is kept on loading, even with signals that lower the mark."""
    session = session_of(1_000, auto=False, cooldown=0)
    session.add_user_turn("What is in the halls?")
    session.background.signal(Signals(progress=0.5, looping=True))
    session.compress(0.5)
    again = ContextSession.history.load(session.history.export(), counter=session.window.counter)
    assert again.policy.signals.looping
    assert again.state == session.state == ContextState.COMPRESSED


def test_a_state_that_no_guard_says_is_settled_at_the_end_of_a_journal() -> None:
    """A state in the journal that contradicts the guards is corrected on loading."""
    session = session_of(2_000)
    session.add_user_turn("hello")
    saved = document(session)
    saved["events"][-1]["state"] = "PRESSURED"
    again = ContextSession.history.load(lines_of(saved), counter=session.window.counter)
    assert again.state == ContextState.ACCUMULATING
    again.add_user_turn("and on")
    assert texts(again) == ["hello", "and on"]


# --- every commit leaves a deliverable session -------------------------------------------


def pressed() -> ContextSession:
    """Return an automatic session whose last user turn brought the compression that it needed."""
    session = filled(0.85)
    session.add_user_turn(words(300, "big"))
    assert [type(event).__name__ for event in session.history.events()[-2:]] == [
        "TurnEvent",
        "CompressEvent",
    ]
    return session


BACK: dict[str, Callable[[ContextSession], object]] = {
    "regenerate": lambda session: session.history.regenerate(),
    "rewind to the turn": lambda session: session.history.rewind(session.log()[-1].resource_id),
    "rewind to its revision": lambda session: session.history.rewind(session.history.revision - 1),
    "fork at the turn": lambda session: session.history.fork(
        "other", session.log()[-1].resource_id
    ),
    "fork at its revision": lambda session: session.history.fork(
        "other", session.history.revision - 1
    ),
}


@pytest.mark.parametrize("name", BACK)
def test_going_back_does_not_part_a_turn_from_its_compression(name: str) -> None:
    """Wherever an automatic session goes back to, what stands there can be handed out."""
    session = pressed()
    came = BACK[name](session)
    session = came if isinstance(came, ContextSession) else session
    assert session.window.total_tokens + REQUEST_OVERHEAD <= session.window.max_tokens
    assert session.messages()[-1]["content"].startswith("big0")


def test_a_smaller_budget_compresses_what_is_opened(tmp_path: object) -> None:
    """A session that is opened again with less room hands its view out, within that."""
    path = f"{tmp_path}/s.db"
    with ContextSession.open(path, "one", max_tokens=4_000) as session:
        for number in range(40):
            session.add_user_turn(f"Shelf {number} holds " + "jars of plums, " * 12)
    with ContextSession.open(path, "one", max_tokens=1_000) as session:
        assert session.pressure > 1
        assert session.state == ContextState.PRESSURED
        assert session.messages()
        assert session.window.total_tokens + REQUEST_OVERHEAD <= 1_000


# --- over random sessions ------------------------------------------------------------------


ROOM = 500
"""Tokens of a random session."""


def guards_say(session: ContextSession) -> str:
    """Return the state that follows from the window and the policy alone."""
    window, policy = session.window, session.policy
    if not len(window):
        return ContextState.EMPTY
    if policy.is_above(window) or is_over_budget(window):
        return ContextState.PRESSURED
    since = window.turns_since_compression
    return (
        ContextState.COMPRESSED
        if since is not None and since < policy.cooldown
        else ContextState.ACCUMULATING
    )


def live(session: ContextSession, random: Random) -> bool:
    """Do something at random, legal or not, and return whether it was an action that can commit."""
    ids = [turn.resource_id for turn in session.log()] or ["t1"]
    acts: list[Callable[[], object]] = [
        *[
            lambda: session.add_user_turn(
                words(random.choice([3, 40, 150]), f"u{session.history.revision}_")
            )
        ]
        * 3,
        *[
            lambda: session.add_assistant_turn(
                words(random.choice([3, 40, 150]), f"a{session.history.revision}_")
            )
        ]
        * 3,
        lambda: session.history.rewind(random.randint(0, session.history.revision)),
        session.history.regenerate,
        lambda: session.history.forget(random.choice(ids)),
        lambda: session.promote(random.choice(ids), ResourceClass.PRESERVED),
        lambda: session.recall(random.choice(ids)),
        lambda: session.compress(random.choice([0.3, 0.8, 1.0])),
        lambda: session.send("resize", random.choice([300, 500, 800])),
        session.clear,
    ]
    telling: list[Callable[[], object]] = [
        lambda: report(session, random.choice([0.8, 1.3, 2.0])),
        lambda: session.background.signal(Signals(error_rate=random.choice([0.0, 1.0]))),
    ]
    act = random.choice([*acts, *telling])
    with suppress(PolycontextError):
        act()
    return act in acts


def live_through(seeds: Iterable[int]) -> None:
    """Drive a session for each seed, and check the laws after each step.

    The state agrees with the guards. After every commit, a session with `auto` has a view that can
    be sent. python-statemachine treats each stored event as the table does.
    """
    for seed in seeds:
        random, listener = seeded(seed), Counting()
        session = session_of(
            ROOM, auto=seed % 2 == 0, cooldown=random.randrange(3), listeners=[listener]
        )
        for _ in range(15):
            before = session.history.revision
            commits = live(session, random)
            last = session.history.events()[-1:]
            compressed = (
                bool(last)
                and isinstance(last[0], CompressEvent)
                and session.state == ContextState.COMPRESSED
            )
            assert compressed or session.state == guards_say(session), seed
            # Words are erased in the journal, which has the budget that it has: one that was
            # reported since is stored by the next commit.
            if (
                commits
                and session.history.revision != before
                and room_in(session.history.events()) == session.window.max_tokens
            ):
                assert last[0].state == session.state, seed
            if session.policy.auto and session.history.revision != before:
                assert not is_over_budget(session.window) or is_tight(session), seed
            if session.policy.auto and len(session.window):
                with suppress(ContextOverflowError, InvalidMessagesError):
                    assert session.messages()
                assert not is_over_budget(session.window) or is_tight(session), seed
            assert listener.heard == heard_of(session.history.events()), seed
            assert (session.machine.context_state, session.machine.window) == (
                session.state,
                session.window,
            ), seed


def room_in(events: Iterable[Event]) -> int:
    """Return the budget that a journal of `live_through` has come to."""
    return next(
        (event.max_tokens for event in reversed([*events]) if isinstance(event, ResizeEvent)), ROOM
    )


def is_tight(session: ContextSession) -> bool:
    """Return whether no compression would make the view fit, whatever may be truncated."""
    window, policy = session.window, allow_truncation(session.policy)
    return policy.projector.floor(window) + REQUEST_OVERHEAD > window.max_tokens


@pytest.mark.gate
@pytest.mark.no_cover
@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(chunk, marks=pytest.mark.deep) for chunk in range(1, 50))]
)
def test_the_laws_hold_over_random_sessions(chunk: int) -> None:
    """Over 100 sessions a chunk."""
    live_through(range(100 * chunk, 100 * chunk + 100))


def test_the_laws_hold_where_they_once_did_not() -> None:
    """Words erased after a report, and a signal after the event that followed a compression.

    And a report that leaves less room than what is PRESERVED takes.
    """
    live_through([269, 3269, 80])
