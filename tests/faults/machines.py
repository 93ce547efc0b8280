"""Faults of a machine with a state and an action of its own, in a SQLite file."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from time import sleep

import orjson
import pytest
from statemachine import State

from polycontext.base.effects import Steps
from polycontext.polynomial import ContextMachine, ContextSession, Conversation, replay
from polycontext.polynomial.journal.events import MoveEvent
from polycontext.polynomial.session.writer import LiveMachine
from polycontext.window import ContextWindow
from tests.faults.numbered_commands import BUDGET, SESSION, Tally
from tests.faults.processes import ending
from tests.polynomial.conversations import WORDS

FROM = (ContextMachine.accumulating, ContextMachine.compressed)
LONGEST = 0.1


def nothing(*_: object) -> None:
    """Do nothing."""


class Pausing(ContextMachine):
    """A machine whose action writes down its number, in a file that outlives the process."""

    hold = State("HOLD", value="HOLD")
    pause = hold.from_(*FROM)
    go = hold.to(ContextMachine.accumulating)

    act: Callable[..., None] = nothing

    def on_enter_hold(self, number: int) -> None:
        """Act."""
        type(self).act(number)


def opened(path: Path) -> ContextSession:
    """Open the session."""
    return ContextSession.open(
        path, SESSION, max_tokens=BUDGET, counter=WORDS, machine=Pausing, timeout=60
    )


def in_a_state(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill the writer at any moment, in and out of the added state."""
    return _kill(Tally("kill -9 in a state"), folder / "states.db", rounds, random, "")


def in_an_action(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill the writer inside an action, before or after what it does."""
    return _kill(Tally("kill -9 in an action"), folder / "actions.db", rounds, random, "action")


def before_performing(folder: Path, rounds: int, random: Random) -> Tally:
    """Kill the writer after an event is stored and before its actions run."""
    return _kill(Tally("kill -9 before it"), folder / "stored.db", rounds, random, "play")


def _kill(tally: Tally, path: Path, rounds: int, random: Random, where: str) -> Tally:
    """Kill writers; an action may be missing afterwards, and never runs twice."""
    ran, first = path.with_suffix(".txt"), 0
    ran.touch()
    with opened(path) as session:
        session.add_user_turn("hello")
    for _ in range(rounds):
        acknowledged = _until_killed(path, ran, first, random, where)
        tally.rounds += 1
        tally.acknowledged += len(acknowledged)
        first = _judge(path, ran, max(acknowledged, default=first - 1), tally) + 1
    return tally


def _until_killed(path: Path, ran: Path, first: int, random: Random, where: str) -> list[int]:
    reader, writer = os.pipe()
    moment, late = random.randrange(1, 12), random.random() < 0.5
    child = os.fork()
    if child == 0:
        with ending():
            os.close(reader)
            _write(path, ran, first, writer, where=where, moment=moment, late=late)
    os.close(writer)
    with os.fdopen(reader) as lines:
        if not where:
            lines.readline()
            sleep(random.random() * LONGEST)
            os.kill(child, signal.SIGKILL)
        told = [int(line) for line in lines if line.strip().isdigit() and line.endswith("\n")]
    os.waitpid(child, 0)
    return told


def _write(
    path: Path, ran: Path, first: int, writer: int, *, where: str, moment: int, late: bool
) -> None:
    file, calls, play = os.open(ran, os.O_WRONLY | os.O_APPEND), count(1), LiveMachine.play

    def die(now: str) -> None:
        if now == where and next(calls) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(number: int) -> None:
        if not late:
            die("action")
        os.write(file, f"{number}\n".encode())
        if late:
            die("action")

    def killing(live: LiveMachine) -> Steps[None]:
        die("play")
        yield from play(live)

    patch = pytest.MonkeyPatch()
    patch.setattr(Pausing, "act", act)
    patch.setattr(LiveMachine, "play", killing)
    with opened(path) as session:
        os.write(writer, b"open\n")
        if session.state == "HOLD":
            session.send("go")
        for number in count(first):
            session.send("pause", number=number, idempotency_key=f"pause-{number}")
            os.write(writer, f"{number}\n".encode())
            session.send("go", idempotency_key=f"go-{number}")


def _judge(path: Path, ran: Path, last: int, tally: Tally) -> int:
    """Count what is lost, doubled or half; return the last number that is stored."""
    with opened(path) as session:
        events = session.history.events()
        numbers = [
            orjson.loads(event.arguments)[1]["number"]
            for event in events
            if isinstance(event, MoveEvent) and event.name == "pause"
        ]
        acts = Counter(map(int, ran.read_text().split()))
        tally.lost += len(set(range(last + 1)).difference(numbers))
        tally.duplicated += len(numbers) - len(set(numbers))
        tally.duplicated += sum(times - 1 for times in acts.values())
        tally.half += len(acts.keys() - set(numbers))
        empty = Conversation(ContextWindow(BUDGET, counter=WORDS), machine=Pausing)
        tally.half += replay(events, empty).state != session.state
    return max(numbers, default=-1)


FAULTS: tuple[tuple[Callable[[Path, int, Random], Tally], int], ...] = (
    (in_a_state, 200),
    (in_an_action, 200),
    (before_performing, 200),
)
"""The faults, each with its rounds in a full run."""
