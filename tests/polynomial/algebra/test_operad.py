"""Machines side by side, and workers in child sessions."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext import ContextMachine, ContextSession
from polycontext.agents import Agent, AgentMachine
from polycontext.agents.requests import ModelRequest
from polycontext.base import InvalidOptionError
from polycontext.polynomial import CONTEXT_OPERAD, IllegalDirectionError
from polycontext.polynomial.algebra.delegation import Delegation
from polycontext.polynomial.machine import once
from polycontext.testing import FAST
from tests.polynomial.algebra.test_poly_agent import Approval, Safe

TASKS = {"hotel": "Find a hotel.", "train": "Find a train."}


class Waiting(ContextMachine):
    """A machine with a state of its own."""

    pause = State("PAUSED", value="PAUSED")
    hold = ContextMachine.accumulating.to(pause)
    go = pause.to(ContextMachine.accumulating)


class Holding(ContextMachine):
    """Another one."""

    held = State("HELD", value="HELD")
    keep = ContextMachine.accumulating.to(held)


def test_an_agent_stands_beside_an_approval(tmp_path: Path) -> None:
    """Both must accept an event; the session can be opened again, in either order."""
    machine, place = CONTEXT_OPERAD.beside(Safe, AgentMachine), tmp_path / "sessions.db"
    with ContextSession.open(place, "s", max_tokens=8000, machine=machine) as session:
        session.add_user_turn("Pay.")
        session.send("ask")
        with pytest.raises(IllegalDirectionError):
            session.add_assistant_turn("Paid.")
        assert session.regions == {"approval": "WAITING", "node": "UNDERSTANDING"}
    again = CONTEXT_OPERAD.beside(AgentMachine, Safe)
    with ContextSession.open(place, "s", machine=again) as session:
        session.send("approve")
        assert session.regions["approval"] == "FREE"


def test_a_machine_with_states_of_its_own_stands_anywhere() -> None:
    """The context's states are those of the one machine that adds to them."""
    for machines in ((Waiting, Safe), (Safe, Waiting)):
        machine = CONTEXT_OPERAD.beside(*machines)
        session = ContextSession(8000, machine=machine)
        session.add_user_turn("Wait.")
        session.send("hold")
        assert (session.state, session.regions) == ("PAUSED", {"approval": "FREE"})


class Clashing(ContextMachine):
    """A machine with another region of that name."""

    regions: ClassVar = {"approval": type("Other", (Approval,), {})}


@pytest.mark.parametrize(
    "machines", [(Safe, Clashing), (Waiting, Holding), (Safe, Waiting, Holding)]
)
def test_machines_that_do_not_fit_are_refused(machines: Any) -> None:
    """Two regions of one name, or two machines that add to the context's own states."""
    with pytest.raises(InvalidOptionError):
        CONTEXT_OPERAD.beside(*machines)


class Careful(ContextMachine):
    """A machine that refuses secrets."""

    @once
    def in_order(self, step: Any) -> None:
        """Refuse a secret."""
        if "secret" in getattr(step.input.payload, "text", ""):
            raise PermissionError
        super().in_order(step)


class Brief(ContextMachine):
    """A machine that refuses long messages, with examples of its own."""

    wordless = frozenset({"length"})
    examples: ClassVar = {"check": ([1],)}

    @once
    def in_order(self, step: Any) -> None:
        """Refuse a long message."""
        if len(getattr(step.input.payload, "text", "")) > 20:
            raise ValueError("too long")
        super().in_order(step)


def test_checks_of_both_machines_are_made() -> None:
    """Overridden methods call each other; what the classes declare is joined."""
    machine = CONTEXT_OPERAD.beside(Careful, Brief, AgentMachine)
    session = ContextSession(8000, machine=machine)
    with pytest.raises(PermissionError):
        session.add_user_turn("a secret")
    with pytest.raises(ValueError, match="too long"):
        session.add_user_turn("a" * 30)
    session.add_user_turn("hello")
    assert machine.wordless == Brief.wordless | AgentMachine.wordless
    assert machine.examples == {**Brief.examples, **AgentMachine.examples}


# --- workers ------------------------------------------------------------------------------


def saying(text: str) -> Any:
    """Return a worker that says a text, after what it was told last."""
    return lambda session: session.add_assistant_turn(f"{text} ({session.log()[-1].text[:13]})")


def texts(session: ContextSession) -> list[str]:
    """Return what is said in a session, a line each."""
    return [turn.text.replace("\n", " ") for turn in session.log()]


def asked(**options: Any) -> ContextSession:
    """Return a session with a question."""
    session = ContextSession(8000, counter=FAST, session_id="trip", **options)
    session.add_user_turn("Plan a trip.")
    return session


def test_tasks_are_done_in_children_and_handed_back() -> None:
    """Each worker is told its task alone; the results are attached in the order of the tasks."""
    session = asked()
    plan = CONTEXT_OPERAD.delegate(TASKS, saying("Booked"), max_tokens=500)
    rooms: list[int] = []

    def train(child: ContextSession) -> None:
        rooms.append(child.window.max_tokens)
        saying("NJ 457")(child)

    plan(saying("Hotel Nine"), train)(session)
    assert texts(session)[1:3] == [
        "### Text ```text Hotel Nine (Find a hotel.) ```",
        "### Text ```text NJ 457 (Find a train.) ```",
    ]
    assert texts(session)[3].startswith("Booked")
    children = [session.explain(turn.resource_id).handed_back for turn in session.log()[1:3]]
    assert [child and child.session_id for child in children] == ["trip-t1-hotel", "trip-t1-train"]
    assert rooms == [500]


def test_the_next_question_has_children_of_its_own() -> None:
    """A plan that is used again for the next message works anew; for the same one it does not."""
    session = asked()
    plan = CONTEXT_OPERAD.delegate(TASKS, saying("Booked"))(saying("A"), saying("B"))
    plan(session)
    plan(session)
    assert len(session.log()) == 4
    session.add_user_turn("And back?")
    plan(session)
    assert len(session.log()) == 8


def test_async_workers_work_at_the_same_time() -> None:
    """`arun` awaits async workers concurrently, also those of a plan in a plan."""
    meeting = asyncio.Barrier(3)

    def meets(text: str) -> Any:
        async def work(session: ContextSession) -> None:
            await asyncio.wait_for(meeting.wait(), 60)
            await session.aadd_assistant_turn(text)

        return work

    plan = CONTEXT_OPERAD.delegate(TASKS, saying("Booked"))
    trip = plan.compose(plan, CONTEXT_OPERAD.identity)(*map(meets, "ABC"))
    session = asked()
    assert isinstance(trip, Delegation)
    asyncio.run(trip.arun(session))
    assert "C" in texts(session)[2]
    assert texts(session)[-1].startswith("Booked")


def test_no_worker_goes_on_after_another_failed() -> None:
    """The others are cancelled before their sessions are closed, and the error is raised."""
    said: list[str] = []

    async def slow(session: ContextSession) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            said.append(session.session_id)

    async def failing(session: ContextSession) -> None:
        await asyncio.sleep(0)
        raise ConnectionError

    async def failed() -> list[str]:
        trip = CONTEXT_OPERAD.delegate(TASKS, saying("Booked"))(slow, failing)
        assert isinstance(trip, Delegation)
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(trip.arun(asked()), 60)
        return [*said]

    assert asyncio.run(failed()) == ["trip-t1-hotel"]


def test_a_worker_without_an_answer_is_refused() -> None:
    """The error names the task; what the others did stays done."""
    session = asked()
    plan = CONTEXT_OPERAD.delegate(TASKS, saying("Booked"))
    with pytest.raises(InvalidOptionError, match="worker train"):
        plan(saying("A"), lambda child: None)(session)
    assert len(session.log()) == 1


def test_agents_are_workers() -> None:
    """An agent works on a task in a child, on the machine that its parent has."""

    class Model:
        def complete(self, request: ModelRequest) -> str:
            answers = {
                "understand": '{"intent": "ask", "confidence": 1}',
                "think": '{"decision": "clarify", "goal": "Answer.", "questions": ["Which?"]}',
            }
            return answers.get(request.node, "Hotel Nine.")

    def work(session: ContextSession) -> None:
        Agent(session, Model()).run()

    session = asked(machine=CONTEXT_OPERAD.beside(AgentMachine, Safe))
    CONTEXT_OPERAD.delegate(TASKS, work)(work, work)(session)
    assert texts(session)[1:] == [*["### Text ```text Hotel Nine. ```"] * 2, "Hotel Nine."]
    assert session.regions == {"approval": "FREE", "node": "READY"}
