"""A pool of processes that survives the death of its workers."""

import gc
import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from attrs import field, frozen

from .pieces import Done, Piece, Work

_MOST_HELD = 2**25


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@frozen
class Pool:
    """Runs work in processes of this machine; with one worker, in this process.

    Results come in the order of the pieces. At most `2 * workers` pieces are held at a time, or
    32 MiB and a piece. If a worker dies, its pieces run again; a row at which a worker dies twice
    is rejected.
    """

    workers: int = field(factory=cores)

    def map(self, work: Work, pieces: Iterator[Piece]) -> Iterator[Done]:
        """Yield what `work` makes of each piece, in order."""
        if self.workers == 1:
            yield from map(work, pieces)
            return
        pending = deque[Piece]()
        while True:
            try:
                with _processes(self.workers) as pool:
                    yield from self._run(pool, work, pieces, pending)
            except BrokenProcessPool:
                # Any of the pending pieces may be the cause: each of them runs alone.
                while pending:
                    yield self._alone(work, pending[0])
                    pending.popleft()
            else:
                return

    def _run(
        self, pool: ProcessPoolExecutor, work: Work, pieces: Iterator[Piece], pending: deque[Piece]
    ) -> Iterator[Done]:
        futures = deque[Future[Done]]()
        try:
            while True:
                while (
                    len(pending) < 2 * self.workers
                    and sum(len(each.data) for each in pending) < _MOST_HELD
                    and (piece := next(pieces, None))
                ):
                    pending.append(piece)
                    futures.append(pool.submit(work, piece))
                if not futures:
                    return
                done = futures.popleft().result()
                pending.popleft()
                yield done
        finally:
            for each in futures:
                each.cancel()

    def _alone(self, work: Work, piece: Piece) -> Done:
        done = _tried(work, piece) or _tried(work, piece)
        if done is not None:
            return done
        whole = Done(piece)
        for row in work.split(piece):
            part = _tried(work, row) or _tried(work, row)
            if part is None:
                part = Done(row)
                what = (
                    "the worker died while it shortened this row, each time it was tried; in a "
                    'script, call it below `if __name__ == "__main__":`'
                )
                part.reject(row.start, what, None)
            whole.data += part.data
            whole.rejected += part.rejected
            whole.figures.add(part.figures)
        return whole


def _processes(number: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(number, get_context("spawn"), _start)


def _start() -> None:
    """Leave an interrupt to the process that waits for the results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tune()


def tune() -> None:
    """Let Python look for cycles less often: turns are immutable and form hardly any."""
    gc.set_threshold(50_000, 20, 100)


def _tried(work: Work, piece: Piece) -> Done | None:
    """Return what a process of its own makes of a piece, or None if the process dies."""
    with _processes(1) as pool:
        try:
            return pool.submit(work, piece).result()
        except BrokenProcessPool:
            return None
