"""Faults of a session on a PostgreSQL server: killed writers, killed backends, hard stops."""

import os
import signal
from collections.abc import Callable
from random import Random
from threading import Thread
from time import sleep

import psycopg

from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from tests.faults.crowds import crowd_of_processes
from tests.faults.numbered_commands import SESSION, Tally, judge, opened, say
from tests.faults.processes import kill_writers
from tests.postgresql.server import Server, missing

LONGEST = (0.1, 0.5)
"""Seconds that a writer lives while it connects, and then: some dozens of commits."""

LONGEST_LIFE = 0.3
"""Seconds a server lives while a session is written."""

Act = Callable[[Server, int, Random], Tally]


def done(act: Act, server: Server, rounds: int, random: Random) -> Tally:
    """Do harm to a session that nothing has happened to yet."""
    ContextSession.history.delete(server.url, SESSION, timeout=60)
    return act(server, rounds, random)


def killed(server: Server, rounds: int, random: Random) -> Tally:
    """Kill the writer at any moment."""
    with opened(server.url) as session:
        # So that what a writer needs is loaded, and the tables are there, before there is one.
        for number in range(20):
            say(session, number)
    ContextSession.history.delete(server.url, SESSION)
    return kill_writers(Tally("PG: kill -9"), server.url, rounds, random, LONGEST)


def crashed(server: Server, rounds: int, random: Random) -> Tally:
    """Kill the writer's backend: the whole server restarts, and the writer continues."""

    def harm() -> None:
        with psycopg.connect(server.url) as db:
            found = db.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'polycontext'"
            ).fetchall()
        for (pid,) in found:
            os.kill(pid, signal.SIGKILL)

    return _harmed(Tally("PG: backend killed"), server, rounds, random, harm)


def restarted(server: Server, rounds: int, random: Random) -> Tally:
    """Stop the server as a power loss would, and start it again: the writer waits and continues."""

    def harm() -> None:
        server.stop()
        server.start()

    return _harmed(Tally("PG: restarted"), server, rounds, random, harm)


def _harmed(
    tally: Tally, server: Server, rounds: int, random: Random, harm: Callable[[], None]
) -> Tally:
    """Let one writer go on while harm is done, and some commands longer."""
    last = -1
    with opened(server.url) as session:
        for _ in range(rounds):
            doing = _soon(random, harm)
            more = 3
            while more:
                more -= not doing.is_alive()
                last += 1
                say(session, last)
                tally.acknowledged += 1
            doing.join()
            tally.rounds += 1
    with opened(server.url) as session:
        judge(session, last, tally)
    return tally


def gone(server: Server, rounds: int, random: Random) -> Tally:
    """Stop the server until the writer gives up; the repeated command must be there once."""
    tally, last = Tally("PG: gone"), -1
    for _ in range(rounds):
        with opened(server.url, timeout=0.2) as session:
            stopping = _soon(random, server.stop)
            try:
                while True:
                    say(session, last + 1)
                    last += 1
                    tally.acknowledged += 1
            except StoreError as error:
                tally.told += bool(error.legal)
                tally.silent += not error.legal
            stopping.join()
            server.start()
            last += 1
            say(session, last)
            tally.acknowledged += 1
            judge(session, last, tally)
        tally.rounds += 1
    return tally


def _soon(random: Random, act: Callable[[], None]) -> Thread:
    """Do something a moment from now, in a thread of its own."""
    thread = Thread(target=_after, args=(random.random() * LONGEST_LIFE, act))
    thread.start()
    return thread


def _after(seconds: float, act: Callable[[], None]) -> None:
    sleep(seconds)
    act()


def processes(server: Server, rounds: int, random: Random) -> Tally:
    """Let four processes write one session."""
    return crowd_of_processes(Tally("PG: 4 processes"), server.url, rounds)


FAULTS: tuple[tuple[Act, int], ...] = (
    (killed, 50),
    (crashed, 10),
    (restarted, 10),
    (gone, 10),
    (processes, 250),
)
"""The faults, each with its rounds in a full run."""

MISSING = missing()
"""Why none of this can be done here, None where it can."""
