"""The laws reach the cases that generation seldom reaches, by name; see `conditions.py`."""

from polycontext.polynomial import (
    ContextSession,
)
from polycontext.pressure import (
    ContextProjector,
    FixedThreshold,
    Reach,
)
from polycontext.pressure.laws import projectors
from polycontext.testing import FAST
from polycontext.testing.strategies import Head
from polycontext.window.providers import Provider, get_format
from polycontext.window.tokens.counter import TURN_OVERHEAD
from tests.laws.internal import readers
from tests.pressure.samples import calls, extended, opened, result, talk, user, words


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
