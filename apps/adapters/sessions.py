"""Sessions of many conversations, found by key or by how a conversation begins."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from attrs import astuple, define, field

from polycontext.base import require, whole_number
from polycontext.base.effects import Steps, adrive, drive, in_thread
from polycontext.polynomial import ContextSession, SessionWriteError
from polycontext.polynomial.session import NAME, is_name, says_the_same
from polycontext.window import Role, Turn
from polycontext.window.rules import is_rule

if TYPE_CHECKING:
    from polycontext.window import ModelProfile


MOST_ALIKE = 64
"""The most conversations with the same beginning that are kept apart in a store. Further ones are
not found there again."""

_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""First and longest pause in seconds between two attempts of a task to take a lock: a thread lock
cannot be awaited."""

_WITHIN: ContextVar[tuple[object, ...]] = ContextVar("polycontext_fitting", default=())


@define(eq=False)
class _SessionLock:
    """A session with a lock for threads and tasks.

    `users` counts those that hold the lock or wait for it.
    """

    session: ContextSession
    users: int = 0
    _lock: Lock = field(init=False, factory=Lock)
    _holder: object = field(init=False, default=None)
    _thread: int | None = field(init=False, default=None)

    @contextmanager
    def held(self) -> Generator[ContextSession]:
        """Yield the session once nobody else works on it.

        Raises:
            SessionWriteError: waiting would deadlock, because the holder waits for this call to
                return.
        """
        self._check()
        if not self._lock.acquire(blocking=False):
            # A task of this thread holds it, and can continue only when the thread is free.
            if self._thread == get_ident():
                raise SessionWriteError(
                    "a task of this thread is fitting the same conversation",
                    "Await `afit` among tasks",
                )
            self._lock.acquire()
        with self._hold():
            yield self.session

    @asynccontextmanager
    async def aheld(self) -> AsyncGenerator[ContextSession]:
        """Yield the session once nobody else works on it, without blocking; see `held`."""
        self._check()
        pause = _PAUSE
        while not self._lock.acquire(blocking=False):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        with self._hold():
            yield self.session

    def _check(self) -> None:
        holder = self._holder
        if holder is not None and holder in _WITHIN.get():
            raise SessionWriteError(
                "a summariser or listener fits the conversation that it works for",
                "Call it after that call has returned",
            )

    @contextmanager
    def _hold(self) -> Generator[None]:
        """Mark the code inside as the holder, and release the lock at its end."""
        self._holder, self._thread = holder, _ = object(), get_ident()
        token = _WITHIN.set((*_WITHIN.get(), holder))
        try:
            yield
        finally:
            _WITHIN.reset(token)
            self._holder = self._thread = None
            self._lock.release()


class Sessions:
    """The sessions of many conversations at once.

    If there are more than `most`, the least recently used ones are closed.

    It is safe under threads and tasks. There is one session for a key; `alone` gives exclusive
    access to it.

    Args:
        model: as for a session: a model's name, its profile, or a number of tokens.
        store: where the conversations are kept; a closed session is opened again from there.
            Without a store they are in memory only, and a closed one starts again from the
            framework's own list.
        most: how many sessions are held.
        options: those of a session.

    >>> sessions = Sessions(8000)
    >>> sessions.get("a") is sessions.get("a"), sessions.get("a") is sessions.get("b")
    (True, False)
    """

    def __init__(
        self, model: "int | str | ModelProfile | None" = None, *, most: int = 256, **options: Any
    ) -> None:
        whole_number("most", most, 1, "sessions")
        require(
            "session_id",
            options.get("session_id"),
            "session_id" not in options,
            "none: each conversation has its own, see get(key)",
        )
        self._model, self._options, self._most = model, options, most
        self._held: OrderedDict[str, _SessionLock] = OrderedDict()
        self._lock = Lock()
        # Report an invalid option here, not at the first call of a model.
        ContextSession(model, **{name: value for name, value in options.items() if name != "store"})

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[ContextSession]:
        """Iterate over the sessions that are held, the least recently used ones first."""
        with self._lock:
            return iter([held.session for held in self._held.values()])

    def get(self, key: str) -> ContextSession:
        """Return the session of a conversation, a new one if there is none."""
        require("session_id", key, is_name(key), NAME)
        return self._release(drive(self._choose((), key)))

    def longest(self, turns: Sequence[Turn], scope: str = "") -> ContextSession:
        """Return the longest session that `turns` continue, a new one if there is none.

        Use it for conversations without a key. Those of another `scope`, such as another user, are
        never found. A session that continued differently is another
        conversation and is left alone. Closed sessions are looked up in the store by how the
        conversation begins, up to the first user turn.
        """
        return self._release(drive(self._choose(turns, None, scope)))

    def find(self, turns: Sequence[Turn], scope: str = "") -> ContextSession | None:
        """Return the longest session in memory that `turns` continue, None if there is none."""
        found = self._find(turns, None, scope)
        return None if found is None else self._release(found)

    @contextmanager
    def alone(
        self, turns: Sequence[Turn], key: str | None = None, scope: str = ""
    ) -> Generator[ContextSession]:
        """Yield the session that `get` or `longest` returns, for exclusive use.

        Raises:
            SessionWriteError: called from inside the work on the session.
        """
        while True:
            chosen = drive(self._choose(turns, key, scope))
            try:
                with chosen.held() as session:
                    # The previous holder may have continued it differently: then choose another
                    # one.
                    if key is not None or is_continuation(session.conversation.log, turns):
                        yield session
                        return
            finally:
                self._release(chosen)

    @asynccontextmanager
    async def aalone(
        self, turns: Sequence[Turn], key: str | None = None, scope: str = ""
    ) -> AsyncGenerator[ContextSession]:
        """Yield the session as `alone` does, without blocking."""
        while True:
            chosen = await adrive(self._choose(turns, key, scope))
            try:
                async with chosen.aheld() as session:
                    if key is not None or is_continuation(session.conversation.log, turns):
                        yield session
                        return
            finally:
                self._release(chosen)

    # --- choosing a session --------------------------------------------------------------

    def _choose(
        self, turns: Sequence[Turn], key: str | None, scope: str = ""
    ) -> Steps[_SessionLock]:
        """Return the session to work on, which stays open until it is released."""
        opening, is_stored = (
            in_thread(self._open, turns, key, scope),
            self._options.get("store") is not None,
        )
        while True:
            chosen = self._find(turns, key, scope) or self._put(
                *((yield opening) if is_stored else opening.do())
            )
            if chosen is not None:
                return chosen

    def _find(self, turns: Sequence[Turn], key: str | None, scope: str) -> _SessionLock | None:
        """Return a session that is held, None if there is none."""
        with self._lock:
            name = self._find_longest(turns, scope) if key is None else key
            if name not in self._held:
                return None
            self._held.move_to_end(name)
            self._held[name].users += 1
            return self._held[name]

    def _find_longest(self, turns: Sequence[Turn], scope: str) -> str:
        """Return the id of the longest held session that `turns` continue, empty if none does."""
        beginning = id_prefix(turns, scope)
        alike = {name: held for name, held in self._held.items() if name.startswith(beginning)}
        # Skip an empty session that is in use: its user is about to write to it.
        logs = {
            name: held.session.conversation.log
            for name, held in alike.items()
            if held.session.conversation.log or not held.users
        }
        longest_first = sorted(logs, key=lambda name: -len(said_in(logs[name])))
        return next((name for name in longest_first if is_continuation(logs[name], turns)), "")

    def _open(
        self, turns: Sequence[Turn], key: str | None, scope: str
    ) -> tuple[str, ContextSession]:
        """Return a session that is not held yet, from the store or a new one.

        No lock is held meanwhile.
        """
        if key is not None:
            return key, self._session(key)
        beginning, found = id_prefix(turns, scope), None
        for name in (f"{beginning}{number}" for number in range(1, MOST_ALIKE + 1)):
            if name in self._held:
                continue
            session = self._session(name)
            log = session.conversation.log
            if is_continuation(log, turns) and (
                found is None or len(said_in(log)) > len(said_in(found[1].conversation.log))
            ):
                found = name, session
            if not len(log):
                break
        if found is None:
            name = f"{beginning}{uuid4().hex}"
            return name, self._session(name)
        return found

    def _session(self, name: str) -> ContextSession:
        return ContextSession(self._model, session_id=name, **self._options)

    def _put(self, name: str, session: ContextSession) -> _SessionLock | None:
        """Hold a session and return it, None if another one of that name is held by now."""
        with self._lock:
            if name in self._held:
                return None
            self._held[name] = chosen = _SessionLock(session, users=1)
            idle = [each for each, held in self._held.items() if not held.users]
            for each in idle[: max(0, len(self._held) - self._most)]:
                self._held.pop(each).session.close()
            return chosen

    def _release(self, chosen: _SessionLock) -> ContextSession:
        with self._lock:
            chosen.users -= 1
        return chosen.session


def said_in(log: Sequence[Turn]) -> list[Turn]:
    """Return a log without rules that were added to the session, which are in no list."""
    return [turn for turn in log if not is_rule(turn)]


def is_continuation(log: Sequence[Turn], turns: Sequence[Turn]) -> bool:
    """Return whether `turns` continue `log`, that is, begin with all that was said in it."""
    said = said_in(log)
    if len(said) > len(turns):
        return False
    # Compare the last turn first: conversations with the same beginning differ there.
    return not said or (
        says_the_same(said[-1], turns[len(said) - 1]) and all(map(says_the_same, said, turns))
    )


def id_prefix(turns: Sequence[Turn], scope: str = "") -> str:
    """Return the common prefix of the ids of all conversations of a scope that begin like `turns`.

    It contains a digest of all turns up to the first user turn.
    """
    first = next((place for place, turn in enumerate(turns) if turn.role is Role.USER), len(turns))
    said = [
        [
            turn.role,
            turn.content,
            turn.name,
            turn.tool_call_id,
            [astuple(call) for call in turn.tool_calls],
            [astuple(part) for part in turn.parts],
        ]
        for turn in turns[: first + 1]
    ]
    begun = json.dumps([scope, said] if scope else said)
    return f"conversation-{blake2b(begun.encode(), digest_size=12).hexdigest()}-"
