"""Erasures in a large SQLite file beside two writers: how long each of them waits.

Each writer is a process of its own. It appends a turn and reads its session, again and again, while
turns are forgotten in the same file. Exit code 1 if anybody waited for longer than a second, or a
forgotten word is in a file.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Any

from polycontext import ContextSession
from polycontext.polynomial.stores import SQLiteStore
from polycontext.window import Turn

BUDGET = 8_000
LONGEST = 1.0
"""Seconds that a writer or a reader waits at most."""


def fill(path: Path, size: int) -> None:
    """Store sessions of 400 turns until a file has `size` bytes."""
    random, words = Random(0), [f"w{number}ord" for number in range(5_000)]  # noqa: S311 - no secret
    said = [" ".join(random.choices(words, k=250)) for _ in range(400)]
    with ContextSession.open(path, "first", max_tokens=BUDGET) as session:
        session.extend([Turn(("user", "assistant")[n % 2], text) for n, text in enumerate(said)])
        events, store, number = session.history.events(), SQLiteStore(path), 0
        while path.stat().st_size < size:
            store.append(f"s{number}", 0, events, {})
            number += 1
        store.close()


def timed(act: Callable[[], object], before: float) -> float:
    """Return the longer of a time and that which a function takes, in seconds."""
    start = monotonic()
    act()
    return max(before, monotonic() - start)


def write(path: Path, name: str, talk: Any) -> None:
    """Write and read a session until told to stop; then send the longest waits."""
    with ContextSession.open(path, name, max_tokens=BUDGET) as session:
        for number in range(20):
            session.add_user_turn(f"What turn {number} loads counts for nobody.")
        talk.send("ready")
        store, number, wrote, read = SQLiteStore(path), 0, 0.0, 0.0
        while not talk.poll(0.01):
            wrote = timed(lambda: session.add_user_turn(f"turn {number}"), wrote)  # noqa: B023
            read = timed(lambda: store.load(name), read)
            number += 1
        store.close()
    talk.send((number, wrote, read))


def erase(path: Path, rounds: int) -> list[str]:
    """Forget some turns, print what each costs, and return their words."""
    gone = [f"Quittengelee{number}x" for number in range(rounds)]
    with ContextSession.open(path, "erased", max_tokens=BUDGET) as session:
        for word in gone:
            session.add_user_turn(f"the secret is {word}")
            start, used = monotonic(), process_time()
            assert session.history.forget(session.log()[-1].resource_id)
            print(f"forget  {monotonic() - start:6.2f} s, CPU {process_time() - used:5.2f} s")
    return gone


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path, context = Path(folder) / "large.db", get_context("spawn")
        fill(path, asked.megabytes * 1_000_000)
        pipes = [context.Pipe() for _ in range(2)]
        writers = [
            context.Process(target=write, args=(path, f"writer {number}", theirs))
            for number, (_, theirs) in enumerate(pipes)
        ]
        for writer in writers:
            writer.start()
        for ours, _ in pipes:
            ours.recv()
        gone = erase(path, asked.rounds)
        waits = list[float]()
        for ours, _ in pipes:
            ours.send("stop")
            number, wrote, read = ours.recv()
            waits += wrote, read
            print(f"writer  {number} turns, longest write {wrote:.2f} s, longest read {read:.2f} s")
        for writer in writers:
            writer.join()
        held = b"".join(file.read_bytes() for file in Path(folder).iterdir())
        left = sum(word.encode() in held for word in gone)
        print(f"longest wait {max(waits):.2f} s; {left} of {len(gone)} words left in the files")
    return int(max(waits) > LONGEST or left > 0)


if __name__ == "__main__":
    sys.exit(main())
