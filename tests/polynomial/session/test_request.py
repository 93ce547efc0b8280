"""A session's messages are valid, within budget and contain all preserved turns, or are refused."""

import pytest
from hypothesis import example, given

from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import (
    REQUEST_OVERHEAD,
    InvalidMessagesError,
    OrderError,
    Part,
    ToolCall,
    Turn,
)
from polycontext.window.providers import Provider, get_format
from tests.polynomial.conversations import (
    recount,
    session_moves,
    session_of,
    user,
)


@pytest.mark.parametrize("provider", Provider)
def test_messages_refuses_an_empty_conversation(provider: Provider) -> None:
    """An empty request is refused, also one with only system turns for Anthropic."""
    session = session_of()
    with pytest.raises(InvalidMessagesError, match="empty"):
        session.messages(provider)
    session.add_system("be brief")
    if provider in (Provider.ANTHROPIC, Provider.GEMINI):
        with pytest.raises(InvalidMessagesError, match="empty"):
            session.messages(provider)
    else:
        get_format(provider).check(session.messages(provider))


@pytest.mark.parametrize("provider", Provider)
def test_messages_refuses_open_calls_unless_they_are_asked_for(provider: Provider) -> None:
    """A request must not end on calls without results; to look at, it may."""
    session = session_of()
    session.add_user_turn("find flights")
    session.add_assistant_turn(tool_calls=[ToolCall("c0", "search")])
    with pytest.raises(InvalidMessagesError, match="c0") as caught:
        session.messages(provider)
    assert (caught.value.index, caught.value.rule) == (1, "unanswered-call")
    get_format(provider).check(session.messages(provider, allow_open=True), allow_open_tail=True)


SMALL_PICTURE = Part(
    "openai",
    '{"type":"image_url","image_url":{"url":"data:image/png;base64,'
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAAAAAA=="}}',
)
"""It is 20 tokens longer in Anthropic's form."""


def says_it_as_it_is(turn: Turn) -> bool:
    """Return whether `turn` needs none of Anthropic's uncounted stand-ins.

    They replace blank text and broken arguments.
    """
    return bool(turn.text.strip()) and all(
        call.arguments.startswith("{") for call in turn.tool_calls
    )


def needs_stand_ins(session: ContextSession) -> bool:
    """Return whether Anthropic's form of the view needs stand-ins."""
    return not all(map(says_it_as_it_is, session.window.all_turns()))


def leaves_no_gist(session: ContextSession) -> bool:
    """Return whether the turns that never yield leave less room than the smallest gist needs.

    A call's results are accepted even then, and cannot be evicted.
    """
    besides = REQUEST_OVERHEAD + session.window.introduced_tokens
    return session.policy.projector.floor(session.window) + besides > session.window.max_tokens


@pytest.mark.parametrize("provider", Provider)
@given(moves=session_moves())
@example(
    [
        (Turn("user", "Book a night train to Vienna."), None),
        (Turn("user", "This one.", parts=[SMALL_PICTURE]), None),
    ]
)
def test_whatever_is_handed_out_is_valid_and_within_budget(
    provider: Provider, moves: list[Move]
) -> None:
    """After every turn, messages are valid and within a recount, or a typed error is raised."""
    session = ContextSession(300, counter=FAST)
    for turn, resource_class in moves:
        try:
            session.add(turn, resource_class)
        except (ContextOverflowError, OrderError):
            continue
        if {turn.role for turn in session.window.all_turns()} != {
            "system"
        } and not session.window.open_calls:
            try:
                rendered = session.request(provider)
            except ContextOverflowError:
                assert leaves_no_gist(session) or (
                    provider is Provider.ANTHROPIC and needs_stand_ins(session)
                )
                continue
            get_format(provider).check(rendered.messages)
            assert recount(rendered.inline(), FAST, provider) <= 300


def test_the_output_is_what_readers_see() -> None:
    """An output holds window, state, pressure and messages, and whether its input compressed."""
    session = session_of()
    output = session.add_user_turn("hello")
    assert (output.messages, output.pressure, output.compressed) == ((user("hello"),), 0.005, False)
    assert session.output == output
    assert session.compress().compressed
