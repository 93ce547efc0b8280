"""What can happen to a session in a SQLite file, done to it."""

import os
import resource
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import sleep

from polycontext.linearity import PolycontextError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from tests.faults.talking import BUDGET, COUNTED, SESSION, Tally, judge, opened, say
from tests.polynomial.conversations import WORDS

NOBODY = 65534
LONGEST_LIFE = 0.5
"""Seconds a writer lives once it has opened the file: some dozens of commits."""

LONGEST_OPENING = 0.02
"""Seconds after which it is killed while it opens the file, in one round of four."""


def killed(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill the writer at any moment, with a signal that nobody can catch; the next one says again what was not acknowledged."""
    tally, path, last = Tally("kill -9"), folder / "killed.db", -1
    with opened(folder / "before.db") as session:
        # So that what a writer needs is loaded before there is one.
        for number in range(20):
            say(session, number)
    for number in range(rounds):
        acknowledged = _until_killed(path, last + 1, random.random(), opening=number % 4 == 0)
        last = acknowledged[-1] if acknowledged else last
        tally.rounds += 1
        tally.acknowledged += len(acknowledged)
        with opened(path) as session:
            judge(session, last, tally)
    return tally


def _until_killed(path: Path, first: int, moment: float, *, opening: bool) -> list[int]:
    """Let a process of its own talk from command `first` on, and kill it while it opens the file or writes; return what it acknowledged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with _ending():
            os.close(reader)
            with opened(path) as session:
                os.write(writer, b"open\n")
                for number in count(first):
                    say(session, number)
                    os.write(writer, f"{number}\n".encode())
    os.close(writer)
    with os.fdopen(reader) as lines:
        if not opening:
            lines.readline()
        sleep(moment * (LONGEST_OPENING if opening else LONGEST_LIFE))
        os.kill(child, signal.SIGKILL)
        told = [int(line) for line in lines if line.strip().isdigit() and line.endswith("\n")]
    os.waitpid(child, 0)
    return told


def filled(folder: Path, rounds: int, random: Random) -> Tally:
    """Let files grow no further in the middle of a conversation; what was refused is said again once there is room."""

    def fill(tally: Tally) -> None:
        path, last = folder / "filled.db", -1
        for _ in range(rounds):
            with opened(path) as session:
                largest = max(file.stat().st_size for file in folder.glob("filled.db*"))
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest + random.randrange(200_000), resource.RLIM_INFINITY))
                try:
                    for number in range(last + 1, last + 1_000):
                        say(session, number)
                        last = number
                        tally.acknowledged += 1
                except StoreError as error:
                    tally.told += "legal: " in str(error)
                    judge(session, last, tally)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                last += 1
                say(session, last)
                tally.acknowledged += 1
                tally.rounds += 1
            with opened(path) as session:
                judge(session, last, tally)

    return _in_a_child(Tally("disk full"), fill)


def read_only(folder: Path, rounds: int, random: Random) -> Tally:
    """Open, as somebody who is nobody, a file or a folder that may not be written to; nothing changes."""
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
                tally.told += "legal: " in str(error)
            else:
                tally.silent += 1

    tally = Tally("read-only", acknowledged=20)
    for file, room in ((0o444, 0o777), (0o444, 0o555), (0o666, 0o555), (0o000, 0o777)):
        path.chmod(file)
        path.with_name(f"{path.name}.lock").chmod(0o666)
        path.parent.chmod(room)
        tally = _in_a_child(tally, refuse)
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
            tally.told += "legal: " in str(error)
            tally.silent += "legal: " not in str(error)
        for left in folder.glob("damaged.db*"):
            left.unlink()
    return tally


def backwards(folder: Path, rounds: int, random: Random) -> Tally:
    """Let the clock go backwards: the order is that of the commits, and nobody asks the clock for it."""
    tally, path = Tally("clock backwards"), folder / "backwards.db"
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def clock() -> datetime:
        nonlocal now
        now += timedelta(days=random.randrange(-3_000, 2_000))
        return now

    last = -1
    for _ in range(rounds):
        with ContextSession.open(path, SESSION, max_tokens=BUDGET, counter=WORDS, clock=clock) as session:
            for _ in range(8):
                last += 1
                say(session, last)
                tally.acknowledged += 1
            judge(session, last, tally)
        tally.rounds += 1
    return tally


def crowded(folder: Path, rounds: int, random: Random) -> Tally:
    """Let four processes write one file: each has it for itself, or waits, or is refused in words."""
    path, each = folder / "crowded.db", 10 * rounds
    tally = Tally("4 processes, one file", rounds=4)

    def write(own: Tally) -> None:
        number = own.rounds * each
        end = number + each
        while number < end:
            try:
                with ContextSession.open(path, SESSION, max_tokens=BUDGET, counter=WORDS, timeout=0.2) as session:
                    for _ in range(5):
                        session.add_user_turn(f"<{number}.0> is said", idempotency_key=f"{number}")
                        number += 1
                        own.acknowledged += 1
            except StoreError as error:
                own.told += "legal: " in str(error)
                sleep(0.01)

    children = [_started(Tally("", rounds=writer), write) for writer in range(4)]
    for child in children:
        own = _joined(*child)
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


FAULTS: tuple[tuple[Callable[[Path, int, Random], Tally], int], ...] = (
    (killed, 200),
    (filled, 20),
    (read_only, 5),
    (damaged, 200),
    (backwards, 20),
    (crowded, 25),
)
"""What is done, and how often in a full run."""


# --- in a process of its own -----------------------------------------------------------


def _in_a_child(tally: Tally, act: Callable[[Tally], None]) -> Tally:
    return _joined(*_started(tally, act))


def _started(tally: Tally, act: Callable[[Tally], None]) -> tuple[Tally, int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with _ending():
            act(tally)
            os.write(writer, ",".join(str(getattr(tally, name)) for name in COUNTED).encode())
    os.close(writer)
    return tally, child, reader


def _joined(tally: Tally, child: int, reader: int) -> Tally:
    with os.fdopen(reader) as told:
        text = told.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError(f"{tally.fault}: the process broke off; what it raised stands above")
    return Tally(tally.fault, *map(int, text.split(",")))


@contextmanager
def _ending() -> Generator[None]:
    """End the process behind the block, without anything that the one it was forked from would do at its end."""
    try:
        yield
    except BaseException:  # noqa: BLE001 - it is the end of a process
        import traceback  # noqa: PLC0415 - for what goes wrong

        traceback.print_exc()
        os._exit(1)
    os._exit(0)
