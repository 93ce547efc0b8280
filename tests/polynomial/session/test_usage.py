"""Requests for a prompt cache: their key, their blocks by turn, and compressing where it pays."""

import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.session.delivery import Delivery
from polycontext.pressure import FixedThreshold
from polycontext.pressure.cache import CachePlan
from polycontext.pressure.schedule import BY_ITSELF
from polycontext.testing.strict.anthropic import text_blocks
from polycontext.window import ContextWindow, ToolCall, Turn
from polycontext.window.providers import Provider
from tests.polynomial.conversations import THOUGHT, WORDS, text_of


def test_a_request_has_a_key_where_the_provider_takes_one() -> None:
    """One of the session's own that says nothing about it, or the plan's."""
    keys = []
    for name in ("a", "b"):
        session = ContextSession(8000, counter=WORDS, session_id=name)
        session.add_user_turn("Hi.")
        keys.append(session.request(cache=True).options["prompt_cache_key"])
        assert session.request(cache=CachePlan(key="mine")).options == {"prompt_cache_key": "mine"}
        assert "prompt_cache_key" not in session.request("anthropic", cache=True).options
    assert len(set(keys)) == 2
    assert all(len(key) == 32 for key in keys)


@pytest.mark.parametrize("provider", Provider)
def test_blocks_are_told_by_turns(provider: Provider) -> None:
    """The number of blocks after each turn equals that of a list that ends there."""
    session = ContextSession(8000, counter=WORDS)
    session.add_system("Be brief.")
    session.add_user_turn("Hi.")
    session.add_assistant_turn(
        "Hello.", tool_calls=[ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}")]
    )
    session.add_tool_turn("a fish", tool_call_id="a")
    session.add_tool_turn("a fish", tool_call_id="b")
    session.add_assistant_turn("Two fish.")
    session.add_system("Be briefer.")
    session.add_user_turn("And now?")
    delivery, window = Delivery(), ContextWindow(8000, counter=WORDS)
    for turn in session.window.all_turns():
        window = window.append(turn)
        if len(window) == 1:
            continue
        rendered = delivery.deliver(window, provider, allow_open=True)
        blocks = len(rendered.messages)
        if provider is Provider.ANTHROPIC:
            blocks = len(rendered.system) + sum(
                len(text_blocks(message["content"])) for message in rendered.messages
            )
        if provider is Provider.GEMINI:
            blocks += len(rendered.leading)
        assert delivery.ends(window, provider)[-1] == blocks
    assert delivery.ends(session.window, provider) == ()


def test_reading_writes_nothing_unless_the_window_has_shrunk() -> None:
    """A report of more tokens than were counted leaves less room: the next request compresses."""
    session = ContextSession(4_000, counter=WORDS)
    for number in range(30):
        session.add_user_turn(f"{number} " + "please " * 50)
        session.add_assistant_turn(f"{number} " + "done " * 50)
    session.add_user_turn("And now?")
    revision = session.history.revision
    for provider in Provider:
        session.messages(provider)
        session.request(provider, cache=True)
    assert session.history.revision == revision
    session.usage.reported({"prompt_tokens": 7_500, "completion_tokens": 1})
    assert session.history.revision == revision
    over = session.window.total_tokens
    session.messages()
    assert session.window.total_tokens <= session.window.max_tokens < over
    assert session.history.revision > revision


# --- compressing where it pays ---------------------------------------------------------


def test_with_prices_room_is_made_before_it_is_needed() -> None:
    """With prices, a session compresses as soon as that is cheaper, before the high mark."""
    highest = {}
    for prices in (None, BY_ITSELF):
        session = ContextSession(
            4_000, counter=WORDS, threshold=FixedThreshold(0.95, 0.5), prices=prices
        )
        highest[prices] = 0.0
        for number in range(200):
            session.add_user_turn(f"{number} " + "please " * 15)
            session.add_assistant_turn(f"{number} " + "done " * 15)
            highest[prices] = max(highest[prices], session.pressure)
        assert session.window.epoch.number > 2
        assert ContextSession.history.load(text_of(session), counter=WORDS).window == session.window
    assert highest[BY_ITSELF] < 0.85 < highest[None]


def test_nothing_is_compressed_between_the_request_and_the_answer_of_a_model_that_thinks() -> None:
    """However much it would spare."""
    session = ContextSession(
        4_000, counter=WORDS, threshold=FixedThreshold(0.95, 0.5), prices=BY_ITSELF
    )
    for number in range(200):
        session.add_user_turn(f"{number} " + "please " * 15)
        epoch = session.window.epoch
        session.request("anthropic")
        session.add(Turn("assistant", f"{number} " + "done " * 15, parts=(THOUGHT,)))
        assert session.window.epoch == epoch
    assert session.window.epoch.number > 2
