"""Faults of a session in a SQLite file."""

import os
import resource
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import sleep

from polycontext.base import PolycontextError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from tests.faults.crowds import crowd_of_tasks, crowd_of_threads
from tests.faults.numbered_commands import BUDGET, SESSION, Tally, judge, opened, say
from tests.faults.processes import in_a_child, joined, kill_writers, started
from tests.polynomial.conversations import WORDS

NOBODY = 65534
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


def read_only(folder: Path, rounds: int, random: Random) -> Tally:
    """Open a read-only file or folder as an unprivileged user; nothing may change."""
    # Not in `folder`: pytest shuts others out of its folders anew whenever it is started somewhere.
    with TemporaryDirectory(prefix="polycontext-") as outside:
        Path(outside).chmod(0o755)
        return _read_only(Path(outside), rounds)


def _read_only(folder: Path, rounds: int) -> Tally:
    path = folder / "inside" / "read_only.db"
    path.parent.mkdir()
    with opened(path) as session:
        for number in range(20):
            say(session, number)
    before = path.read_bytes()

    def refuse(tally: Tally) -> None:
        os.setuid(NOBODY) if os.getuid() == 0 else None
        for _ in range(rounds):
            tally.rounds += 1
            try:
                opened(path)
            except StoreError as error:
                tally.told += bool(error.legal)
            else:
                tally.silent += 1

    tally = Tally("read-only", acknowledged=20)
    for file, room in ((0o444, 0o777), (0o444, 0o555), (0o666, 0o555), (0o000, 0o777)):
        path.chmod(file)
        path.with_name(f"{path.name}.lock").chmod(0o666)
        path.parent.chmod(room)
        tally = in_a_child(tally, refuse)
    path.parent.chmod(0o755)
    path.chmod(0o644)
    tally.lost += path.read_bytes() != before
    with opened(path) as session:
        judge(session, 19, tally)
    return tally


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


def crowded(folder: Path, rounds: int, random: Random) -> Tally:
    """Let four processes write one file: each gets the lock, waits, or is rejected with a hint."""
    path, each = folder / "crowded.db", 10 * rounds
    tally = Tally("4 processes, one file", rounds=4)

    def write(own: Tally) -> None:
        number = own.rounds * each
        end = number + each
        while number < end:
            try:
                with ContextSession.open(
                    path, SESSION, max_tokens=BUDGET, counter=WORDS, timeout=0.2
                ) as session:
                    for _ in range(5):
                        session.add_user_turn(f"<{number}.0> is said", idempotency_key=f"{number}")
                        number += 1
                        own.acknowledged += 1
            except StoreError as error:
                own.told += bool(error.legal)
                sleep(0.01)

    children = [started(Tally("", rounds=writer), write) for writer in range(4)]
    for child in children:
        own = joined(*child)
        tally.acknowledged += own.acknowledged
        tally.told += own.told
    with opened(path) as session:
        said = [turn.text for turn in session.log()]
        tally.lost += 4 * each - len(set(said))
        tally.duplicated += len(said) - len(set(said))
        tally.half += [turn.resource_id for turn in session.log()] != sorted(
            {turn.resource_id for turn in session.log()}, key=lambda name: int(name[1:])
        )
    return tally


def threads(folder: Path, rounds: int, random: Random) -> Tally:
    """Let eight threads write one session."""
    return crowd_of_threads(Tally("8 threads"), folder / "threads.db", rounds)


def tasks(folder: Path, rounds: int, random: Random) -> Tally:
    """Let eight tasks write one session."""
    return crowd_of_tasks(Tally("8 tasks"), folder / "tasks.db", rounds)


FAULTS: tuple[tuple[Callable[[Path, int, Random], Tally], int], ...] = (
    (killed, 200),
    (filled, 20),
    (read_only, 5),
    (damaged, 200),
    (backwards, 20),
    (crowded, 25),
    (threads, 500),
    (tasks, 500),
)
"""The faults, each with its rounds in a full run."""
