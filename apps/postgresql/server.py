"""A PostgreSQL server as stores use it: pooled connections, retried transactions, clear errors.

Stores with the same URL share one server within a process, so many open sessions need no more
connections than one.
"""

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import uniform
from threading import RLock
from time import monotonic, sleep
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote, quote_plus

from attrs import frozen
from psycopg import OperationalError
from sqlalchemy import URL, Connection, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from polycontext.base import InvalidOptionError
from polycontext.polynomial import StoreBusyError, StoreError
from polycontext.polynomial.stores import hide_secrets

from .schema import VERSION, prepare

T = TypeVar("T")

_OPEN: dict[tuple[str, str, float, int], "PostgreSQLServer"] = {}
_LEFT: list[object] = []
"""Pools inherited from the parent process of a fork.

They must not be closed here, so this list keeps them from being collected.
"""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.5
_MOST_MILLISECONDS = 2**31 - 1


class PostgreSQLServer:
    """Transactions on one schema of one server, for one thread per connection at a time."""

    opening: ClassVar = RLock()

    def __init__(self, url: str, schema: str, timeout: float, pool: int) -> None:
        self.name, self.timeout, self.users = f"store {hide_secrets(url)!r}", timeout, 0
        self._url, self._pool = parse_url(url), pool
        self._engine = create_engine(
            self._url,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=timeout,
            hide_parameters=True,
            connect_args=self._connect_arguments(schema),
        )
        # All reads of a transaction see one snapshot, whatever others write meanwhile.
        self._reading = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._threads = ThreadPoolExecutor(pool, "polycontext-postgresql")
        try:
            other = self.write(lambda db: prepare(db, schema))
        except BaseException:
            self._engine.dispose()
            raise
        if other is not None:
            self._engine.dispose()
            problem = f"the tables in the schema {schema!r} are those of {other:.40}"
            raise StoreError(self.name, problem, f"Use another schema, this one reads {VERSION}")

    def _connect_arguments(self, schema: str) -> dict[str, Any]:
        """Return the connection arguments that the URL does not set.

        They bound every wait, for the network as well as for other writers.
        """
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
        # If a writer disappears, for example in a power failure, its session is locked for this
        # long at most.
        held = max(10_000, milliseconds)
        options = (
            f"-c lock_timeout={milliseconds} -c idle_in_transaction_session_timeout={held} "
            f'{told.get("options", "")} -c search_path="{schema}"'
        )
        return {
            **{name: value for name, value in ours.items() if name not in told},
            "options": options,
        }

    # --- shared within the process ----------------------------------------------

    @classmethod
    def shared(cls, url: str, schema: str, timeout: float, pool: int) -> "PostgreSQLServer":
        """Return the server at `url`, with its tables created.

        Call `release` once for each call.
        """
        key = (url, schema, timeout, pool)
        with PostgreSQLServer.opening:
            server = _OPEN.get(key)
            if server is None:
                server = _OPEN[key] = cls(*key)
            server.users += 1
            return server

    def release(self) -> None:
        """Close the connections if nothing else in this process uses them."""
        with PostgreSQLServer.opening:
            self.users -= 1
            if self.users == 0:
                for key in [key for key, server in _OPEN.items() if server is self]:
                    del _OPEN[key]
                self._threads.shutdown(wait=False)
                self._engine.dispose()

    def abandon(self) -> None:
        """Switch to new connections in a process that was just forked."""
        _LEFT.extend([self._engine.pool, self._threads])
        self._engine.dispose(close=False)
        self._threads = ThreadPoolExecutor(self._pool, "polycontext-postgresql")

    # --- using it -----------------------------------------------------------------

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work` in a read-only transaction that sees one snapshot."""
        return self._retry(work, changes=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work` in a transaction, once that is durable.

        An exception from `work` rolls the transaction back.

        `work` is called again if the transaction was lost, so it must detect that an earlier call
        succeeded: the answer to a commit can be lost too.

        Raises:
            StoreBusyError: another writer, or a free connection of the pool, was waited for too
                long.
            StoreError: it failed; says what to do, and whether it is known that nothing was stored.
        """
        return self._retry(work, changes=True)

    async def without_blocking(self, function: Callable[[], T]) -> T:
        """Return the result of `function`, called in a thread; there are as many as connections."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def damaged(self, what: str) -> StoreError:
        """Return the error for data that differs from what was written."""
        return StoreError(
            self.name,
            f"the tables are damaged: {what}",
            "Restore a backup of the database",
        )

    # --- inside -------------------------------------------------------------------

    def _retry(self, work: Callable[[Connection], T], *, changes: bool) -> T:
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
            # Raised here and not above, so that no driver error is chained to it: those contain
            # addresses, users and content.
            if failure is None:
                problem = (
                    f"its {self._pool} connections are in use, for more than the "
                    f"{self.timeout:g} seconds that were waited"
                )
                raise StoreBusyError(self.name, problem, "Raise `pool` or the timeout")
            unknown = unknown or (committing and failure.is_unanswered)
            if not failure.is_transient or monotonic() + pause > end:
                raise failure.to_error(self.name, unknown=unknown)
            sleep(pause)
        raise AssertionError("there is always a next pause")


def _pauses() -> Iterator[float]:
    """Yield the pauses before each retry: random, and growing up to a limit."""
    longest = _FIRST_PAUSE
    while True:
        yield uniform(longest / 2, longest)
        longest = min(2 * longest, _LONGEST_PAUSE)


def _abandon_all() -> None:
    """Drop all inherited connections in a process that was just forked."""
    # Another thread of the parent may have held the lock at that moment.
    PostgreSQLServer.opening = RLock()
    for server in _OPEN.values():
        server.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


# --- errors ----------------------------------------------------------------------------

_SCHEMES = ("postgresql", "postgresql+psycopg")
_URL = "postgresql://user:password@host:5432/database"

_LOCKED = "55P03"
_UNANSWERED = ("08007", "40003")
"""The transaction ended with an unknown result."""

_TRANSIENT = ("40001", "40P01", "53300", "57P01", "57P02", "57P03", "57P05", *_UNANSWERED)
"""Errors caused by concurrent transactions, or by a server that is starting or stopping.

See https://www.postgresql.org/docs/current/errcodes-appendix.html.
"""

_COMING = (
    "the database system is",
    "too many",
    "remaining connection slots",
    "terminating connection",
)
"""Messages of a server that will accept connections later.

A refused connection has no error code.
"""

_SHORT = 3
"""Pieces of options with up to this many letters are not treated as secrets."""

_OTHER_TABLES = ("the tables in its schema are not those of a store", "Use another schema")
_PROBLEMS = {
    "22P05": (
        "the encoding of the database has no place for a character",
        "Use a database with the encoding UTF8",
    ),
    "25006": ("the server is read-only", "Use the primary server"),
    "42501": (
        "the user may not do this",
        "Use a user who may create schemas, or a schema that belongs to the user",
    ),
    "42703": _OTHER_TABLES,
    "42P01": _OTHER_TABLES,
    "42P07": _OTHER_TABLES,
    "42P06": _OTHER_TABLES,
    "53100": ("the server's disk is full", "Make room and try again"),
    _LOCKED: (
        "another writer held the session for too long",
        "Try again, or raise the timeout",
    ),
}
_LOST = ("the connection was lost, or there was none", "Check that the server can be reached")
_REFUSED = ("it was refused", "See what the server says")


@frozen
class Failure:
    """A failed operation: the server's error code and message, and whether the connection is lost.

    `code` is None if the server gave none.
    """

    code: str | None
    said: str
    lost: bool

    @classmethod
    def of(cls, error: DBAPIError, url: URL) -> "Failure":
        """Return the content of a driver's error without the secrets of `url`."""
        driver: Any = error.orig
        code = getattr(driver, "sqlstate", None)
        told = (getattr(driver.diag, "message_primary", None) if code else None) or str(driver)
        # An error without a code concerns the connection. The server reports permanent refusals as
        # FATAL, in most of its languages.
        refused = "FATAL" in told and not any(words in told for words in _COMING)
        none = code is None and isinstance(driver, OperationalError) and not refused
        return cls(
            code,
            _redact(told.strip().partition("\n")[0], url),
            error.connection_invalidated or none,
        )

    @property
    def is_transient(self) -> bool:
        """Return whether a retry may succeed."""
        return self.code in _TRANSIENT if self.code else self.lost

    @property
    def is_unanswered(self) -> bool:
        """Return whether a commit that failed like this may have succeeded."""
        return self.lost or self.code in _UNANSWERED

    def to_error(self, store: str, *, unknown: bool) -> StoreError:
        """Return the failure as a `StoreError`.

        `unknown` says that the data may have been stored nevertheless.
        """
        problem, legal = _PROBLEMS.get(self.code or "", _LOST if self.lost else _REFUSED)
        if unknown:
            problem, legal = (
                f"{problem}; it is not known whether this was stored",
                "Try again with the same idempotency_key",
            )
        kind = StoreBusyError if self.code == _LOCKED else StoreError
        return kind(store, f"{problem} ({self.said})", legal)


def parse_url(url: str) -> URL:
    """Return a server URL with the driver that is used here.

    Raise `InvalidOptionError`, without secrets, if it is not such a URL.
    """
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None or found.drivername not in _SCHEMES:
        raise InvalidOptionError("url", hide_secrets(url), _URL)
    return found.set(drivername=_SCHEMES[1])


def _redact(text: str, url: URL) -> str:
    """Return a driver's message without the password, the user and the options of the URL."""
    options = [
        word
        for name, value in url.query.items()
        for word in (name, *((value,) if isinstance(value, str) else value))
    ]
    # The parameter `options` contains settings, any of which the message may quote.
    options += [
        piece for word in options for piece in re.split(r"[\s=]+", word) if len(piece) > _SHORT
    ]
    secrets = [
        (url.password, "{}"),
        *((word, r"(?<!\w){}(?!\w)") for word in (url.username, *options)),
    ]
    for secret, pattern in secrets:
        for form in {secret, quote(secret, safe=""), quote_plus(secret)} if secret else ():
            text = re.sub(pattern.format(re.escape(form)), "***", text)
    return text
