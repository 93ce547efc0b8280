"""The laws of the readers hold for sessions with any life: what leaves is valid, and nothing private reaches the props."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes import ComponentRenderer, laws
from polycontext.nodes.testing.machines import sessions
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.window.providers import Provider, WireFormat, get_format
from tests.strategies import FAST

SESSIONS = sessions()
WIRES = st.sampled_from([get_format(provider) for provider in Provider])
RENDERER = ComponentRenderer()


@given(SESSIONS, WIRES)
def test_what_leaves_is_valid(session: ContextSession, wire: WireFormat) -> None:
    """A provider takes it, or nobody gets it."""
    laws.what_leaves_is_valid(session, wire)


@given(SESSIONS, WIRES)
def test_what_leaves_is_within_budget(session: ContextSession, wire: WireFormat) -> None:
    """Counted anew, it fits."""
    laws.what_leaves_is_within_budget(session, wire)


def test_what_a_format_adds_is_counted() -> None:
    """Anthropic takes no empty message: what stands for one is part of the bill, and a view that it takes over the budget is refused."""
    session = ContextSession(60, counter=FAST, auto=False, threshold=FixedThreshold(1.0))
    session.add_user_turn("hello")
    while session.window.tokens < 48:
        session.add_assistant_turn("")
        session.add_user_turn("")
    session.messages("openai")
    with pytest.raises(ContextOverflowError, match="as anthropic takes it"):
        session.messages("anthropic")
    laws.what_leaves_is_valid(session, get_format("anthropic"))


@given(SESSIONS, WIRES)
def test_what_leaves_says_what_the_view_says(session: ContextSession, wire: WireFormat) -> None:
    """Nothing of the view is left out on its way."""
    laws.what_leaves_says_what_the_view_says(session, wire)


@given(SESSIONS, WIRES)
def test_what_leaves_is_the_readers_own(session: ContextSession, wire: WireFormat) -> None:
    """A reader cannot spoil what the next one gets."""
    laws.what_leaves_is_the_readers_own(session, wire)


@given(SESSIONS)
def test_nothing_private_reaches_props(session: ContextSession) -> None:
    """System text, calls, results and gists stay where they are."""
    laws.nothing_private_reaches_props(session, RENDERER)


@given(SESSIONS)
def test_props_say_what_was_said(session: ContextSession) -> None:
    """What user and assistant said is shown, and that alone."""
    laws.props_say_what_was_said(session, RENDERER)


@given(SESSIONS)
def test_rendering_changes_nothing(session: ContextSession) -> None:
    """Reading is only reading."""
    laws.rendering_changes_nothing(session, RENDERER)
