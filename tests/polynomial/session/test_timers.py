"""Timers of a machine: data of the journal, fired by `tick`."""

import asyncio
from pathlib import Path

import pytest
from statemachine import State

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextMachine, ContextSession, IllegalDirectionError
from polycontext.polynomial.machine import after
from polycontext.pressure import AdaptiveThreshold
from tests.polynomial.conversations import WORDS, Clock, text_of

FROM = ContextMachine.accumulating


class Waiting(ContextMachine):
    """Wait an hour for an answer, remind after half of it, and then give up."""

    approval = State("APPROVAL", value="APPROVAL")
    reminded = State("REMINDED", value="REMINDED")
    ask = FROM.to(approval)
    approve = approval.to(FROM) | reminded.to(FROM)
    remind = approval.to(reminded, cond=after(1_800))
    expire = reminded.to(FROM, cond=after(1_800))


def asked(path: Path, clock: Clock) -> ContextSession:
    """Return a session that waits for approval."""
    session = opened(path, clock)
    session.add_user_turn("Pay the bill.")
    session.send("ask")
    return session


def opened(path: Path, clock: Clock) -> ContextSession:
    """Return the session, opened."""
    return ContextSession.open(
        path, "one", max_tokens=600, counter=WORDS, machine=Waiting, clock=clock
    )


def test_a_timer_fires_when_its_time_has_come(tmp_path: Path) -> None:
    """Not before, and each once; without a time, `tick` asks the session's clock."""
    clock = Clock()
    with asked(tmp_path / "a.db", clock) as session:
        assert session.tick(clock.wait(minutes=29)) == ()
        with pytest.raises(IllegalDirectionError):
            session.send("remind")
        clock.wait(minutes=1)
        assert session.tick() == ("remind",)
        assert session.state == "REMINDED"
        assert session.tick() == ()
        assert session.tick(clock.wait(minutes=45)) == ("expire",)
        assert session.state == "ACCUMULATING"
        assert session.history.events()[-1].at == clock.now


def test_a_timer_goes_on_after_a_restart(tmp_path: Path) -> None:
    """It counts from the event that entered the state; a turn or resize in between is no entry."""
    clock = Clock()
    asked(tmp_path / "a.db", clock).close()
    clock.wait(minutes=20)
    with opened(tmp_path / "a.db", clock) as session:
        session.send("resize", 500)
        assert session.tick() == ()
    clock.wait(minutes=10)
    with opened(tmp_path / "a.db", clock) as session:
        assert asyncio.run(session.atick()) == ("remind",)
        again = ContextSession.history.load(text_of(session), machine=Waiting, counter=WORDS)
        assert again.conversation == session.conversation


def test_a_rewind_starts_the_timer_again(tmp_path: Path) -> None:
    """The state is entered when the conversation goes back to it."""
    clock = Clock()
    with asked(tmp_path / "a.db", clock) as session:
        waiting = session.history.revision
        session.send("approve")
        clock.wait(hours=2)
        session.history.rewind(waiting)
        assert (session.state, session.tick()) == ("APPROVAL", ())
        assert session.tick(clock.wait(minutes=30)) == ("remind",)


def test_a_timer_that_another_process_fired_fires_once(tmp_path: Path) -> None:
    """The second one sees that it was late."""
    clock = Clock()
    with asked(tmp_path / "a.db", clock) as first, opened(tmp_path / "a.db", clock) as second:
        clock.wait(minutes=30)
        assert (first.tick(), second.tick(), second.tick()) == (("remind",), (), ())
        assert second.state == "REMINDED"


@pytest.mark.parametrize("seconds", [-1, "60", True])
def test_a_delay_is_a_number_of_seconds(seconds: object) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidOptionError, match="a number of seconds"):
        after(seconds)  # type: ignore[arg-type]


def test_a_timer_that_stays_fires_once_in_a_tick() -> None:
    """The journal does not fill."""

    class Reminding(ContextMachine):
        """It reminds without end."""

        remind = FROM.to(FROM, cond=after(60))

    clock = Clock()
    session = ContextSession(max_tokens=600, counter=WORDS, machine=Reminding, clock=clock)
    session.add_user_turn("Hello.")
    assert session.tick(clock.wait(seconds=61)) == ("remind",)


def test_a_state_that_a_smaller_budget_chose_lasts_from_when_it_is_stored(tmp_path: Path) -> None:
    """A session that goes on and one that is opened again agree."""

    class Hasty(ContextMachine):
        """It gives up after an hour under pressure."""

        give_up = ContextMachine.pressured.to(ContextMachine.pressured, cond=after(3_600))

    clock, path = Clock(), tmp_path / "sessions.db"

    def hasty(budget: int) -> ContextSession:
        return ContextSession.open(
            path,
            "s",
            max_tokens=budget,
            counter=WORDS,
            machine=Hasty,
            clock=clock,
            auto=False,
            threshold=AdaptiveThreshold(),
        )

    with hasty(600) as session:
        session.add_user_turn("Hello.")
        session.add_assistant_turn("word " * 230)
        assert session.state == "ACCUMULATING"
    clock.wait(hours=2)
    with hasty(300) as session:
        assert session.state == "PRESSURED"
        assert session.tick(clock.now) == ()
        session.promote("t2", ResourceClass.PRESERVED)
        assert session.state == "PRESSURED"
        stands = session.conversation.since
    with hasty(300) as session:
        assert session.conversation.since == stands == clock.now
        assert session.tick(clock.wait(hours=1)) == ("give_up",)
