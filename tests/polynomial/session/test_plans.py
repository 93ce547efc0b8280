"""Plan, fulfil, commit.

A summary written while the conversation went on is applied to it or changes nothing.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from polycontext.pressure import ConflictError, FixedThreshold, Fulfilment, Plan
from polycontext.testing.strategies import Move
from tests.broken_answers import BROKEN, answered
from tests.polynomial.conversations import THOUGHT, WORDS, session_moves, session_of, text_of, words

SAID = "Shelves one to four hold plums."


def grown(**options: Any) -> ContextSession:
    """Return a session with something to compress."""
    session = session_of(1000, auto=False, **options)
    session.add_user_turn("Sort the shelves.")
    for number in range(8):
        session.add_assistant_turn(words(16, f"a{number}x"))
        session.add_user_turn(words(14, f"u{number}x"))
    return session


def told(plan: Plan, text: object = SAID) -> Fulfilment:
    """Return a plan with `text` in the place of all words that are wanted."""
    return Fulfilment(
        plan,
        tuple(
            (text if job.kind.needs_words else None, None)  # type: ignore[misc]
            for job in plan.jobs
        ),
    )


def test_what_was_written_meanwhile_stands_before_what_came_meanwhile() -> None:
    """The model's gist comes before the turns added since the plan, and the journal replays it."""
    session = grown()
    plan = session.background.plan(0.15)
    came = [
        session.add_assistant_turn("Done so far.").window.extract(),
        session.add_user_turn("Go on.").window.extract(),
    ]
    output = session.background.commit(told(plan))
    assert output.state is session.state is ContextState.COMPRESSED
    assert [*session.window.all_turns()[-2:]] == came
    assert SAID in session.messages()[1]["content"]
    assert output.compression is not None
    assert output.compression.came == sum(turn.tokens or 0 for turn in came if turn is not None)
    assert len(session.log()) == 19
    again = ContextSession.history.load(text_of(session), counter=WORDS)
    assert again.window == session.window


STALE: dict[str, Callable[[ContextSession], object]] = {
    "compressed": lambda session: session.compress(0.1),
    "cleared": lambda session: session.clear(),
    "rewound": lambda session: session.history.rewind(4),
    "raised": lambda session: session.promote("t3", ResourceClass.PRESERVED),
    "recalled": lambda session: (session.compress(0.15), session.recall("t4")),
}


@pytest.mark.parametrize("change", STALE.values(), ids=STALE.keys())
def test_what_was_planned_on_something_else_is_refused(
    change: Callable[[ContextSession], object],
) -> None:
    """It is told, nothing happens, and a new plan does."""
    session = grown()
    fulfilment = told(session.background.plan(0.15))
    change(session)
    before = session.conversation
    with pytest.raises(ConflictError, match="compression plan: expected"):
        session.background.commit(fulfilment)
    assert session.conversation is before


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_an_answer_that_is_no_summary_changes_nothing_and_is_told(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer that is no summary changes nothing, and is reported and logged with its reason."""
    session = grown()
    plan, before = session.background.plan(0.15), session.conversation
    output = session.background.commit(
        session.background.fulfil(plan, lambda turns, max_tokens: answered(answer))
    )
    assert session.conversation is before
    (refused,) = output.refused
    assert refused.reason.startswith(("the summary ", "the summariser failed: "))
    assert set(refused.sources) <= {turn.resource_id for turn in session.log()}
    assert (output.compression, output.window) == (None, session.window)
    assert "nothing was changed: the summar" in caplog.text


def test_an_extract_stands_where_that_is_wanted() -> None:
    """As in `compress`: the refusal is in the report."""
    session = grown()
    output = session.background.commit(told(session.background.plan(0.15), ""), fallback=True)
    assert output.compression is not None
    assert (output.refused, [each.reason for each in output.compression.rejections]) == (
        (),
        ["the summary is empty"],
    )
    assert output.compression.reached


def test_the_sessions_own_summariser_is_never_refused() -> None:
    """The built-in summariser's texts are short enough to be accepted for every target."""
    for target in range(5, 32):
        session = grown()
        output = session.background.commit(
            session.background.fulfil(session.background.plan(target / 100))
        )
        assert output.refused == ()


def test_a_plan_for_nothing_does_nothing() -> None:
    """Where the aim is reached already."""
    session = grown()
    before = session.conversation
    assert not session.background.commit(
        session.background.fulfil(session.background.plan(1.0))
    ).compressed
    assert session.conversation is before


class Whole:
    """Fulfil whole plans, as a provider's compaction does."""

    def fulfil(self, plan: Plan, *, reading: object) -> Fulfilment:
        """Return what it says of each gist."""
        assert reading is not None
        return Fulfilment.of(plan, SAID)

    async def afulfil(self, plan: Plan, *, reading: object) -> Fulfilment:
        """Return the same."""
        return self.fulfil(plan, reading=reading)


def test_what_fulfils_whole_plans_is_asked_for_one() -> None:
    """Awaited or not, it is told what was read before."""
    session = grown()
    plan = session.background.plan(0.15)
    assert asyncio.run(session.background.afulfil(plan, Whole())) == session.background.fulfil(
        plan, Whole()
    )
    assert (
        SAID
        in session.background.commit(session.background.fulfil(plan, Whole()))
        .window.all_turns()[1]
        .text
    )


@given(session_moves(12), st.integers(0, 30), st.sampled_from([0.0, 0.05, 0.2]))
def test_wherever_it_was_planned_it_lands_or_is_refused(
    moves: list[Move], at: int, target: float
) -> None:
    """No turn is lost, and the order is kept: what it makes is what replaying makes."""
    session = session_of(2000, threshold=FixedThreshold(0.3, 0.1))
    turns = [turn for turn, _ in moves]
    for turn in turns[:at]:
        session.add(turn)
    plan = session.background.plan(target)
    for turn in turns[at:]:
        session.add(turn)
    log = session.log()
    fits = plan.fits(session.window)
    try:
        session.background.commit(session.background.fulfil(plan))
    except ConflictError:
        assert not fits
    assert session.log() == log
    order = {turn.resource_id: place for place, turn in enumerate(log)}
    places = [
        order[turn.resource_id] for turn in session.window.all_turns() if turn.resource_id in order
    ]
    assert places == sorted(places)
    assert ContextSession.history.load(text_of(session), counter=WORDS).window == session.window


# --- what a model thought before a compression that came between its request and its answer ---


@pytest.mark.parametrize("between", [True, False])
def test_an_answer_to_what_was_sent_before_a_compression_leaves_its_thoughts(between: bool) -> None:
    """They are bound to what the model was handed: behind another prefix they would be refused."""
    session = grown()
    session.request("anthropic")
    if between:
        session.compress(0.15)
    turn = evolve(session.window.all_turns()[-2], resource_id="", tokens=None, parts=(THOUGHT,))
    session.add(turn)
    last = session.window.extract()
    assert last is not None
    assert bool(last.parts) is not between
