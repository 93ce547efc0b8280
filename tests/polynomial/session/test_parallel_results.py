"""Results of many parallel calls cost about the same each, however many there are."""

from typing import Any

import pytest

from polycontext.polynomial import ContextSession
from polycontext.pressure import projector
from polycontext.pressure.ladder import ladder_of
from tests.polynomial.conversations import WORDS, Message, call, recount, result, texts, user, words


def parallel(number: int) -> list[Message]:
    """Return a question, one message with so many calls, and their results."""
    ids = [f"c{each}" for each in range(number)]
    results = [result(each, f"{each} costs {words(9, each)}.") for each in ids]
    return [user("Look everything up."), call(*ids), *results]


@pytest.fixture
def ladders(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list with the arguments of every ladder that is built."""
    built = list[object]()

    def counted(*arguments: Any) -> Any:
        built.append(arguments)
        return ladder_of(*arguments)

    monkeypatch.setattr(projector, "ladder_of", counted)
    return built


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize("number", [100, 400])
def test_room_for_results_that_overfill_the_view_is_made_a_fixed_number_of_times(
    size: int, number: int, ladders: list[object]
) -> None:
    """However many results come, in however many writes, few plans are made for them."""
    session, messages = ContextSession(1000, counter=WORDS), parallel(number)
    for start in range(0, len(messages), size):
        session.extend(messages[start : start + size])
    assert len(ladders) <= 40
    assert texts(session) == [each["content"] or "" for each in messages]
    assert recount(session.messages(), WORDS) <= 1000
    lines = "".join(session.history.export())
    again = ContextSession.history.load(lines, counter=WORDS)
    assert again.conversation == session.conversation


def test_calls_that_were_given_up_are_compressed_with_the_results_that_came() -> None:
    """Closing open calls makes the room that waited for their results."""
    session, messages = ContextSession(1000, counter=WORDS), parallel(400)
    for message in messages[:300]:
        session.add_message(message)
    assert session.pressure > 1
    session.close_open_calls("the process was stopped")
    assert recount(session.messages(), WORDS) <= 1000


def test_a_smaller_budget_is_met_while_calls_are_open_if_it_can_be() -> None:
    """Results that came before the last compression are cut to a budget that is set afterwards."""
    session = ContextSession(8000, counter=WORDS)
    for message in parallel(20)[:-1]:
        session.add_message({**message, "content": words(300, str(message.get("tool_call_id")))})
    assert session.open_calls
    session.send("resize", 3000)
    assert recount(session.messages(allow_open=True), WORDS) <= 3000
    session.add_message(parallel(20)[-1])
    assert recount(session.messages(), WORDS) <= 3000
