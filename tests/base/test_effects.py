"""Effects: steps run the same whether they are driven or awaited."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, assert_type

import pytest

from polycontext.base.effects import (
    Effect,
    Steps,
    adrive,
    call,
    drive,
    in_thread,
    procedure,
    together,
    twin,
    within,
)


def counted(found: list[str]) -> Steps[str]:
    """Ask for two things, of which the second fails, and return what came of it."""

    async def later() -> int:
        return 2

    found.append(f"first {(yield Effect(lambda: 1, later))}")
    try:
        yield Effect(lambda: 1 // 0, adividing)
    except ZeroDivisionError:
        found.append("failed")
    return "done"


async def adividing() -> float:
    """Fail."""
    return 1 // 0


def test_steps_are_driven_by_who_waits_and_by_who_awaits() -> None:
    """Each effect is sent what it returns and thrown what it raises."""
    found: list[str] = []
    assert drive(counted(found)) == "done"
    awaited: Coroutine[Any, Any, str] = adrive(counted(found))
    assert asyncio.run(awaited) == "done"
    assert found == ["first 1", "failed", "first 2", "failed"]


def taken(effect: Effect) -> Steps[Any]:
    """Return the result of an effect."""
    return (yield effect)


def test_pieces_of_work_run_in_sequence_or_concurrently() -> None:
    """Their results come in their order either way."""

    def pieces(seen: list[str]) -> list[Steps[str]]:
        def piece(name: str) -> Steps[str]:
            seen.append(f"{name} begins")
            yield Effect(lambda: None, lambda: asyncio.sleep(0))
            seen.append(f"{name} ends")
            return name

        return [piece("a"), piece("b")]

    driven, awaited = list[str](), list[str]()
    assert drive(taken(together(pieces(driven)))) == ["a", "b"]
    assert asyncio.run(adrive(taken(together(pieces(awaited))))) == ["a", "b"]
    assert driven == ["a begins", "a ends", "b begins", "b ends"]
    assert awaited == ["a begins", "b begins", "a ends", "b ends"]


def test_cancelling_cancels_every_piece_of_work() -> None:
    """No task is left behind."""
    cancelled: list[str] = []

    def waiting(name: str) -> Steps[None]:
        try:
            yield Effect(lambda: None, asyncio.Event().wait)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise

    async def work() -> None:
        task = asyncio.create_task(adrive(taken(together([waiting("a"), waiting("b")]))))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert sorted(cancelled) == ["a", "b"]


def test_work_runs_inside_the_context_manager_of_its_driver() -> None:
    """It is left when the work fails, too."""
    seen: list[str] = []

    @contextmanager
    def manager() -> Generator[str]:
        seen.append("entered")
        try:
            yield "blocking"
        finally:
            seen.append("left")

    @asynccontextmanager
    async def amanager() -> AsyncGenerator[str]:
        seen.append("entered")
        try:
            yield "awaiting"
        finally:
            seen.append("left")

    def work(entered: str) -> Steps[str]:
        seen.append((yield in_thread(lambda: entered)))
        return entered

    def failing(entered: str) -> Steps[str]:
        raise ZeroDivisionError((yield in_thread(lambda: entered)))

    assert drive(taken(within(manager, amanager, work))) == "blocking"
    assert asyncio.run(adrive(taken(within(manager, amanager, work)))) == "awaiting"
    assert seen == ["entered", "blocking", "left", "entered", "awaiting", "left"]
    with pytest.raises(ZeroDivisionError, match="blocking"):
        drive(taken(within(manager, amanager, failing)))
    with pytest.raises(ZeroDivisionError, match="awaiting"):
        asyncio.run(adrive(taken(within(manager, amanager, failing))))
    assert seen[6:] == ["entered", "left", "entered", "left"]


class Counter:
    """Count, in a way of its own for tasks."""

    def __init__(self) -> None:
        self.ways: list[str] = []

    def step(self, by: int = 1) -> int:
        """Return `by`."""
        self.ways.append("step")
        return by

    async def astep(self, by: int = 1) -> int:
        """Return `by`."""
        self.ways.append("astep")
        return by

    @procedure
    def two(self, *, by: int = 1) -> Steps[int]:
        """Return twice `by`."""
        first: int = yield call(self, "step", by)
        second: int = yield call(self, "step", by=by)
        return first + second

    atwo = twin(two)


def test_a_procedure_calls_the_twins_of_what_it_calls() -> None:
    """One generator serves both methods, and the types are those of its result."""
    counter = Counter()
    assert assert_type(counter.two(by=2), int) == 4
    later: Coroutine[Any, Any, int] = counter.atwo(by=3)
    assert asyncio.run(later) == 6
    assert counter.ways == ["step", "step", "astep", "astep"]
