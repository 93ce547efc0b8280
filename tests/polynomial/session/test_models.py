"""A session of a model takes window, reserve, counter and provider from its profile.

Explicit arguments override the profile.
"""

from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.base import InvalidDataError
from polycontext.window import EstimatingCounter, TiktokenCounter
from polycontext.window import model_profiles as module
from polycontext.window.model_profiles import ModelProfile, find_model, register_model
from polycontext.window.providers import Provider, check
from tests.polynomial.conversations import text_of

MINE = ModelProfile("mine", "anthropic", window=1_000, output=200, factor=2.0)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> ModelProfile:
    """Register a profile for one test."""
    monkeypatch.setattr(module, "_REGISTERED", {})
    return register_model(MINE)


def talk(session: ContextSession) -> ContextSession:
    """Let a session have a system text and a question."""
    session.add_system("Be brief.")
    session.add_user_turn("Where is my parcel?")
    return session


def test_a_session_is_made_of_a_models_name() -> None:
    """A model name gives window minus reply, the model's counter and the provider's format."""
    session = talk(ContextSession("claude-sonnet-4-5"))
    assert (session.window.max_tokens, session.usage.provider) == (
        200_000 - 64_000,
        Provider.ANTHROPIC,
    )
    assert session.window.counter == find_model("claude-sonnet-4-5").counter()
    assert session.request() == session.request("anthropic")
    assert session.request().system == ({"type": "text", "text": "Be brief."},)
    check(session.request().messages, "anthropic")
    assert session.messages("openai")[0]["role"] == "system"


@pytest.mark.parametrize(
    ("options", "room", "provider"),
    [
        ({"max_tokens": 50_000}, 50_000, "anthropic"),
        ({"reserve": 1_000}, 199_000, "anthropic"),
        ({"max_tokens": 150_000, "reserve": 0}, 150_000, "anthropic"),
        ({"provider": "openai"}, 136_000, "openai"),
    ],
)
def test_what_is_said_goes_before_the_profile(
    options: dict[str, Any], room: int, provider: str
) -> None:
    """Window, reserve and provider may each be said."""
    session = ContextSession("claude-sonnet-4-5", **options)
    assert (session.window.max_tokens, session.usage.provider) == (room, provider)


def test_a_profile_of_ones_own_makes_a_session(registered: ModelProfile) -> None:
    """By its name or itself, with all that it says."""
    for session in (
        ContextSession("mine"),
        ContextSession(registered),
        ContextSession.from_messages([], "mine"),
    ):
        assert (session.window.max_tokens, session.usage.provider) == (800, Provider.ANTHROPIC)
        assert session.window.counter.count("hello there") == 2 * TiktokenCounter().count(
            "hello there"
        )


def test_a_saved_session_of_a_model_that_is_not_known_says_so(
    registered: ModelProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading a session of an unregistered model names it and both remedies, such as a counter."""
    text = text_of(talk(ContextSession("mine")))
    monkeypatch.setattr(module, "_REGISTERED", {})
    with pytest.raises(
        InvalidDataError, match=r"settings\.counter: unknown model 'mine'.*register_model"
    ):
        ContextSession.history.load(text)
    assert (
        ContextSession.history.load(text, counter=EstimatingCounter()).usage.provider
        == Provider.ANTHROPIC
    )
