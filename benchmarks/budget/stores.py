"""Measure the cost of keeping a session in a SQLite file.

The reference is a bare durable commit of the same bytes in the same run.
"""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SQLiteStore
from polycontext.window import Turn

BUDGET = 8_000
SHORT = 100
MEASURED = 400
"""The number of turns that are measured at each length, each in three places in turn."""

_AT_ONCE = 100
_OPENINGS = 3


def store_rows(scale: Scale) -> Iterator[Row]:
    """Yield the cost of appending and opening and the file size, in short and long sessions."""
    with TemporaryDirectory() as folder:
        short, long = (
            _Kept(Path(folder) / f"{length}.db", length, scale) for length in (SHORT, scale.turns)
        )
        # Alternate between the sessions, so that a busy moment affects both.
        for _ in range(MEASURED):
            short.go_on()
            long.go_on()
        short.close()
        long.close()
    yield Row(
        "journal append, SQLite WAL",
        (
            Found(f"durable commit ÷ a bare one, at {SHORT:,} turns", short.commit, 1.3, " x"),
            Found(f"durable commit ÷ a bare one, at {scale.turns:,} turns", long.commit, 1.3, " x"),
            Found("CPU beyond the session in memory and a bare commit", long.cpu, 250, " µs"),
            Found(
                f"CPU of an append at {scale.turns:,} turns ÷ at {SHORT:,}",
                long.whole / short.whole,
                1.2,
                " x",
            ),
        ),
        (
            f"medians of {MEASURED} turns; a bare commit takes {long.bare * 1e3:.1f} ms",
            f"beyond, at {SHORT:,} turns: {short.cpu:.0f} µs",
        ),
    )
    yield Row(
        f"opening {scale.turns:,} turns",
        (Found("with a view of 8,000 tokens", long.opening, 1.5, " s"),),
    )
    yield Row(
        "the file of a session",
        (
            Found(
                f"bytes of {scale.turns:,} turns",
                long.size,
                1.2 * long.payload + 200 * long.turns,
                " B",
            ),
        ),
        (f"their words: {long.payload:,} B",),
    )


class _Kept:
    """A session in a file, the same session in memory, and a bare file.

    Every turn is added to each of them.
    """

    def __init__(self, path: Path, length: int, scale: Scale) -> None:
        self._path, self._counter, self._talk = path, RememberingCounter(), turns(length + MEASURED)
        self._there = ContextSession.open(path, "s", max_tokens=BUDGET, counter=self._counter)
        memory = ContextSession(max_tokens=BUDGET, counter=self._counter)
        self.turns, self.payload = length + MEASURED, 0
        for number in range(0, length, _AT_ONCE):
            scale.tell(f"a session of {length:,} turns in a file: {number:,}")
            said = list(islice(self._talk, min(_AT_ONCE, length - number)))
            self.payload += sum(map(_bytes, said))
            self._there.extend(said)
            memory.extend(said)
        self._file = sqlite3.connect(path.with_suffix(".bare"), isolation_level=None)
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self._file.execute(f"PRAGMA {setting}")
        self._file.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, content TEXT)")
        store = self._there._writer.store  # noqa: SLF001 - only its share is wanted
        assert isinstance(store, SQLiteStore)
        self._append = Timed(store.append)
        store.append = self._append  # type: ignore[method-assign]
        self._timed = Timed(self._commit), Timed(self._there.add), Timed(memory.add)
        self._timed_in_turn = list(self._timed)

    def go_on(self) -> None:
        """Add one more turn."""
        turn = next(self._talk)
        self.payload += _bytes(turn)
        # Alternate the order, because a disk is faster after a pause.
        self._timed_in_turn.reverse()
        for each in self._timed_in_turn:
            each(turn)

    def _commit(self, turn: Turn) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        self._file.execute("INSERT INTO words (content) VALUES (?)", (words_of(turn),))
        self._file.execute("COMMIT")

    def close(self) -> None:
        """Close the files, and measure their size and the best time of opening."""
        self._file.close()
        self._there.close()
        self.size = self._path.stat().st_size
        self.opening = min(_opening(self._path, self._counter) for _ in range(_OPENINGS))

    @property
    def bare(self) -> float:
        """Return the median seconds of a bare commit."""
        return median(self._timed[0].wall)

    @property
    def commit(self) -> float:
        """Return the store's mean time relative to a bare commit; single disk times vary widely."""
        return fmean(self._append.wall) / fmean(self._timed[0].wall)

    @property
    def whole(self) -> float:
        """Return the median CPU microseconds of adding a turn to the stored session."""
        return median(self._timed[1].cpu) * 1e6

    @property
    def cpu(self) -> float:
        """Return the CPU microseconds of a turn beyond the session itself and a bare commit."""
        return self.whole - (median(self._timed[0].cpu) + median(self._timed[2].cpu)) * 1e6


class Timed:
    """A callable that records the wall time and CPU time of each call."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def __call__(self, *args: object, **options: object) -> None:
        """Call the function and record its times."""
        began, worked = perf_counter(), process_time()
        self._function(*args, **options)
        self.cpu.append(process_time() - worked)
        self.wall.append(perf_counter() - began)


def _opening(path: Path, counter: RememberingCounter) -> float:
    began = perf_counter()
    with ContextSession.open(path, "s", max_tokens=BUDGET, counter=counter):
        return perf_counter() - began


def words_of(turn: Turn) -> str:
    """Return the text of a turn that a bare commit stores."""
    return "\n".join([turn.content or "", *(call.arguments for call in turn.tool_calls)])


def _bytes(turn: Turn) -> int:
    return len(words_of(turn).encode())
