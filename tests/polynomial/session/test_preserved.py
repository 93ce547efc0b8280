"""PRESERVED turns in small windows: the view has the bytes of the log after every event."""

from random import Random

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.testing import FAST
from tests.house import gated
from tests.polynomial.conversations import words

STEPS = 30
RULES = (
    "From now on, never suggest a flight.",
    "Always answer in two sentences.",
    "Never touch the database of the shop, please.",
)


def call(session: ContextSession, random: Random, number: int, text: str) -> None:
    """Add up to three calls and their results, some of them preserved."""
    names = [f"c{number}_{each}" for each in range(random.randint(1, 3))]
    arguments = f'{{"query": "{words(random.choice([1, 30]))}"}}'
    session.add_assistant_turn(
        None,
        [
            {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}
            for name in names
        ],
    )
    for name in names:
        chosen = random.choice([None, None, "PRESERVED"])
        session.add_tool_turn(text, tool_call_id=name, resource_class=chosen)


def take(session: ContextSession, random: Random, number: int) -> None:
    """Do one random step."""
    text = words(random.randint(1, random.choice([5, 20, 60, 170, 400])), f"w{number}_")
    match random.choice("uuuurrrsaaacccCppz"):
        case "u":
            session.add_user_turn(text)
        case "r":
            session.add_user_turn(f"{random.choice(RULES)} {random.choice(['', '', text])}".strip())
        case "s":
            session.add_system(words(random.randint(1, 60), "s"))
        case "a":
            session.add_assistant_turn(text)
        case "c":
            call(session, random, number, text)
        case "C":
            session.compress(random.choice([0.0, 0.3, 0.6]))
        case "p":
            session.pin(random.choice(session.log()).resource_id)
        case _:
            session.send("resize", random.randint(150, 1_000))


def changed(session: ContextSession) -> list[str]:
    """Return the ids of the PRESERVED turns of the log that the view does not show as they are."""
    shown = {turn.resource_id: turn.text for turn in session.window.all_turns()}
    kept = session.window.linearity.by_class(ResourceClass.PRESERVED)
    return [
        turn.resource_id
        for turn in session.log()
        if turn.resource_id in kept and shown.get(turn.resource_id) != turn.text
    ]


@pytest.mark.parametrize("seed", gated(range(0, 1_000, 4), *range(0, 1_000, 100)))
def test_no_preserved_turn_changes(seed: int) -> None:
    """Every event keeps them and leaves a view that can be sent, or is refused without a trace.

    A result is refused only if the turns beside it are preserved and leave it no room.
    """
    random = Random(seed)  # noqa: S311 - a test's
    session = ContextSession(random.randint(150, 1_000), counter=FAST)
    session.add_user_turn(words(random.choice([5, 50, 500]), "t"))
    for number in range(STEPS):
        before = session.conversation
        try:
            take(session, random, number)
        except ContextOverflowError as error:
            assert error.tokens > error.max_tokens
            if session.window.open_calls:
                # Beside nothing but preserved turns, a result may find no room; its call is open.
                session.send("resize", 2_000)
                session.close_open_calls("no room")
            else:
                assert session.conversation is before
        assert changed(session) == []
        assert session.messages()
