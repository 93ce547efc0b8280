"""Writers in processes of their own, forked from this one: killed, or asked what they counted."""

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from time import sleep

from tests.faults.numbered_commands import COUNTED, Tally, judge, opened, say


def kill_writers(
    tally: Tally, place: Path | str, rounds: int, random: Random, longest: tuple[float, float]
) -> Tally:
    """Kill the writer with SIGKILL at a random moment; the next one repeats lost commands.

    A writer lives for `longest` seconds at most: in one round of four from its start, in the
    others from the time that the store is open.
    """
    last = -1
    for number in range(rounds):
        opening = number % 4 == 3
        moment = random.random() * longest[not opening]
        acknowledged = _until_killed(place, last + 1, moment, opening=opening)
        last = acknowledged[-1] if acknowledged else last
        tally.rounds += 1
        tally.acknowledged += len(acknowledged)
        with opened(place) as session:
            judge(session, last, tally)
    return tally


def _until_killed(place: Path | str, first: int, moment: float, *, opening: bool) -> list[int]:
    """Kill a forked writer that starts at command `first`; return the acknowledged commands."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with ending():
            os.close(reader)
            with opened(place) as session:
                os.write(writer, b"open\n")
                for number in count(first):
                    say(session, number)
                    os.write(writer, f"{number}\n".encode())
    os.close(writer)
    with os.fdopen(reader) as lines:
        if not opening:
            lines.readline()
        sleep(moment)
        os.kill(child, signal.SIGKILL)
        told = [int(line) for line in lines if line.strip().isdigit() and line.endswith("\n")]
    os.waitpid(child, 0)
    return told


def in_a_child(tally: Tally, act: Callable[[Tally], None]) -> Tally:
    """Let a process of its own do something to a tally, and return what that counted."""
    return joined(*started(tally, act))


def started(tally: Tally, act: Callable[[Tally], None]) -> tuple[Tally, int, int]:
    """Start a process that does something to a tally; return what `joined` needs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with ending():
            act(tally)
            os.write(writer, ",".join(str(getattr(tally, name)) for name in COUNTED).encode())
    os.close(writer)
    return tally, child, reader


def joined(tally: Tally, child: int, reader: int) -> Tally:
    """Return what a process that was started has counted, once it has ended."""
    with os.fdopen(reader) as told:
        text = told.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError(f"{tally.fault}: the process broke off; what it raised stands above")
    return Tally(tally.fault, *map(int, text.split(",")))


def forked(act: Callable[[], object]) -> int:
    """Do something in a forked process, and return its number."""
    child = os.fork()
    if child == 0:
        with ending():
            act()
    return child


@contextmanager
def ending() -> Generator[None]:
    """Exit the forked process after the block, without the exit handlers of its parent."""
    try:
        yield
    except BaseException:  # noqa: BLE001 - it is the end of a process
        import traceback  # noqa: PLC0415 - for what goes wrong

        traceback.print_exc()
        os._exit(1)
    os._exit(0)
