"""The laws reach the cases that generation seldom reaches, by name; see `conditions.py`."""

import pytest

from polycontext.polynomial import (
    ContextSession,
    project,
)
from polycontext.pressure import (
    ContextProjector,
    FixedThreshold,
    Reach,
)
from polycontext.pressure.laws import projectors
from polycontext.testing import FAST
from polycontext.testing.strategies import Head
from polycontext.window import Role, Turn
from polycontext.window.providers import Provider, WireFormat, get_format
from polycontext.window.tokens.counter import TURN_OVERHEAD
from tests.laws.internal import projections, readers
from tests.pressure.samples import HEAD, calls, extended, opened, result, talk, user, words


@pytest.mark.parametrize(
    "wire", [get_format(provider) for provider in Provider], ids=lambda wire: str(wire.provider)
)
def test_a_long_conversation_is_really_cut(wire: WireFormat) -> None:
    """The laws of projection look at something, in every format."""
    said = [
        user("Book a night train to Vienna."),
        *(Turn(Role.ASSISTANT if n % 2 else Role.USER, f"{n}: " + "word " * 30) for n in range(30)),
    ]
    assert project(wire.render(said).inline(), 500, provider=wire.provider, counter=FAST).changed
    projections.a_projection_is_within_its_budget(project, said, 500, wire, FAST)
    projections.projecting_keeps_what_must_stay(project, said, 500, wire, FAST)


def test_a_long_conversation_reaches_the_conditions_of_the_laws() -> None:
    """A long conversation reaches its target and makes every gist, so no law passes vacuously."""
    done = HEAD.compress(extended(opened(1_000), talk(20)), 0.4)
    assert done.reached
    assert done.gisted
    assert {turn.resource_id for job in done.plan.jobs for turn in job.sources} == set(done.gisted)


def test_a_pointer_is_shorter_than_what_it_replaces() -> None:
    """Of two superseded results, the long one becomes a pointer and the short one stays."""
    again = [calls("read", "run"), result(0, "ok", "read"), result(1, words(1, 80), "run")]
    window = extended(opened(2_000), [*again, *talk(8), *again, user("Well?")])
    projector = ContextProjector(Head(), Reach(keep_recent=3))
    target = (window.tokens - 1) / window.max_tokens
    projectors.gists_are_shorter_than_their_sources(projector, window, target)
    assert [job.sources[0].resource_id for job in projector.plan_for(window, target).jobs] == ["t5"]


def test_what_a_format_adds_is_told_before() -> None:
    """Anthropic's stand-ins for empty messages are counted, so a view within budget can be sent."""
    session = ContextSession(60, counter=FAST, auto=False, threshold=FixedThreshold(1.0))
    session.add_user_turn("hello")
    while session.window.tokens < 40:
        session.add_assistant_turn("")
        session.add_user_turn("")
    stand_ins = (len(session.window) - 1) * FAST.count("[empty]")
    assert (
        session.window.tokens
        == len(session.window) * TURN_OVERHEAD + FAST.count("hello") + stand_ins
    )
    for provider in Provider:
        assert session.request(provider).messages
    readers.what_leaves_is_valid(session, get_format("anthropic"))
