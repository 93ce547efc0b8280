"""Two sessions become one: what both accepted, once, whole, in the order of time."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.pressure import ConflictError
from polycontext.window import OrderError, Part, Role, ToolCall, Turn
from tests.polynomial.conversations import WORDS, words


def ticking(first: int = 0, step: int = 1) -> Callable[[], datetime]:
    """Return a clock that takes `step` seconds a look."""
    seconds: Iterator[int] = count(first, step)
    return lambda: datetime(2026, 11, 23, tzinfo=UTC) + timedelta(seconds=next(seconds))


def begun(max_tokens: int = 500, **options: Any) -> ContextSession:
    """Return a session with the task of two agents."""
    session = ContextSession(max_tokens, counter=WORDS, clock=ticking(), **options)
    session.add_system("You work for a travel agency.")
    session.add_user_turn("Find a train and a hotel.")
    return session


def forked(session: ContextSession, first: int, step: int = 2) -> ContextSession:
    """Return a session that goes on from another, by a clock of its own."""
    return ContextSession.from_json(session.to_json(), counter=WORDS, clock=ticking(100 + first, step))


def call(session: ContextSession, name: str, result: str | None) -> None:
    """Let the model call a tool."""
    session.add_assistant_turn(None, [ToolCall("c1", name, "{}")])
    if result is not None:
        session.add_tool_turn(result, tool_call_id="c1")


def told(session: ContextSession) -> list[str]:
    """Return what the log says."""
    return [turn.text or turn.tool_calls[0].name for turn in session.log()]


def two() -> tuple[ContextSession, ContextSession]:
    """Return two agents that have worked on one task at the same time."""
    task = begun()
    train, hotel = forked(task, 0), forked(task, 1)
    call(train, "search_trains", "22:10")
    call(hotel, "search_hotels", "Sacher")
    train.add_assistant_turn("The train leaves at 22:10.")
    hotel.add_assistant_turn("The Sacher has a room.")
    return train, hotel


def test_forks_come_together_with_what_they_share_once_and_no_call_torn_from_its_result() -> None:
    """The shared beginning first, then atoms by time, the two calls of one id each beside its own result."""
    train, hotel = two()
    before = train.to_json(), hotel.to_json()
    both = train.merge(hotel, "both")
    assert told(both) == [
        *("You work for a travel agency.", "Find a train and a hotel."),
        *("search_trains", "22:10", "search_hotels", "Sacher"),
        *("The train leaves at 22:10.", "The Sacher has a room."),
    ]
    assert [turn.resource_id for turn in both.log()] == ["t1", "t2", "t3", "t4", "t6", "t7", "t5", "t8"]
    assert (train.to_json(), hotel.to_json()) == before
    assert both.messages("anthropic")[0]["role"] == "user"
    assert ContextSession.from_json(both.to_json(), counter=WORDS).conversation == both.conversation


def test_without_interleaving_the_second_comes_behind() -> None:
    """What the first agent did stays together, its journal as it was."""
    train, hotel = two()
    both = train.merge(hotel, "both", interleave=False)
    assert told(both)[2:] == [*told(train)[2:], *told(hotel)[2:]]
    assert both.events()[: train.revision] == train.events()


def test_what_was_merged_before_is_known_again() -> None:
    """A branch that went on is merged once more, and only what is new is added."""
    train, hotel = two()
    both = train.merge(hotel, "both")
    hotel.add_user_turn("Book it.")
    again = both.merge(hotel, "again")
    assert told(again) == [*told(both), "Book it."]
    assert again.events()[: both.revision] == both.events()


def test_sessions_begun_apart_share_a_beginning_that_says_the_same() -> None:
    """Two agents that were told the same at different times were told it once."""
    one, other = begun(), begun()
    later = ContextSession(500, counter=WORDS, clock=ticking(50))
    for turn in other.log():
        later.add(turn.stamped(datetime(2026, 12, 1, tzinfo=UTC)))
    one.add_assistant_turn("First.")
    later.add_assistant_turn("Second.")
    assert told(one.merge(later, "both")) == [*told(one), "Second."]
    assert told(later.merge(one, "both"))[:2] == told(other)


def test_sessions_that_share_nothing_stand_in_the_order_of_time() -> None:
    """Neither is refused: what was said first stands first."""
    one, other = (ContextSession(500, counter=WORDS, clock=ticking(first, 10)) for first in (5, 0))
    one.add_user_turn("A train.")
    other.add_user_turn("A hotel.")
    other.add_assistant_turn("Which?")
    assert told(one.merge(other, "both")) == ["A hotel.", "A train.", "Which?"]
    assert told(one.merge(other, "apart", interleave=False)) == ["A train.", "A hotel.", "Which?"]


def test_of_one_moment_the_first_ones_come_first() -> None:
    """A clock that stands still parts nothing."""
    task = begun()
    one, other = forked(task, 0, 0), forked(task, 0, 0)
    for number in range(3):
        one.add_user_turn(f"one {number}")
        other.add_user_turn(f"other {number}")
    assert told(one.merge(other, "both"))[2:] == [*told(one)[2:], *told(other)[2:]]


@pytest.mark.parametrize("open_side", [0, 1])
def test_open_calls_are_refused_in_words(open_side: int) -> None:
    """Whatever came behind would part them from their results; nothing is stored."""
    sides = two()
    call(sides[open_side], "book", None)
    store = InMemoryStore()
    with pytest.raises(
        OrderError, match=r"calls \['c1'\] are open in one of the conversations that are merged; legal now: their results, or"
    ):
        sides[0].merge(sides[1], "both", store=store)
    assert store.list_sessions() == ()
    sides[open_side].close_open_calls("the agent was stopped")
    assert told(sides[0].merge(sides[1], "both"))[-1] == "[no result: the agent was stopped]"


def test_a_call_that_a_cleared_view_forgot_gets_a_result_that_says_so() -> None:
    """The log has it without a result; no provider would take it."""
    task = begun()
    one, other = forked(task, 0), forked(task, 1)
    call(one, "book", None)
    one.clear()
    one.add_user_turn("Once more.")
    other.add_assistant_turn("The hotel.")
    both = other.merge(one, "both")
    assert told(both)[-4:] == ["book", "[no result: the view was cleared meanwhile]", "The hotel.", "Once more."]
    assert both.messages()


def test_classes_are_the_higher_of_the_two_and_a_pin_stands_in_the_view() -> None:
    """A turn that one of them pinned, and that had yielded in the other, stands word for word."""
    task = begun(120)
    task.add_assistant_turn(words(20, "a"))
    compressed, pinned = forked(task, 0), forked(task, 1)
    pinned.pin("t3", "the offer")
    compressed.add_user_turn(words(10, "u"))
    compressed.compress(0.0)
    assert "t3" not in {turn.resource_id for turn in compressed.window.all_turns()}
    for both in (compressed.merge(pinned, "one"), pinned.merge(compressed, "other")):
        assert both.window.linearity.get("t3") is ResourceClass.PRESERVED
        assert words(20, "a") in [message["content"] for message in both.messages()]


def test_a_class_that_was_the_classifiers_stays_its_own() -> None:
    """Only what a caller has given counts as given: pictures of the rest may yield."""
    train, hotel = two()
    hotel.add_user_turn("Never book a smoking room.")
    hotel.add_user_turn("Mine.", resource_class="preserved")
    both = train.merge(hotel, "both")
    pins = {turn.text: both.window.linearity.tag_of(turn.resource_id).pinned for turn in both.log()}
    assert (pins["Never book a smoking room."], pins["Mine."]) == (False, True)


def test_gists_of_the_beginning_stand_on() -> None:
    """What was summarised before the fork is not summarised again."""
    task = begun(150)
    for number in range(12):
        task.add_user_turn(words(8, f"q{number}"))
        task.add_assistant_turn(words(8, f"a{number}"))
    gist = next(turn for turn in task.window.all_turns() if turn.is_gist)
    one, other = forked(task, 0), forked(task, 1)
    one.add_user_turn("One.")
    other.add_user_turn("Other.")
    both = one.merge(other, "both")
    assert both.events()[: task.revision] == task.events()
    assert gist in both.window.all_turns()


def test_thinking_falls_where_it_stands_behind_something_else() -> None:
    """A signed block is refused once anything before it has changed; the words stay, and what nothing changed for keeps it."""
    thought = Part("anthropic", '{"type":"thinking","thinking":"hm","signature":"x"}')
    task = begun()
    one, other = forked(task, 0), forked(task, 1)
    for session in (one, other):
        session.add(Turn(Role.ASSISTANT, "Done.", parts=(thought,)))
    both = one.merge(other, "both")
    assert [bool(turn.parts) for turn in both.log()] == [False, False, True, False]


def test_what_is_preserved_and_has_no_room_is_refused_with_a_number_that_does() -> None:
    """Nothing preserved is lost: both stand as they were, and a larger window takes both."""
    task = begun(120)
    one, other = forked(task, 0), forked(task, 1)
    one.add_user_turn(words(60, "one"), resource_class="preserved")
    other.add_user_turn(words(60, "other"), resource_class="preserved")
    with pytest.raises(ContextOverflowError, match="what is PRESERVED in both needs at least") as refused:
        one.merge(other, "both")
    both = one.merge(other, "both", max_tokens=refused.value.tokens)
    assert told(both)[2:] == [words(60, "one"), words(60, "other")]
    with pytest.raises(ContextOverflowError):
        one.merge(other, "smaller", max_tokens=refused.value.tokens - 1)


def test_a_smaller_window_compresses_what_it_begins_with() -> None:
    """The journal of the larger session is gone on from, and what comes out fits the smaller one."""
    small = begun(100)
    large = ContextSession.from_json(begun(1_000).to_json(), counter=WORDS, clock=ticking(100))
    for number in range(10):
        large.add_user_turn(words(20, f"q{number}"))
    both = small.merge(large, "both")
    assert both.window.total_tokens <= both.window.max_tokens == 100
    assert both.messages()
    assert len(both.log()) == 12


def test_a_session_that_leaves_compressing_to_its_caller_is_merged_all_the_same() -> None:
    """Room is made for this once; afterwards it is the caller's affair again."""
    task = begun(200, auto=False)
    one, other = forked(task, 0), forked(task, 1)
    one.add_user_turn(words(80, "one"))
    other.add_user_turn(words(80, "other"))
    both = one.merge(other, "both")
    assert not both.auto
    assert len(both.log()) == 4


# --- companions --------------------------------------------------------------------


class Notes:
    """Keep what was noted."""

    def __init__(self, *noted: str) -> None:
        self.noted = noted

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"noted": [*self.noted]}


class MergingNotes(Notes):
    """Know how two become one."""

    @staticmethod
    def merged(mine: dict[str, Any], yours: dict[str, Any]) -> dict[str, Any]:
        """Return what both have noted."""
        return {"noted": sorted({*mine["noted"], *yours["noted"]})}


def accompanied(kind: type[Notes] = Notes) -> tuple[ContextSession, ContextSession]:
    """Return two sessions whose notes differ."""
    sides = two()
    for number, session in enumerate(sides):
        session.accompany("notes", kind(str(number)))
        session.accompany("same", Notes("same"))
        session.accompany(f"own {number}", Notes(str(number)))
        session.save()
    return sides


def test_companions_that_differ_are_refused_by_name() -> None:
    """Who knows better gives a rule; nothing is stored."""
    one, other = accompanied()
    store = InMemoryStore()
    with pytest.raises(ConflictError, match=r"companions \['notes'\]: .* no rule"):
        one.merge(other, "both", store=store)
    assert store.list_sessions() == ()


@pytest.mark.parametrize("by", ["rule", "own"])
def test_companions_are_merged_by_a_rule_or_by_their_own(by: str) -> None:
    """Those that only one of them has, or that are the same, are taken."""
    one, other = accompanied(Notes if by == "rule" else MergingNotes)
    both = one.merge(other, "both", companions={"notes": MergingNotes.merged} if by == "rule" else None)
    assert both.companion("notes") == {"noted": ["0", "1"]}
    assert both.companion("same") == {"noted": ["same"]}
    assert (both.companion("own 0"), both.companion("own 1")) == ({"noted": ["0"]}, {"noted": ["1"]})


# --- where it is kept ----------------------------------------------------------------


def test_a_merged_session_is_kept_and_opened_again(tmp_path: Path) -> None:
    """In the store of the first, or in another; an id that is taken is refused."""
    train, hotel = two()
    with closing(SQLiteStore(tmp_path / "sessions.db")) as store:
        both = train.merge(hotel, "both", store=store)
        both.add_user_turn("Thank you.")
        again = ContextSession.open(store, "both", 500, counter=WORDS)
        assert again.conversation == both.conversation
        with pytest.raises(ConflictError):
            train.merge(hotel, "both", store=store)


def test_a_task_merges_without_blocking() -> None:
    """The twin does what the other does."""
    train, hotel = two()
    assert told(asyncio.run(train.amerge(hotel, "both"))) == told(train.merge(hotel, "other"))


def test_what_is_no_session_is_refused() -> None:
    """In words."""
    with pytest.raises(InvalidOptionError, match="legal: another ContextSession"):
        begun().merge("session", "both")  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match="max_tokens"):
        begun().merge(begun(), "both", max_tokens=0)
