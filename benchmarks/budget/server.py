"""Measure the cost of keeping a session on a PostgreSQL server.

The reference is a bare durable insert and commit of the same bytes over the same driver.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from statistics import fmean, median

import psycopg

from benchmarks.budget.row import Found, Row, Scale
from benchmarks.budget.stores import Timed, words_of
from benchmarks.conversation import RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.postgresql import PostgreSQLStore
from polycontext.window import Turn
from tests.postgresql.server import missing, running

BUDGET = 8_000
SHORT, LONG = 100, 5_000
MEASURED = 400


def server_rows(scale: Scale) -> Iterator[Row]:
    """Yield the cost of an append in a short and a long session.

    The server is private, and its commits are durable.
    """
    work, why = "journal append, PostgreSQL", missing()
    if why is not None:
        yield Row(work, notes=(why,))
        return
    long = min(LONG, scale.turns)
    with (
        running(durable=True) as server,
        closing(PostgreSQLStore(server.url)) as store,
        psycopg.connect(server.url) as db,
    ):
        db.execute(
            "CREATE TABLE words (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content TEXT)"
        )
        db.commit()

        def bare(turn: Turn) -> None:
            db.execute("INSERT INTO words (content) VALUES (%s)", (words_of(turn),))
            db.commit()

        append = Timed(store.append)
        timed = [
            Timed(bare),
            *(Timed(_session(store, length, append, scale).add) for length in (SHORT, long)),
        ]
        appends: tuple[list[float], list[float]] = ([], [])
        append.wall.clear()
        for number, turn in enumerate(turns(MEASURED)):
            # Alternate the order, because a disk is faster after a pause.
            for place in (0, 1, 2) if number % 2 else (2, 1, 0):
                timed[place](turn)
                if place:
                    appends[place - 1].append(append.wall[-1])
    there = [fmean(each) / fmean(timed[0].wall) for each in appends]
    yield Row(
        work,
        (
            Found(f"durable commit ÷ a bare one, at {SHORT:,} turns", there[0], 1.3, " x"),
            Found(f"durable commit ÷ a bare one, at {long:,} turns", there[1], 1.3, " x"),
            Found(
                f"CPU of an append at {long:,} turns ÷ at {SHORT:,}",
                median(timed[2].cpu) / median(timed[1].cpu),
                1.2,
                " x",
            ),
        ),
        (
            (
                f"means of {MEASURED} turns; a bare insert and commit takes "
                f"{fmean(timed[0].wall) * 1e3:.1f} ms, the median "
                f"{median(timed[0].wall) * 1e3:.1f}"
            ),
            (
                f"an append {fmean(appends[1]) * 1e3:.1f} ms, the median "
                f"{median(appends[1]) * 1e3:.1f}; CPU of a turn {median(timed[2].cpu) * 1e6:.0f} "
                "µs"
            ),
        ),
    )


def _session(store: PostgreSQLStore, length: int, append: Timed, scale: Scale) -> ContextSession:
    """Return a session of that length whose appends are timed from then on."""
    session = ContextSession(
        max_tokens=BUDGET, counter=RememberingCounter(), store=store, session_id=f"{length}"
    )
    said = turns(length)
    for number in range(0, length, 100):
        scale.tell(f"a session of {length:,} turns on a server: {number:,}")
        session.extend(list(islice(said, 100)))
    # Only the store's share is wanted.
    session._writer.store = _Through(store, append)  # type: ignore[assignment]  # noqa: SLF001
    return session


class _Through:
    """A wrapper of a store that times its appends."""

    def __init__(self, store: PostgreSQLStore, append: Timed) -> None:
        self.append = append
        self.load = store.load
