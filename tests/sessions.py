"""A Hypothesis strategy for sessions with all that can happen to them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from hypothesis import strategies as st

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.pressure import AdaptiveThreshold, FixedThreshold, Signals
from polycontext.testing import FAST, conversations
from polycontext.testing.store_lives import note_patch
from polycontext.testing.strategies import PROSE, Move
from polycontext.window import Turn


@st.composite
def sessions(draw: st.DrawFn, max_atoms: int = 10) -> ContextSession:
    """Draw a session with turns, compressions, recalls, promotions, patches, clears and signals."""
    threshold = draw(st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.6, 0.3)]))
    budget, auto, cooldown = (
        draw(st.sampled_from([200, 500, 2_000])),
        draw(st.booleans()),
        draw(st.integers(0, 3)),
    )
    session = ContextSession(
        budget, counter=FAST, auto=auto, threshold=threshold, cooldown=cooldown
    )
    secrets = st.sampled_from(["Undisclosed instructions.", "Confidential."])
    head: list[Move] = [(Turn("system", draw(secrets)), None)] if draw(st.booleans()) else []
    task: list[Move] = [(Turn("user", draw(PROSE)), None)]
    moves = (
        [*head, *task, *draw(conversations(max_atoms=max_atoms))]
        if draw(st.integers(0, 9))
        else head
    )
    for turn, resource_class in moves:
        with suppress(PolycontextError):
            session.add(turn, resource_class)
        if draw(st.integers(0, 9)) == 0:
            act = draw(st.sampled_from(_other_actions(session)))
            with suppress(PolycontextError):
                act()
    return session


def _other_actions(session: ContextSession) -> list[Callable[[], object]]:
    ids = [turn.resource_id for turn in session.log()] or ["t1"]
    return [
        lambda: session.compress(0.1),
        session.compress,
        lambda: session.recall(ids[:1]),
        lambda: session.recall(ids[-3:]),
        lambda: session.promote(ids[-1], ResourceClass.PRESERVED, rationale="asked for"),
        lambda: session.background.signal(Signals(progress=0.5, looping=True)),
        lambda: session.documents.patch("notes", partial(note_patch, len(ids))),
        session.clear,
    ]
