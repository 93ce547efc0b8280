"""Writing a session: decide, store, then publish.

Readers need no lock: they read a value that is replaced as a whole. No summariser runs and no store
waits under a lock that a reader needs. While a summary is written, other writers continue, and a
writer that is too late decides again.
"""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from random import uniform
from threading import Lock
from time import sleep
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from attrs import evolve

from polycontext.base import CallerError
from polycontext.base.effects import Effect, Steps, adrive, drive, in_thread
from polycontext.pressure import ConflictError, ContextProjector, Fulfilment, default_summariser

from .. import journal
from ..errors import SessionWriteError
from ..inputs import ContextOutput
from ..journal.conversation import Conversation
from ..journal.events import CompressEvent, goes_behind
from ..journal.origin import CachedTokens
from ..stores.in_memory import InMemoryStore
from .commands import WriteRequest, utc_now
from .decisions import Decision, DecisionSteps, decide, go_on, log_rejections
from .drafts import SummaryRequest
from .options import Clock
from .replica import Replica

TRIES = 64
"""How often a writer decides again because others were first, before it raises."""

_LONGEST_PAUSE = 0.05
"""The longest pause in seconds, so that one of several competing writers succeeds."""

_TRAVELS = (
    *("conversation", "stored", "policy", "given", "session_id"),
    *("companions", "store", "_snapped", "empty"),
)
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("polycontext_writing", default=())


class Writer(Replica):
    """Drives decisions into a store, and publishes them to readers and the live machine."""

    clock: Clock = staticmethod(utc_now)
    """The clock of the session, which says how long summaries took to write."""
    cached: tuple[CachedTokens, ...] = ()
    """The cached tokens that providers reported and no compression has recorded yet, by epoch."""

    def _open(self) -> None:
        super()._open()
        # Sync writers enter one at a time, so that none of them decides in vain.
        self._turnstile = Lock()
        self._task_locks = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()
        self._under_way: set[object] = set()

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self.store, InMemoryStore):
            # pickle and copy raise TypeError for objects that cannot be copied, so callers catch
            # it.
            kind = type(self.store).__name__
            raise TypeError(
                f"a session kept in a {kind} cannot be copied. "
                "Open it again over its store, or export it."
            )
        # The conversation comes first: a session can catch up with its store, but not the reverse.
        return {name: getattr(self, name) for name in _TRAVELS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.listeners = ()
        for name in _TRAVELS:
            setattr(self, name, state[name])
        self.keep_in(self.store)
        self.conversation.read(self.policy)
        self._open()

    def past(self, conversation: Conversation) -> "Writer":
        """Return a writer of this session that shows a past state and refuses to write."""
        past = object.__new__(Writer)
        vars(past).update(vars(self), conversation=conversation, stored=conversation, is_past=True)
        past.cached = ()
        return past

    # --- writing ---------------------------------------------------------------

    def write(self, request: WriteRequest) -> ContextOutput:
        """Execute a request, or raise and change nothing.

        Raises:
            ConflictError: the expected revision is not the current one, or other writers were first
                too often.
            InvalidOptionError: the request has a key, and the store keeps none.
            SessionWriteError: the call comes from inside another write of this session, or a
                listener must be awaited and an event loop is running.
        """
        live = self.live if self.live.machine.acts else None
        if live is not None and not live.may_block():
            raise SessionWriteError(
                "an action of the machine is a coroutine function",
                "Await the asynchronous method instead",
            )
        with self._enter(), self._turnstile:
            try:
                output = drive(self._steps(request))
            finally:
                if live is not None:
                    live.play()
        if live is not None:
            live.send_waiting()
        return output

    async def awrite(self, request: WriteRequest) -> ContextOutput:
        """Do what `write` does without blocking; tasks of one event loop take turns."""
        live = self.live if self.live.machine.acts else None
        with self._enter():
            async with self._task_lock():
                try:
                    output = await adrive(self._steps(request))
                finally:
                    if live is not None:
                        await live.aplay()
        if live is not None:
            await live.asend_waiting()
        return output

    def _steps(self, request: WriteRequest) -> Steps[ContextOutput]:
        """Decide, append and publish; if another writer was first, decide again."""
        output: ContextOutput | None = None
        for lost in range(TRIES):
            if lost > 1:
                yield _pause(lost)
            if lost:
                output = yield in_thread(self._decide_alone, request)
            if output is None:
                output = yield from self._decide_and_store(request)
            if output is not None:
                return log_rejections(output)
        raise self.contention_error()

    def _decide_alone(self, request: WriteRequest) -> ContextOutput | None:
        """Execute a request while nobody else writes to the store.

        Return None if that cannot be, or if a model has to be asked, for which nobody waits.
        """
        if self._shared is None:
            return None
        with self.alone_in_store():
            super().catch_up()
            return drive(self._decide_and_store(request, alone=True))

    def _decide_and_store(
        self, request: WriteRequest, *, alone: bool = False
    ) -> Steps[ContextOutput | None]:
        """Return the output of a request, None if another writer was first."""
        key = request.idempotency_key
        if key is not None and (yield in_thread(self.has_happened, key)):
            return ContextOutput(self.conversation.window, self.conversation.state)
        base = self._base(request.expected_revision)
        stored = None if base is self.stored else self.stored.window.max_tokens
        steps = decide(base, request, self.policy, stored=stored, machine=self.live.machine)
        decision = yield from self._drive_decision(steps, base, alone=alone)
        stored = decision is not None and (yield from self._store(base, decision, key))
        return decision.output if decision is not None and stored else None

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep other threads from writing through this session.

        Raises:
            SessionWriteError: the caller is inside a write of this session.
        """
        with self._enter(), self._turnstile:
            yield

    def _base(self, expected_revision: int | None) -> Conversation:
        base = self.conversation
        if expected_revision is not None and expected_revision != base.revision:
            raise ConflictError("session revision", expected_revision, base.revision)
        return base

    def _drive_decision(
        self, steps: DecisionSteps, base: Conversation, *, alone: bool
    ) -> Steps[Decision | None]:
        """Drive a decision, in a thread where that takes time.

        Returns None if another writer was first while summaries were written, or if a model would
        have to write them while the store is kept `alone`.
        """
        made: SummaryRequest | Decision = yield in_thread(go_on, steps)
        while isinstance(made, SummaryRequest):
            projector, begun = self._projector(made), self.clock()
            if not alone:
                fulfil = partial(projector.afulfil, made.plan, reading=made.reading)
                fulfilment = yield Effect(partial(self._fulfil, made), fulfil)
            elif projector.summariser is default_summariser():
                fulfilment = projector.fulfil(made.plan, reading=made.reading)
            else:
                return None
            if self.conversation is not base:
                return None
            made = yield in_thread(go_on, steps, fulfilment.timed(self.clock() - begun))
        return _recording(self.cached, made) if self.cached else made

    def note_cached(self, epoch: int, tokens: int) -> None:
        """Remember the cached tokens of a request, for the receipts before and after its epoch."""
        self.cached = journal.receipts.merged((*self.cached, CachedTokens(epoch, tokens, tokens)))

    def _fulfil(self, request: SummaryRequest) -> Fulfilment:
        """Return the fulfilment of a plan; other threads may write meanwhile."""
        self._turnstile.release()
        try:
            return self._projector(request).fulfil(request.plan, reading=request.reading)
        finally:
            self._take_turnstile()

    def _take_turnstile(self) -> None:
        """Wait for the turnstile, which we release later: interrupts are raised once it is ours."""
        try:
            self._turnstile.acquire()
        except BaseException:
            self._take_turnstile()
            raise

    def _projector(self, request: SummaryRequest) -> ContextProjector:
        """Return the projector that writes summaries; without a model if they are urgent."""
        projector = self.policy.projector
        return evolve(projector, summariser=default_summariser()) if request.at_once else projector

    # --- storing and publishing --------------------------------------------------

    def _store(self, base: Conversation, decision: Decision, key: str | None) -> Steps[bool]:
        """Store and publish a decision, and return whether that succeeded.

        It fails if another writer was first; then the events of that writer are loaded.
        """
        storing = self._store_steps(base, decision, key)
        return (yield in_thread(drive, storing)) if self._async is None else (yield from storing)

    def _store_steps(self, base: Conversation, decision: Decision, key: str | None) -> Steps[bool]:
        companions = self._changed_companions(base)
        if not decision.events and not companions:
            return True
        self._tried.update(companions.values())
        options: dict[str, Any] = yield in_thread(self._options, decision, key)
        self._writing[id(decision)] = decision.events
        try:
            yield (
                self._ask_store("append", decision.base, decision.events, companions, **options)
                if decision.events
                else in_thread(self._save, base, companions, options)
            )
            self._become(base, decision, companions, snapped="snapshot" in options)
        except ConflictError as error:
            refused = error
        else:
            return True
        finally:
            del self._writing[id(decision)]
        stored = yield self._ask_store("load", base.revision)
        yield in_thread(self._catch_up, stored, base.revision, refused)
        return False

    def _ask_store(self, method: str, *args: Any, **options: Any) -> Effect:
        """Return the effect that calls the store, through its async method if it has one."""
        ask = getattr(self.store, method)
        aask = ask if self._async is None else getattr(self._async, f"a{method}")
        return Effect(
            partial(ask, self.session_id, *args, **options),
            partial(aask, self.session_id, *args, **options),
        )

    def _options(self, decision: Decision, key: str | None) -> dict[str, Any]:
        """Return the options of an append: the idempotency key, and a snapshot if one is due."""
        now = decision.after
        options: dict[str, Any] = {} if key is None else {"key": key}
        if self._snapshots is None:
            return options
        goes_on = now.has_passed(self._snapped.revision)
        # After a rewind behind the newest snapshot, opening without a new one replays everything.
        last = self._snapped if goes_on else self.empty
        is_due = (
            not goes_on
            or journal.snapshots.due(last, now)
            or goes_behind(decision.events, last.revision)
        )
        return (
            {**options, "snapshot": journal.snapshots.snapshot_of(last, now)} if is_due else options
        )

    def _changed_companions(self, base: Conversation) -> dict[str, str]:
        now = {
            name: journal.json_patch.encode(companion.to_data(), name)
            for name, companion in self.companions.items()
        }
        return {name: text for name, text in now.items() if text != base.companions.get(name)}

    def _become(
        self,
        base: Conversation,
        decision: Decision,
        companions: Mapping[str, str],
        *,
        snapped: bool,
    ) -> None:
        after = decision.after
        if companions:
            after = evolve(after, companions={**base.companions, **companions})
        with self._publishing:
            self._tried.clear()
            if snapped:
                self._snapped = decision.after
            # A late writer has already loaded these events.
            if self.conversation.revision != base.revision:
                return
            room = after.window.max_tokens
            if room != base.window.max_tokens:
                self.given, self.empty = room, self.empty.with_room(room)
            # The guards chose this state. Run them again only if budget or policy changed since.
            self._near.append(self.stored)
            self.stored = self.conversation = after
            if self.empty.window.max_tokens != room or self.policy is not decision.policy:
                self._settle(decision.events)
            if self.live.machine.acts:
                for made in decision.made:
                    self.live.add(made)
            if self.cached:
                told = {
                    each for event in decision.events for each in journal.receipts.cached_in(event)
                }
                self.cached = tuple(each for each in self.cached if each not in told)

    def catch_up(self) -> Conversation:
        """Load what the store has, tell the live machine, and return the conversation."""
        conversation = super().catch_up()
        if not self.is_past and self.live.machine.acts and self.live.may_block():
            with nullcontext() if self.is_inside() else self._enter():
                self.live.play()
        return conversation

    # --- access ----------------------------------------------------------------------

    def is_inside(self) -> bool:
        """Return whether the caller runs inside a write of this session."""
        return self.is_past or not self._under_way.isdisjoint(_WRITING.get())

    def _enter(self) -> "_WriteScope":
        """Return the scope of a write, and raise inside another write or on a past session.

        A nested write would wait for itself, or be lost.
        """
        if self.is_past:
            raise SessionWriteError(
                "the session is shown as it once stood",
                "Write to the session itself, or to a fork",
            )
        if self.is_inside():
            raise SessionWriteError(
                (
                    "a summariser, classifier, companion or listener writes to the session "
                    "that it works for"
                ),
                "Read it, or write after that call has returned",
            )
        return _WriteScope(self._under_way, _WRITING.get())

    def contention_error(self) -> ConflictError:
        """Return the error for a writer that was too late too often."""
        return ConflictError(
            f"session revision, after {TRIES} tries while others wrote",
            "a session that nobody else writes to",
            self.conversation.revision,
        )

    def _task_lock(self) -> asyncio.Lock:
        """Return the lock for tasks of the running event loop: a lock belongs to one loop."""
        with self._publishing:
            return self._task_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class _WriteScope:
    """A context manager that marks its block as one of the writes `under_way`.

    It adds no frame to the traceback of an exception.
    """

    __slots__ = ("_outer", "_token", "_under_way")

    def __init__(self, under_way: set[object], outer: tuple[object, ...]) -> None:
        self._under_way, self._outer = under_way, outer

    def __enter__(self) -> None:
        self._under_way.add(self)
        self._token = _WRITING.set((*self._outer, self))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._under_way.discard(self)
        _WRITING.reset(self._token)
        if isinstance(error, CallerError):
            # The caller made the error: the session's frames do not help.
            error.with_traceback(None)


def _recording(cached: tuple[CachedTokens, ...], decision: Decision) -> Decision:
    """Return a decision whose compressions record the cached tokens that were reported."""
    events = tuple(
        evolve(event, origin=evolve(event.origin, cached=cached))
        if isinstance(event, CompressEvent) and event.origin is not None
        else event
        for event in decision.events
    )
    return evolve(decision, events=events)


def _pause(lost: int) -> Effect:
    """Return the effect that pauses a late writer for a random time, longer after each attempt."""
    seconds = uniform(0, min(_LONGEST_PAUSE, 0.0005 * 2**lost))
    return Effect(partial(sleep, seconds), partial(asyncio.sleep, seconds))
