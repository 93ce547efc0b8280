"""Faults of a session in a SQLite file."""

import os
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from time import sleep

from polycontext.base import PolycontextError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from tests.faults.crowds import crowd_of_processes
from tests.faults.numbered_commands import BUDGET, SESSION, Tally, judge, opened, say
from tests.faults.processes import forked, in_a_child, joined, kill_writers, started
from tests.polynomial.conversations import WORDS

LONGEST = (0.02, 0.5)
"""Seconds that a writer lives while it opens the file, and then: some dozens of commits."""


def killed(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill the writer at any moment."""
    with opened(folder / "before.db") as session:
        # So that what a writer needs is loaded before there is one.
        for number in range(20):
            say(session, number)
    return kill_writers(Tally("kill -9"), folder / "killed.db", rounds, random, LONGEST)


def filled(folder: Path, rounds: int, random: Random) -> Tally:
    """Limit the file size in the middle of a conversation, then repeat the failed commands."""

    def fill(tally: Tally) -> None:
        path, last = folder / "filled.db", -1
        for _ in range(rounds):
            with opened(path) as session:
                largest = max(file.stat().st_size for file in folder.glob("filled.db*"))
                resource.setrlimit(
                    resource.RLIMIT_FSIZE,
                    (largest + random.randrange(200_000), resource.RLIM_INFINITY),
                )
                try:
                    for number in range(last + 1, last + 1_000):
                        say(session, number)
                        last = number
                        tally.acknowledged += 1
                except StoreError as error:
                    tally.told += bool(error.legal)
                    judge(session, last, tally)
                finally:
                    resource.setrlimit(
                        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                    )
                last += 1
                say(session, last)
                tally.acknowledged += 1
                tally.rounds += 1
            with opened(path) as session:
                judge(session, last, tally)

    return in_a_child(Tally("disk full"), fill)


def damaged(folder: Path, rounds: int, random: Random) -> Tally:
    """Cut the file off, or write over some of it: the log is whole, or an error says what to do."""
    tally, whole, path = Tally("truncated or damaged"), folder / "whole.db", folder / "damaged.db"
    with opened(whole) as session:
        for number in range(200):
            say(session, number)
    data = whole.read_bytes()
    tally.acknowledged = 200
    for number in range(rounds):
        hurt = bytearray(data)
        place = random.randrange(len(data))
        if number % 4 == 0:
            del hurt[place:]
        else:
            written = random.randbytes(random.randrange(1, 300)) if number % 4 == 1 else bytes(200)
            hurt[place : place + len(written)] = written
            del hurt[len(data) :]
        path.write_bytes(hurt)
        tally.rounds += 1
        try:
            with opened(path) as session:
                judge(session, 199, tally)
        except PolycontextError as error:
            tally.told += bool(getattr(error, "legal", ""))
            tally.silent += not getattr(error, "legal", "")
        for left in folder.glob("damaged.db*"):
            left.unlink()
    return tally


def backwards(folder: Path, rounds: int, random: Random) -> Tally:
    """Let the clock run backwards: the order of turns is the order of commits."""
    tally, path = Tally("clock backwards"), folder / "backwards.db"
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def clock() -> datetime:
        nonlocal now
        now += timedelta(days=random.randrange(-3_000, 2_000))
        return now

    last = -1
    for _ in range(rounds):
        with ContextSession.open(
            path, SESSION, max_tokens=BUDGET, counter=WORDS, clock=clock
        ) as session:
            for _ in range(8):
                last += 1
                say(session, last)
                tally.acknowledged += 1
            judge(session, last, tally)
        tally.rounds += 1
    return tally


def processes(folder: Path, rounds: int, random: Random) -> Tally:
    """Let four processes write one session."""
    return crowd_of_processes(Tally("4 to one session"), folder / "processes.db", rounds)


def killed_beside(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill one writer after the other while two more go on: all that was acknowledged is there."""
    path, tally = folder / "beside.db", Tally("killed beside others")
    reader, writer = os.pipe()

    def write(name: str) -> None:
        with opened(path) as session:
            for number in count():
                session.add_user_turn(f"{name}/{number}")
                os.write(writer, f"{name}/{number}\n".encode())

    steady = [forked(partial(write, f"steady {number}")) for number in range(2)]
    with os.fdopen(reader) as lines, ThreadPoolExecutor(1) as threads:
        heard = threads.submit(lambda: [line.strip() for line in lines])
        for number in range(rounds):
            child = forked(partial(write, f"killed {number}"))
            sleep(random.random() * LONGEST[1])
            _kill(child)
            tally.rounds += 1
        for child in steady:
            _kill(child)
        os.close(writer)
        acknowledged = heard.result()
    with opened(path) as session:
        said = [turn.text for turn in session.log()]
    tally.acknowledged = len(acknowledged)
    tally.lost = len(set(acknowledged) - set(said))
    tally.duplicated = len(said) - len(set(said))
    # Whoever is killed may have stored one turn more than it said.
    tally.half = max(0, len(said) - len(acknowledged) - rounds - len(steady))
    return tally


def erased_beside(folder: Path, rounds: int, random: Random) -> Tally:
    """Forget, retain and search while two processes write: no erased word is left in any file."""
    inside = folder / "erased"
    inside.mkdir()
    path, tally = inside / "erased.db", Tally("erased beside writers", rounds=rounds)

    def write(own: Tally) -> None:
        with opened(path) as session:
            for number in range(rounds * 4):
                session.add_user_turn(f"secret{own.rounds}q{number}z is said")
                own.acknowledged += 1

    children = [started(Tally("", rounds=writer), write) for writer in range(2)]
    gone = []
    with opened(path) as session:
        session.add_user_turn("first")
        for _ in range(rounds):
            # On a busy machine the writers begin late: each round waits for what it may forget.
            while not (
                log := [turn for turn in session.history.refresh().log() if "z is" in turn.text]
            ):
                pass
            turn = random.choice(log)
            tally.half += len(session.history.search(turn.text, 3)) == 0
            if session.history.forget(turn.resource_id):
                gone.append(turn.text.split()[0].encode())
            session.history.retain(max_bytes=10**6)
    written = [joined(*child).acknowledged for child in children]
    tally.acknowledged = sum(written) + 1
    with opened(path) as session:
        said = [turn.text for turn in session.log()]
    tally.lost = tally.acknowledged - len(said)
    tally.half += said.count("[forgotten]") != len(gone)
    held = b"".join(file.read_bytes() for file in inside.iterdir())
    tally.half += sum(word in held for word in gone)
    tally.told += len(gone)
    return tally


def _kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


FAULTS: tuple[tuple[Callable[[Path, int, Random], Tally], int], ...] = (
    (killed, 200),
    (filled, 20),
    (damaged, 200),
    (backwards, 20),
    (processes, 1_000),
    (killed_beside, 60),
    (erased_beside, 50),
)
"""The faults, each with its rounds in a full run."""
