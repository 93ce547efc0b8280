"""A session compresses in idle time and at boundaries, and never while calls are open."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextMachine, ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import FixedThreshold
from polycontext.pressure.schedule import LIFETIMES, Prices, Schedule, pays_idle
from tests.polynomial.conversations import NOON, Clock, add_all, chat, session_of

MARKS = FixedThreshold(0.9, low=0.3)


def summarise(turns: Any, max_tokens: int) -> str:
    """Be a model that says the same of everything."""
    return "All of it was said."


class Phases(ContextMachine):
    """A machine with an event that ends a phase."""

    always = ("finish",)


def talked(clock: Clock, schedule: Schedule | None, **options: Any) -> ContextSession:
    """Return a session whose view is far above its low mark."""
    given: dict[str, Any] = {"threshold": MARKS, "clock": clock, "schedule": schedule} | options
    return add_all(session_of(300, **given), chat(10))


def kinds(session: ContextSession) -> list[str]:
    """Return the events that are no turns."""
    return [str(each.kind) for each in session.history.events() if "turn" not in str(each.kind)]


def test_an_extract_waits_until_the_cache_has_expired() -> None:
    """Once, by a tick of the caller, in a thread or a task; a user who returns in time hits it."""
    clock = Clock()
    session = talked(clock, Schedule(LIFETIMES["anthropic"]))
    assert session.tick(clock.wait(seconds=299)) == ()
    assert session.tick(clock.wait(seconds=1)) == ("compress",)
    assert session.pressure < 0.6
    assert session.history.events()[-1].at == clock.now
    assert asyncio.run(session.atick(clock.wait(seconds=3600))) == ()
    assert kinds(session) == ["compress"]


def test_without_a_tick_the_next_message_tells_that_time_passed() -> None:
    """A guard takes the time from the event: a host that never ticks loses nothing."""
    clock = Clock()
    session = talked(clock, Schedule(300))
    clock.wait(seconds=299)
    session.add_user_turn("In time.")
    assert kinds(session) == []
    session.add_assistant_turn("Yes.")
    clock.wait(seconds=301)
    session.add_user_turn("Too late.")
    assert kinds(session) == ["compress"]
    assert session.log()[-1].text == "Too late."


def test_a_model_is_asked_while_it_still_reads_the_cache() -> None:
    """After that, reading the view anew would cost more than it saves."""
    clock = Clock()
    session = talked(clock, Schedule(300, ahead=20), summariser=summarise)
    assert session.tick(clock.wait(seconds=279)) == ()
    assert session.tick(clock.now + timedelta(seconds=21)) == ()
    assert session.tick(clock.wait(seconds=1)) == ("compress",)
    assert "All of it was said." in str(session.messages())


def test_a_summary_that_costs_more_than_it_saves_is_not_written() -> None:
    """Prices say so: writing tokens is dear, and sending them anew is cheap."""
    clock = Clock()
    dear = Prices(1, 1_000, read=0.1)
    session = talked(clock, Schedule(300), prices=dear, summariser=summarise)
    assert session.tick(clock.wait(seconds=290)) == ()


def test_nothing_is_compressed_while_calls_are_open() -> None:
    """However long the call takes."""
    clock = Clock()
    session = talked(clock, Schedule(300, boundaries=["build"]))
    session.add_assistant_turn(tool_calls=[{"id": "c1", "name": "build", "arguments": "{}"}])
    assert session.tick(clock.wait(seconds=9_000)) == ()
    session.add_tool_turn("Built.", tool_call_id="c1")
    assert kinds(session) == []


def test_a_boundary_is_the_end_of_a_call_that_the_caller_names() -> None:
    """The session compresses behind its result, before the next turn."""
    session = talked(Clock(), Schedule(boundaries=["commit"]))
    for number, name in enumerate(("look", "commit")):
        call = {"id": f"c{number}", "name": name, "arguments": "{}"}
        session.add_assistant_turn(tool_calls=[call])
        session.add_tool_turn("Done.", tool_call_id=f"c{number}")
        session.add_assistant_turn("Next.")
        assert kinds(session) == ["compress"] * number
    assert session.log()[-2].text == "Done."


def test_a_boundary_is_an_event_that_the_caller_names() -> None:
    """It is an event of the machine; another one is none."""
    session = talked(Clock(), Schedule(boundaries=["finish"]), machine=Phases)
    session.send("resize", 320)
    session.send("finish")
    assert kinds(session) == ["resize", "finish", "compress"]
    session.add_user_turn("On.")
    session.send("finish")  # there is little to take
    assert kinds(session)[3:] == ["finish"]


def test_an_undo_holds_until_the_next_turn() -> None:
    """Neither a tick nor a boundary takes it back, in this session or one opened anew."""
    clock = Clock()
    options: dict[str, Any] = {"machine": Phases, "store": InMemoryStore(), "threshold": MARKS}
    schedule = Schedule(300, boundaries=["finish"])
    session = talked(clock, schedule, **options)
    options |= {"clock": clock, "schedule": schedule}
    assert session.tick(clock.wait(seconds=300)) == ("compress",)
    session.history.undo()
    for each in (session, session_of(300, **options)):
        assert each.tick(clock.wait(seconds=6)) == ()
    session.send("finish")
    session.add_user_turn("On.")
    assert kinds(session) == ["compress", "undo", "finish"]
    assert session.tick(clock.wait(seconds=299)) == ()
    assert session.tick(clock.wait(seconds=1)) == ("compress",)


def test_a_tick_in_the_past_does_not_turn_the_journal_back() -> None:
    """Its compression has the time of the last event, whatever that was."""
    clock = Clock()
    session = talked(clock, Schedule(boundaries=["commit"]))
    call = {"id": "c", "name": "commit", "arguments": "{}"}
    session.add_assistant_turn(tool_calls=[call])
    session.add_tool_turn("Done.", tool_call_id="c")
    clock.wait(seconds=60)
    session.documents.patch("notes", lambda _: [{"op": "add", "path": "", "value": 1}])
    assert session.tick(NOON - timedelta(hours=1)) == ("compress",)
    assert session.history.events()[-1].at == clock.now


@pytest.mark.parametrize("options", [{"auto": False}, {"schedule": None}])
def test_a_session_without_a_schedule_or_auto_stays(options: dict[str, Any]) -> None:
    """The caller compresses."""
    clock = Clock()
    session = talked(clock, **{"schedule": Schedule(300), **options})
    assert session.tick(clock.wait(seconds=9_000)) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"lifetime": -1},
        {"ahead": 900, "lifetime": 300},
        {"boundaries": "commit"},
        {"boundaries": [3]},
    ],
)
def test_a_wrong_schedule_is_refused(wrong: dict[str, Any]) -> None:
    """The error names the option."""
    with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
        Schedule(**wrong)
    with pytest.raises(InvalidOptionError, match="schedule"):
        ContextSession(schedule=300)  # type: ignore[arg-type]


@given(
    st.integers(0, 1_000),
    st.integers(0, 1_000),
    st.tuples(*[st.floats(0, 20)] * 3),
    st.booleans(),
)
def test_the_next_request_is_never_dearer(
    tokens: int, kept: int, prices: tuple[float, float, float], asks_model: bool
) -> None:
    """Whatever the prices: with the summary, it costs less than the whole view costs anew."""
    each, output, read = 1 + prices[0], prices[1], prices[2] / 20
    said = Prices(each, output, read=read, write=1.25 * each)
    summary = tokens * (read + output / 20) if asks_model else 0
    is_cheaper = kept * said.write + summary < tokens * said.write - 1e-6
    assert pays_idle(tokens, kept, said, asks_model=asks_model) >= is_cheaper
    if pays_idle(tokens, kept, said, asks_model=asks_model):
        assert kept * said.write + summary <= tokens * said.write + 1e-6
