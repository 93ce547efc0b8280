"""A PostgreSQL server as stores use it: a pool of connections, transactions that are tried again where that harms nothing, errors in words.

Stores of one URL share one server within a process, so that many open sessions need no more connections than one.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import uniform
from threading import RLock
from time import monotonic, sleep
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ...errors import StoreBusyError, StoreError
from ..session_store import shown
from .failures import Failure, parsed
from .schema import Tables, prepare
from .statements import Statements

T = TypeVar("T")

_OPEN: dict[tuple[str, str, float, int], "PostgreSQLServer"] = {}
_LEFT: list[object] = []
"""The pools of the process that this one was forked from: they are not ours to close, not even by collecting them."""
_opening = RLock()

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.5
_MOST_MILLISECONDS = 2**31 - 1


class PostgreSQLServer:
    """Hand out transactions on one schema of one server, to as many threads at once as it has connections."""

    def __init__(self, url: str, schema: str, timeout: float, pool: int) -> None:
        self.name, self.timeout, self.users = f"store {shown(url)!r}", timeout, 0
        self.tables = Tables(schema)
        self.statements = Statements(self.tables)
        self._url, self._pool = parsed(url), pool
        self._engine = create_engine(
            self._url, pool_size=pool, max_overflow=0, pool_timeout=timeout, hide_parameters=True, connect_args=self._arguments()
        )
        # All that is read belongs together, whoever writes meanwhile.
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._threads = ThreadPoolExecutor(pool, "polycontext-postgresql")
        try:
            newer = self.write(lambda db: prepare(db, schema))
        except BaseException:
            self._engine.dispose()
            raise
        if newer is not None:
            self._engine.dispose()
            problem = f"the schema {schema!r} was written by a newer polycontext (version {newer:.20} of its tables)"
            raise StoreError(self.name, problem, "a newer polycontext, or a schema of its own")

    def _arguments(self) -> dict[str, Any]:
        """Return how to connect, as far as the URL does not say it: nobody waits for ever, neither for a network nor for another writer."""
        milliseconds = int(min(max(1, self.timeout * 1000), _MOST_MILLISECONDS))
        ours = {
            "application_name": "polycontext",
            "client_encoding": "utf8",
            "connect_timeout": max(2, milliseconds // 1000),
            "tcp_user_timeout": milliseconds,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
        }
        told = self._url.query
        # A writer that is gone without a word, as when its machine loses power, holds its session no longer than that.
        held = max(10_000, milliseconds)
        options = f"-c lock_timeout={milliseconds} -c idle_in_transaction_session_timeout={held} {told.get('options', '')}".strip()
        return {**{name: value for name, value in ours.items() if name not in told}, "options": options}

    # --- shared within the process ----------------------------------------------

    @classmethod
    def shared(cls, url: str, schema: str, timeout: float, pool: int) -> "PostgreSQLServer":
        """Return the server at `url`, its tables made or brought up to date; `release` it as often."""
        key = (url, schema, timeout, pool)
        with _opening:
            server = _OPEN.get(key)
            if server is None:
                server = _OPEN[key] = cls(*key)
            server.users += 1
            return server

    def release(self) -> None:
        """Close the connections if nobody else in this process uses them."""
        with _opening:
            self.users -= 1
            if self.users == 0:
                for key in [key for key, server in _OPEN.items() if server is self]:
                    del _OPEN[key]
                self._threads.shutdown(wait=False)
                self._engine.dispose()

    def left_behind(self) -> None:
        """Begin with connections of its own in a process that was just forked."""
        _LEFT.extend([self._engine.pool, self._threads])
        self._engine.dispose(close=False)
        self._threads = ThreadPoolExecutor(self._pool, "polycontext-postgresql")

    # --- using it -----------------------------------------------------------------

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` finds in a transaction that sees one moment and changes nothing."""
        return self._tried(work, changes=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` does in a transaction, once that is durable; what it raises takes everything back.

        `work` is called again where the transaction was lost, so it must be able to see that an earlier call has happened: the answer to
        a commit can be lost too.

        Raises:
            StoreBusyError: another writer, or the others of this process, were waited for too long.
            StoreError: it could not be done; says what to do, and whether it is known that nothing was stored.
        """
        return self._tried(work, changes=True)

    async def without_blocking(self, function: Callable[[], T]) -> T:
        """Return what `function` returns, called in a thread of ours: there are as many as connections."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def damaged(self, what: str) -> StoreError:
        """Return the error that says that something read is not what was written."""
        return StoreError(self.name, f"the tables are damaged: {what}", "what a backup of the database brings back")

    # --- inside -------------------------------------------------------------------

    def _tried(self, work: Callable[[Connection], T], *, changes: bool) -> T:
        end, unknown = monotonic() + self.timeout, False
        for pause in _pauses():
            committing = False
            try:
                with (self._engine if changes else self._reading).connect() as db:
                    found = work(db)
                    committing = changes
                    if changes:
                        db.commit()
                    return found
            except PoolTimeoutError:
                failure = None
            except DBAPIError as error:
                failure = Failure.of(error, self._url)
            # Here and not above, so that no error of a driver hangs on ours: they tell of addresses, users and words.
            if failure is None:
                problem = f"its {self._pool} connections are in use, for more than the {self.timeout:g} seconds that were waited"
                raise StoreBusyError(self.name, problem, "a larger `pool`, or a longer timeout")
            unknown = unknown or (committing and failure.unanswered)
            if not failure.passing or monotonic() + pause > end:
                raise failure.explained(self.name, unknown=unknown)
            sleep(pause)
        raise AssertionError("there is always a next pause")


def _pauses() -> Iterator[float]:
    """Yield how long to wait before the next try: ever longer, and never as long as somebody else."""
    longest = _FIRST_PAUSE
    while True:
        yield uniform(longest / 2, longest)  # noqa: S311 - nothing here is a secret
        longest = min(2 * longest, _LONGEST_PAUSE)


def _leave_all_behind() -> None:
    """Begin without any connection in a process that was just forked."""
    global _opening  # noqa: PLW0603 - another thread of the parent may have held it at that moment
    _opening = RLock()
    for server in _OPEN.values():
        server.left_behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all_behind)
