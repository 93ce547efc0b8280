"""Erasure reaches the arguments of events that a user's own machine adds."""

from collections.abc import Callable
from typing import Any

from polycontext.polynomial import ContextMachine, ContextSession
from tests.polynomial.conversations import text_of


class Noting(ContextMachine):
    """A machine that takes notes."""

    noted = ContextMachine.accumulating.to(ContextMachine.accumulating)


def noting() -> ContextSession:
    """Return a session with three exchanges and their notes."""
    session = ContextSession(max_tokens=4000, machine=Noting)
    session.add_user_turn("The gate opens with QX7-2281, says the caretaker of house nine.")
    session.send("noted", "a gate", {"who": ["caretaker", 9, None, True]}, level="high")
    session.add_assistant_turn("Noted.")
    session.add_user_turn("What about the garden?")
    session.send("noted", "code qx7-2281 again", "the caretaker of house nine", "a garden")
    session.add_assistant_turn("It is green.")
    return session


def test_words_of_the_same_exchange_and_quotes_are_erased() -> None:
    """Numbers stay, and so do later texts that quote nothing."""
    session = noting()
    assert session.history.forget("t1")
    written = text_of(session)
    for gone in ("QX7", "qx7", "caretaker", "a gate", "high"):
        assert gone not in written
    assert "a garden" in written
    assert '[\\"[forgotten]\\",9,null,true]' in written
    again = ContextSession.history.load(written, machine=Noting)
    assert again.state == session.state
    assert again.history.revision == session.history.revision


def test_a_machine_says_what_is_no_word() -> None:
    """Its own method spares ids."""

    class Sparing(Noting):
        """It knows that its first argument is an id."""

        @classmethod
        def forgotten(
            cls, name: str, given: tuple[Any, Any], is_gone: Callable[[str], bool]
        ) -> tuple[Any, Any]:
            (_, *rest), by_name = super().forgotten(name, given, is_gone)
            return [given[0][0], *rest], by_name

    session = ContextSession(max_tokens=4000, machine=Sparing)
    session.add_user_turn("The gate opens with QX7-2281.")
    session.send("noted", "note-1", "the gate's code")
    session.history.forget("t1")
    written = text_of(session)
    assert "note-1" in written
    assert "the gate's code" not in written


def test_retention_reaches_them_too() -> None:
    """With the turns of their exchange."""
    session = noting()
    session.clear()
    assert session.history.retain(days=0) > 0
    assert "a gate" not in text_of(session)


def test_calls_of_the_same_exchange_lose_their_arguments() -> None:
    """An answer of an agent is a call as well; names and results stay, and so do later calls."""
    session = ContextSession(max_tokens=4000, machine=Noting)
    for number, secret in enumerate(("caretaker", "gardener")):
        session.add_user_turn(f"The {secret} lives in house {number}.")
        session.send("noted", f"asks for the {secret}")
        asked = {"name": "look_up", "arguments": f'{{"who": "{secret}"}}'}
        call = {"id": f"c{number}", "type": "function", "function": asked}
        session.add_assistant_turn(None, [call])
        session.add_tool_turn("found", tool_call_id=f"c{number}")
        session.add_assistant_turn("Done.")
    assert session.history.forget("t1")
    written = text_of(session)
    assert "caretaker" not in written
    assert "gardener" in written
    assert [call.name for turn in session.log() for call in turn.tool_calls] == ["look_up"] * 2
    assert ContextSession.history.load(written, machine=Noting).log() == session.log()
