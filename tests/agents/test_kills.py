"""Runners that are killed, cancelled or doubled: no turn is lost, and no effect happens twice."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from polycontext.agents import Agent, AgentMachine
from polycontext.agents.requests import ModelRequest
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import MoveEvent, TurnEvent
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from tests.agents.kitchen import DONE, UNDERSTOOD, Plans, begun, plan, tools, use

Call = tuple[str, dict[str, str]]
FIND: Call = ("find", {})
PLAN: Call = ("plan", {"recipe": "recipe_1", "day": "Monday"})


class Killed(BaseException):
    """The process ends."""


def script_of(rng: random.Random) -> list[str]:
    """Return the answers of an exchange with up to three steps, each of up to three calls."""
    steps, answers = rng.randrange(4), list[str]()
    for number in range(steps):
        calls = [PLAN] * rng.randrange(3) if number else [FIND, *[PLAN] * rng.randrange(2)]
        answers += [use(*calls)] if calls else []
        answers.append(DONE)
    return [UNDERSTOOD, plan(steps), *answers, f"Planned, {rng.random()}."]


class Scripted:
    """A model whose answer depends on what is stored, so that it may be asked again."""

    def __init__(self, session: ContextSession, script: list[str], passes: Any) -> None:
        self._session, self._script, self._passes = session, script, passes

    def complete(self, request: ModelRequest) -> str:
        """Return the answer that is not stored yet."""
        self._passes()
        stored = sum(
            isinstance(event, MoveEvent)
            or (isinstance(event, TurnEvent) and event.turn.role == "assistant")
            for event in self._session.history.events()
        )
        self._passes()
        return self._script[min(stored, len(self._script) - 1)]


class Faulty(InMemoryStore):
    """A store at whose writes the process may end, before or after them."""

    def __init__(self) -> None:
        super().__init__()
        self.passes: Callable[[], None] = lambda: None

    def append(self, *given: Any, **options: Any) -> None:
        """Append between two points."""
        self.passes()
        super().append(*given, **options)
        self.passes()


def kills_at(point: int) -> Callable[[], None]:
    """Return a function that ends the process at its call number `point`."""
    calls = count(1)

    def passes() -> None:
        if next(calls) == point:
            raise Killed

    return passes


def said(session: ContextSession) -> list[tuple[str, str]]:
    """Return what the log says."""
    return [(turn.role, turn.text) for turn in session.log()]


def kinds(session: ContextSession) -> list[str]:
    """Return the events of the journal by kind."""
    return [type(event).__name__ for event in session.history.events()]


def lived(script: list[str], point: int) -> tuple[list[tuple[str, str]], list[str], int, bool]:
    """Live an exchange that is killed at a point: what is said, stored and planned, and whether."""
    store, plans, passes = Faulty(), Plans(), kills_at(point)
    plans.fails = store.passes = passes
    was_killed = False

    def opened() -> Agent:
        session = ContextSession.open(store, "kitchen", max_tokens=3000, machine=AgentMachine)
        return Agent(session, Scripted(session, script, passes), tools(plans))

    agent = None
    while True:
        try:
            agent = opened()
            agent.send("A soup?", idempotency_key="m1")
        except Killed:
            was_killed = True
        else:
            return said(agent.session), kinds(agent.session), len(plans.made), was_killed


def run_kills(most: int, seeds: Any) -> int:
    """Kill exchanges at every point, and return how many were killed."""

    def killed(script: list[str], point: int, whole: Any) -> bool:
        *after, was_killed = lived(script, point)
        assert after == [*whole[:3]], point
        return was_killed

    return _at_every_point(most, seeds, killed)


def run_cancellations(most: int, seeds: Any) -> int:
    """Cancel exchanges wherever they wait, and return how many were cancelled."""
    return _at_every_point(most, seeds, lambda *exchange: asyncio.run(_cancelled(*exchange)))


def _at_every_point(
    most: int, seeds: Any, interrupted: Callable[[list[str], int, Any], bool]
) -> int:
    """Interrupt exchanges at the first point, the second, and so on, while there is one."""
    done = 0
    for seed in seeds:
        script = script_of(random.Random(seed))  # noqa: S311 - a test's
        whole = lived(script, 0)
        for point in count(1):
            if not interrupted(script, point, whole):
                break
            done += 1
            if done == most:
                return done
    return done


async def _cancelled(script: list[str], point: int, whole: Any) -> bool:
    """Cancel an exchange at a point, go on, and return whether it was reached."""
    plans, reached, calls = Plans(), asyncio.Event(), count(1)
    session = begun()
    scripted = Scripted(session, script, lambda: None)

    class Waiting:
        complete = scripted.complete

        async def acomplete(self, request: ModelRequest) -> str:
            await self._pass()
            answer = scripted.complete(request)
            await self._pass()
            return answer

        async def _pass(self) -> None:
            if next(calls) == point:
                reached.set()
                await asyncio.Event().wait()

    agent = Agent(session, Waiting(), tools(plans))
    task = asyncio.create_task(agent.asend("A soup?", idempotency_key="m1"))
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not reached.is_set():
        await task
        return False
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await agent.asend("A soup?", idempotency_key="m1")
    assert (said(session), kinds(session), len(plans.made)) == whole[:3]
    return True


def run_doubles(folder: Path, seeds: Any) -> None:
    """Let two runners work on one SQLite file at the same time."""
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311 - a test's
        script, problems = script_of(rng), list[BaseException]()
        slow = Plans(lambda rng=rng: time.sleep(rng.random() / 50))  # type: ignore[misc]

        def opened(plans: Plans = slow, script: list[str] = script, seed: int = seed) -> Agent:
            session = ContextSession.open(
                SQLiteStore(folder / f"{seed}.db"), "k", max_tokens=3000, machine=AgentMachine
            )
            return Agent(session, Scripted(session, script, plans.fails), tools(plans))

        def work(problems: list[BaseException] = problems) -> None:
            try:
                agent = opened()
                agent.send("A soup?", idempotency_key="m1")
                agent.session.close()
            except BaseException as error:  # noqa: BLE001 - told below
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == [], seed
        agent = opened()
        whole = lived(script, 0)
        assert (said(agent.session), len(slow.made)) == (whole[0], whole[2]), seed
        agent.session.close()


def test_killed_runners_lose_nothing() -> None:
    """Before and after each answer, each effect and each commit."""
    assert run_kills(30, range(3)) == 30


def test_cancelled_runners_lose_nothing() -> None:
    """Wherever the model is waited for."""
    assert run_cancellations(20, range(5)) == 20


def test_two_runners_answer_once(tmp_path: Path) -> None:
    """Each reads what the other has stored, and every effect happens once for its key."""
    run_doubles(tmp_path, range(3))


@pytest.mark.gate
def test_many_killed_cancelled_and_doubled_runners_lose_nothing(tmp_path: Path) -> None:
    """The same, longer."""
    assert run_kills(80, range(100, 200)) == 80
    assert run_cancellations(30, range(100, 200)) == 30
    run_doubles(tmp_path, range(100, 106))
