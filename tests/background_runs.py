# ruff: noqa: T201 - a table is what it is for
"""Write many summaries in the background while turns are added, recalled and rewound.

Print how each of them ended.

Usage: python -m tests.background_runs [--compactions N] [--seed N]
"""

import argparse
import asyncio
import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define, field

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.pressure import ContextProjector, FixedThreshold
from polycontext.window import Turn
from tests.broken_answers import BROKEN, answered
from tests.polynomial.conversations import WORDS, words

GOOD = "Shelves one to four hold plums."
LIFE = 50
"""Summaries that are begun in one session before the next one is."""


class Model:
    """Answer when it may, and remember how often it was asked at once."""

    def __init__(self) -> None:
        self.answer: object = GOOD
        self.may = threading.Event()
        self.now = self.most = 0
        self._counting = threading.Lock()

    def summarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        """Return or raise the answer."""
        with self._asked():
            assert self.may.wait(60)
        return answered(self.answer)

    @contextmanager
    def _asked(self) -> Generator[None]:
        """Count a call for as long as it lasts, however it ends."""
        with self._counting:
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            yield
        finally:
            with self._counting:
                self.now -= 1


class Coroutines(Model):
    """Do the same for those who await it."""

    summarise = None  # type: ignore[assignment]

    async def asummarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        """Return or raise the answer."""
        with self._asked():
            await asyncio.to_thread(self.may.wait, 60)
        return answered(self.answer)


@define
class Run:
    """Hold what is counted, and what went wrong."""

    random: Random
    outcomes: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)
    turns: int = 0
    most: int = 0

    @property
    def compactions(self) -> int:
        """Return how many summaries were begun."""
        return self.outcomes.total()

    def drawn(self) -> tuple[str, object]:
        """Draw what the model answers: a summary half of the time."""
        return (
            ("good", GOOD) if self.random.random() < 0.5 else self.random.choice([*BROKEN.items()])
        )

    def judge(self, session: ContextSession, name: str, *, fits: bool, said: list[str]) -> None:
        """Note what became of a summary, and whether that is what should have."""
        became = session.background.outcomes[-1].became
        self.outcomes[f"{'good' if name == 'good' else 'broken'}, {became}"] += 1
        expected = ("landed" if name == "good" else "refused") if fits else None
        if became != expected and (expected is not None or became not in ("outdated", "cancelled")):
            self.wrong.append(
                f"{name}: {became}, not {expected}: {session.background.outcomes[-1].why[:200]}"
            )
        if [turn.text for turn in session.log()] != said:
            self.wrong.append(f"{name}: the log is not what was said")

    def end(self, session: ContextSession, said: list[str], model: Model) -> None:
        """Look at a session as it is opened again."""
        self.turns += len(said)
        self.most = max(self.most, model.most)
        again = ContextSession(
            400, counter=WORDS, store=session._writer.store, session_id=session._writer.session_id
        )
        if [turn.text for turn in again.log()] != said or again.window != session.window:
            self.wrong.append("what was opened again is not what stood")


def threads(run: Run, store: SessionStore, name: str, most: int) -> None:
    """Live one session whose summaries threads write."""
    model, numbers = Model(), count()
    session = _session(store, name, model)
    said: list[str] = []

    def say(size: int) -> None:
        said.append(words(size, f"{next(numbers)}x"))
        session.add_user_turn(said[-1])

    for _ in range(min(LIFE, most)):
        begun = len(session.background.outcomes)
        answer, model.answer = run.drawn()
        model.may.clear()
        while not session.background.running:
            say(16)
        for _ in range(run.random.randrange(3)):
            say(run.random.choice([1, 4, 16]))
        _disturb(run.random, session)
        flight = session.background._flight
        fits = flight is not None and flight.plan.fits(session.window)
        model.may.set()
        if flight is not None:
            assert flight.over.wait(60)
        thread = None if flight is None else flight.thread
        if thread is not None:
            thread.join(60)
        assert len(session.background.outcomes) > min(begun, 31)
        run.judge(session, answer, fits=fits, said=said)
        _calm(session)
    run.end(session, said, model)


async def tasks(run: Run, store: SessionStore, name: str, most: int) -> None:
    """Live one session whose summaries tasks write."""
    model, numbers = Coroutines(), count()
    session = _session(store, name, model)
    said: list[str] = []

    async def say(size: int) -> None:
        said.append(words(size, f"{next(numbers)}x"))
        await session.aadd_user_turn(said[-1])

    for _ in range(min(LIFE, most)):
        answer, model.answer = run.drawn()
        model.may.clear()
        while not session.background.running:
            await say(16)
        for _ in range(run.random.randrange(3)):
            await say(run.random.choice([1, 4, 16]))
        _disturb(run.random, session)
        flight = session.background._flight
        fits = flight is not None and flight.plan.fits(session.window)
        model.may.set()
        await session.background.settled()
        run.judge(session, answer, fits=fits, said=said)
        _calm(session)
    run.end(session, said, model)


def _session(store: SessionStore, name: str, model: Model) -> ContextSession:
    projector: Any = ContextProjector(model)
    return ContextSession(
        400,
        counter=WORDS,
        store=store,
        session_id=name,
        auto="background",
        projector=projector,
        threshold=FixedThreshold(0.8, 0.2),
        cooldown=0,
    )


def _disturb(random: Random, session: ContextSession) -> None:
    """Now and then do what a summary does not survive."""
    what = random.random()
    if what < 0.05:
        session.background.cancel()
    elif what < 0.1:
        session.clear()
    elif what < 0.2:
        gist = next((turn for turn in session.window.all_turns() if turn.is_gist), None)
        if gist is not None and session.pressure < 0.5:
            session.recall(next(iter(gist.sources)))


def _calm(session: ContextSession) -> None:
    """Let the next summary begin without the pause that a failed one brings."""
    session.background._not_before = 0


@contextmanager
def stores() -> Generator[dict[str, SessionStore]]:
    """Yield the stores that sessions are kept in."""
    with TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "sessions.db")
        yield {"memory": InMemoryStore(), "SQLite": store}
        store.close()


def live(compactions: int, seed: int, say: Callable[[str], object] = print) -> Run:
    """Let so many summaries be begun, on each store by threads and by tasks."""
    whole = Run(Random(seed))  # noqa: S311 - nothing here is a secret
    say(
        f"seed {seed}\n{'kept in':<8} {'by':<8} {'begun':>7} {'landed':>7} {'at once':>8} "
        f"{'turns':>8} {'wrong':>6}"
    )
    with stores() as kept:
        for place, store in kept.items():
            for by in ("threads", "tasks"):
                run = Run(whole.random)
                for number in count():
                    left = compactions // (2 * len(kept)) - run.compactions
                    if left <= 0:
                        break
                    if by == "threads":
                        threads(run, store, f"{by} {number}", left)
                    else:
                        asyncio.run(tasks(run, store, f"{by} {number}", left))
                say(
                    f"{place:<8} {by:<8} {run.compactions:>7} {run.outcomes['good, landed']:>7} "
                    f"{run.most:>8} {run.turns:>8} {len(run.wrong):>6}"
                )
                whole.outcomes += run.outcomes
                whole.wrong += run.wrong
                whole.most = max(whole.most, run.most)
    say(", ".join(f"{number} {name}" for name, number in sorted(whole.outcomes.items())))
    return whole


def main() -> int:
    """Print the table; return 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compactions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    run = live(
        options.compactions,
        Random().randrange(10**6) if options.seed is None else options.seed,  # noqa: S311
    )
    for each in run.wrong[:20]:
        print(each)
    return 1 if run.wrong or run.most > 1 else 0


if __name__ == "__main__":
    # Of every broken answer a warning tells: here they are counted.
    logging.disable()
    sys.exit(main())
