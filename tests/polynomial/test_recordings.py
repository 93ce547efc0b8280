"""Recorded conversations through the machine at 2,000, 4,000 and 8,000 tokens.

Requests are valid, within budget and keep preserved turns.
"""

import json
from functools import cache

import pytest

from polycontext.polynomial import (
    ContextOverflowError,
    ContextSession,
    Conversation,
    project,
    replay,
)
from polycontext.window import ContextWindow, TiktokenCounter, Turn
from polycontext.window.providers import Provider, get_format
from tests.house import IS_DEEP
from tests.polynomial.conversations import (
    RECORDINGS,
    Message,
    Remembering,
    needs_recordings,
    preserved,
    recorded,
    recount,
    whole,
)

pytestmark = [pytest.mark.gate, pytest.mark.no_cover, needs_recordings]

COUNTER = Remembering(TiktokenCounter())
OPENAI = get_format(Provider.OPENAI)
BUDGETS = (2000, 4000, 8000)
budgets = pytest.mark.parametrize("budget", BUDGETS)
recordings = pytest.mark.parametrize("name", RECORDINGS)


@cache
def conversations(name: str) -> list[list[Message]]:
    """Return all message lists of one recording."""
    return list(recorded(name))


def share(name: str, budget: int) -> list[list[Message]]:
    """Return the lists to try at `budget`: all with the profile `deep`, otherwise a sample."""
    return (
        conversations(name)
        if IS_DEEP
        else conversations(name)[BUDGETS.index(budget) :: 5 * len(BUDGETS)]
    )


def turns_of(messages: list[Message]) -> list[Turn]:
    """Return the turns of a recorded list, each counted once for all budgets."""
    return list(OPENAI.parse(messages).turns)


def drive(session: ContextSession, messages: list[Message], budget: int) -> None:
    """Add every turn, and check each time the delivered view or the numbers of the refusal."""
    for turn in turns_of(messages):
        before = whole(session)
        try:
            session.add(turn)
        except ContextOverflowError as error:
            assert error.tokens > error.max_tokens == budget
            assert whole(session) == before
            return
        check_delivery(session, budget)


def check_delivery(session: ContextSession, budget: int) -> None:
    """Check that the view is within budget, keeps its head, and is valid unless calls are open."""
    is_open = bool(session.window.open_calls)
    messages = session.messages(allow_open=is_open)
    OPENAI.check(messages, allow_open_tail=is_open)
    assert recount(messages, COUNTER) <= budget
    if not is_open and session.log()[-1].role != "system":
        rendered = session.request(Provider.ANTHROPIC)
        get_format(Provider.ANTHROPIC).check(rendered.messages)


@budgets
@recordings
def test_every_recorded_conversation_replays(name: str, budget: int) -> None:
    """Refusals and views are correct, preserved turns stay, and the journal replays."""
    for messages in share(name, budget):
        session = ContextSession(budget, counter=COUNTER)
        drive(session, messages, budget)
        check_preserved(session, messages)
        assert (
            replay(session.history.events(), Conversation(ContextWindow(budget, counter=COUNTER)))
            == session.conversation
        )


def check_preserved(session: ContextSession, messages: list[Message]) -> None:
    """Check that the task and every PRESERVED turn are delivered unchanged and in order."""
    kept = preserved(session)
    assert [turn for turn in session.window.all_turns() if turn in set(kept)] == kept
    delivered = [
        (message["role"], message["content"]) for message in session.messages(allow_open=True)
    ]
    assert [each for each in delivered if each in {(turn.role, turn.content) for turn in kept}] == [
        (t.role, t.content) for t in kept
    ]
    task = next(message for message in messages if message["role"] == "user")
    if any(turn.role == "user" for turn in session.log()):
        assert (task["role"], task["content"]) in delivered
    accepted = turns_of(messages)[: len(session.log())]
    assert [(turn.role, turn.content, turn.tool_calls) for turn in session.log()] == [
        (t.role, t.content, t.tool_calls) for t in accepted
    ]


@budgets
@recordings
def test_every_recorded_conversation_is_projected(name: str, budget: int) -> None:
    """`project` gives a valid list within budget, and leaves task, system and input intact."""
    for messages in share(name, budget):
        before = json.dumps(messages)
        try:
            projection = project(messages, budget, counter=COUNTER)
        except ContextOverflowError as error:
            assert error.tokens > error.max_tokens == budget
        else:
            OPENAI.check(projection.messages, allow_open_tail=True)
            assert recount(projection.messages, COUNTER) == projection.tokens_after <= budget
            assert projection.messages[:2] == messages[:2]
            assert (
                project(projection.messages, budget, counter=COUNTER).messages
                == projection.messages
            )
        assert json.dumps(messages) == before


@pytest.mark.parametrize("budget", [8000])
@recordings
def test_few_recorded_conversations_are_refused(name: str, budget: int) -> None:
    """At 8,000 tokens a refusal would be a fault: no recorded conversation needs it."""
    for messages in conversations(name):
        session = ContextSession(budget, counter=COUNTER)
        for turn in turns_of(messages):
            session.add(turn)
        assert len(session.log()) == len(messages)
