"""The one way a session is written: decide, store, and only then be it.

Readers need no lock: they read a value that is replaced as a whole. No summariser runs and no store waits under a
lock that a reader needs; while a summary is made other writers go on, and whoever is late decides again.
"""

import asyncio
import logging
from collections.abc import Generator, Mapping, Sequence
from contextvars import ContextVar, Token
from threading import Lock, RLock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import orjson
from attrs import evolve

from polycontext.linearity import CallerError, InvalidDataError
from polycontext.polynomial.errors import EngineError, SessionWriteError
from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.journal.conversation import evolve as after_event
from polycontext.polynomial.journal.events import Event, input_of
from polycontext.polynomial.machine.context_machine import ContextMachine, FollowingMachine
from polycontext.polynomial.machine.step import ContextPolicy, Step
from polycontext.polynomial.session.commands import Asked
from polycontext.polynomial.session.decide import Decision, Wanted, decide
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import AsyncSessionStore, SessionStore, SnapshotStore, Stored
from polycontext.pressure import ConflictError, Fulfilment
from polycontext.window import ContextWindow

TRIES = 64
"""How often a writer decides again because others were first, before it says so."""

_TRAVELS = ("conversation", "policy", "session_id", "companions", "store", "_snapped")
_LOG = logging.getLogger("polycontext.session")
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("polycontext_writing", default=())

Deciding = Generator[Wanted, Fulfilment, Decision]
_Mark = tuple[object, Token[tuple[object, ...]]]


class Companion(Protocol):
    """Stand for whatever is saved with a session, in the same commit: a memory, a shared context."""

    def to_data(self) -> Mapping[str, Any]:
        """Return it as JSON data, in which `to_data` of two equal companions is equal."""
        ...


class Writer:
    """Drive decisions into a store, and let readers, companions and a live machine follow what is stored."""

    def __init__(
        self, conversation: Conversation, policy: ContextPolicy, store: SessionStore, session_id: str, listeners: Sequence[object]
    ) -> None:
        self.conversation = self._snapped = conversation
        self.policy = policy
        self.keep_in(store)
        self.session_id = session_id
        self.companions: dict[str, Companion] = {}
        self._open(listeners)
        self._load()
        if listeners:
            _ = self.machine

    def _open(self, listeners: Sequence[object]) -> None:
        """Begin to write and be followed; nothing of this travels with a copy."""
        self.listeners = tuple(listeners)
        self._live: ContextMachine | EngineError | None = None
        self._turnstile = Lock()  # sync writers pass one by one, so that none of them decides in vain
        # Guards the exchange of the value and the machine that follows; nobody waits inside, but a listener may look at the machine.
        self._publishing = RLock()
        self._task_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._under_way: set[object] = set()

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self.store, InMemoryStore):
            # TypeError is what pickle and copy say of what cannot travel, and what their callers catch.
            kind = type(self.store).__name__
            raise TypeError(
                f"a session kept in a {kind} cannot be copied; legal: opening it again over its store, or to_json and from_json"
            )
        # The conversation first: a store that is ahead of its session is caught up with, the other way round there is no way.
        return {name: getattr(self, name) for name in _TRAVELS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in _TRAVELS:
            setattr(self, name, state[name])
        self.keep_in(self.store)
        self._open(())

    def keep_in(self, store: SessionStore) -> None:
        """Write to `store` from now on, which has all that is stored so far."""
        self.store = store
        # Asked once: to look at a protocol takes as long as to write a row.
        self._snapshots = store if isinstance(store, SnapshotStore) else None
        self._async = store if isinstance(store, AsyncSessionStore) else None

    # --- writing ---------------------------------------------------------------

    def write(self, asked: Asked, expected_revision: int | None = None) -> ContextOutput:
        """Do what is asked, or raise and change nothing.

        Raises:
            ConflictError: `expected_revision` is not the current one, or other writers were first too often.
            SessionWriteError: the call comes from inside another write of this session.
        """
        mark = self._enter()
        try:
            with self._turnstile:
                for _ in range(TRIES):
                    if asked.key is not None and self._has_happened(asked.key):
                        return self._as_it_is()
                    base = self._base(expected_revision)
                    decision = self._decided(decide(base, asked, self.policy), base)
                    if decision is not None and self._stored(base, decision, asked.key):
                        return _told(decision.output)
            raise self._outrun()
        except CallerError as error:
            # Whoever called erred: how the session came to see it is of no use to him.
            raise error.with_traceback(None)  # noqa: B904 - it is the same error
        finally:
            self._leave(mark)

    async def awrite(self, asked: Asked, expected_revision: int | None = None) -> ContextOutput:
        """Do what `write` does without blocking; tasks of one event loop take turns."""
        mark = self._enter()
        try:
            async with self._one_task():
                for _ in range(TRIES):
                    if asked.key is not None and await asyncio.to_thread(self._has_happened, asked.key):
                        return self._as_it_is()
                    base = self._base(expected_revision)
                    decision = await self._adecided(decide(base, asked, self.policy), base)
                    if decision is not None and await self._astored(base, decision, asked.key):
                        return _told(decision.output)
            raise self._outrun()
        except CallerError as error:
            raise error.with_traceback(None)  # noqa: B904 - it is the same error
        finally:
            self._leave(mark)

    def _base(self, expected_revision: int | None) -> Conversation:
        base = self.conversation
        if expected_revision is not None and expected_revision != base.revision:
            raise ConflictError("session revision", expected_revision, base.revision)
        return base

    def _decided(self, deciding: Deciding, base: Conversation) -> Decision | None:
        """Drive a decision; None where another writer was first while words were made."""
        try:
            wanted = next(deciding)
            while True:
                self._turnstile.release()
                try:
                    fulfilment = self.policy.projector.fulfil(wanted.plan, reading=wanted.reading)
                finally:
                    self._turnstile.acquire()
                if self.conversation is not base:
                    return None
                wanted = deciding.send(fulfilment)
        except StopIteration as decided:
            return _decision(decided)

    async def _adecided(self, deciding: Deciding, base: Conversation) -> Decision | None:
        try:
            wanted = next(deciding)
            while True:
                fulfilment = await self.policy.projector.afulfil(wanted.plan, reading=wanted.reading)
                if self.conversation is not base:
                    return None
                wanted = deciding.send(fulfilment)
        except StopIteration as decided:
            return _decision(decided)

    # --- storing, then being -----------------------------------------------------

    def _stored(self, base: Conversation, decision: Decision, key: str | None) -> bool:
        """Store a decision and become it; False where the store has more than was known, which is known then."""
        companions = self._changed_companions(base)
        if decision.events or companions:
            options = self._options(decision, key)
            try:
                self.store.append(self.session_id, decision.base, decision.events, companions, **options)
            except ConflictError as refused:
                self._catch_up(self.store.load(self.session_id, base.revision), base.revision, refused)
                return False
            self._become(base, decision, companions, snapped="snapshot" in options)
        return True

    async def _astored(self, base: Conversation, decision: Decision, key: str | None) -> bool:
        if self._async is None:
            return self._stored(base, decision, key)
        companions = self._changed_companions(base)
        if decision.events or companions:
            options = self._options(decision, key)
            try:
                await self._async.aappend(self.session_id, decision.base, decision.events, companions, **options)
            except ConflictError as refused:
                self._catch_up(await self._async.aload(self.session_id, base.revision), base.revision, refused)
                return False
            self._become(base, decision, companions, snapped="snapshot" in options)
        return True

    def _options(self, decision: Decision, key: str | None) -> dict[str, Any]:
        """Return what is stored with a decision besides: the key of its command, and from time to time a snapshot, where the store keeps any."""
        options: dict[str, Any] = {} if key is None else {"key": key}
        if self._snapshots is None:
            return options
        from polycontext.polynomial.journal.snapshots import due, snapshot_of  # noqa: PLC0415 - for stores that keep them

        return {**options, "snapshot": snapshot_of(self._snapped, decision.after)} if due(self._snapped, decision.after) else options

    def _has_happened(self, key: str) -> bool:
        """Tell whether the command of that key is stored; then its effects are known from here on."""
        revision = self.store.committed(self.session_id, key)
        if revision is None:
            return False
        after = self.conversation.revision
        if revision > after:
            self._catch_up(self.store.load(self.session_id, after), after)
        return True

    def _as_it_is(self) -> ContextOutput:
        return ContextOutput(self.conversation.window, self.conversation.state)

    def _changed_companions(self, base: Conversation) -> dict[str, str]:
        if not self.companions:
            return {}
        now = {name: written(companion.to_data(), name) for name, companion in self.companions.items()}
        return {name: text for name, text in now.items() if text != base.companions.get(name)}

    def _become(self, base: Conversation, decision: Decision, companions: Mapping[str, str], *, snapped: bool) -> None:
        after = evolve(decision.after, companions={**base.companions, **companions}) if companions else decision.after
        with self._publishing:
            if snapped:
                self._snapped = decision.after
            # Somebody who came late to the store has loaded these events already: then there is nothing left to do.
            if self.conversation is base:
                self.conversation = after
                if self._live is None:
                    return
                for step, event in zip(decision.steps, decision.events, strict=True):
                    self._follow(step, event)

    def _load(self) -> None:
        """Become what the store has: from its newest snapshot on where it keeps any."""
        known = None
        if self._snapshots is not None and (opened := self._snapshots.opened(self.session_id)) is not None:
            from polycontext.polynomial.journal.snapshots import restored  # noqa: PLC0415 - for stores that keep them

            known = restored(opened, self.conversation)
            if known is not None:
                self.conversation = self._snapped = known
                return self._catch_up(opened.stored, known.revision)
        # A snapshot that cannot be read is none to go on from.
        return self._catch_up(evolve(self.store.load(self.session_id), snapshot=0))

    def _catch_up(self, stored: Stored, after: int = 0, refused: ConflictError | None = None) -> None:
        """Become what the store has: events of other writers are replayed strictly, and the live machine follows them too."""
        if refused is not None and not stored.events:
            raise refused
        with self._publishing:
            for event in stored.events[max(0, self.conversation.revision - after) :]:
                before, self.conversation = self.conversation, after_event(self.conversation, event)
                if self.conversation.revision == stored.snapshot:
                    self._snapped = self.conversation
                self._follow(Step.recorded(input_of(event), before.window, self.policy, self.conversation.window, event.state), event)
            # What was loaded may be older than what another writer has published since.
            if stored.companions and self.conversation.revision == after + len(stored.events):
                self.conversation = evolve(self.conversation, companions=dict(stored.companions))

    # --- the machine that follows ---------------------------------------------------

    @property
    def machine(self) -> ContextMachine:
        """Return the live machine, made when it is first looked at; it follows what is stored.

        Raises:
            EngineError: it did something else than the table once.
        """
        with self._publishing:
            if self._live is None:
                conversation = self.conversation
                self._live = FollowingMachine(conversation.window, self.policy, conversation.state, listeners=[*self.listeners])
            if isinstance(self._live, EngineError):
                raise self._live
            return self._live

    def _follow(self, step: Step, event: Event) -> None:
        """Take a stored step through the live machine; a listener that fails is logged and changes nothing."""
        machine = self._live
        if not isinstance(machine, FollowingMachine):
            return
        try:
            machine.take(step)
        except Exception:  # noqa: BLE001 - whatever a listener raises is its own affair
            if not machine.parted:
                _LOG.exception("a listener of the machine failed at %s; the input stays accepted", step.input.kind)
                machine.restore(event.state, _made(step))
        # By identity: comparing windows would look at every turn again.
        if machine.parted or machine.context_state is not event.state or machine.window is not _made(step):
            self._live = EngineError(step.input.kind, event.state, machine.context_state)
            _LOG.error("%s", self._live)

    # --- who may write ---------------------------------------------------------------

    def _enter(self) -> _Mark:
        """Refuse a write from inside another one of this session: it would wait for itself, or be lost."""
        outer = _WRITING.get()
        if outer and not self._under_way.isdisjoint(outer):
            raise SessionWriteError(
                "a summariser, classifier, companion or listener writes to the session that it works for",
                "reading it, or writing once the call that asked has returned",
            )
        mark = object()
        self._under_way.add(mark)
        return mark, _WRITING.set((*outer, mark))

    def _leave(self, mark: _Mark) -> None:
        self._under_way.discard(mark[0])
        _WRITING.reset(mark[1])

    def _outrun(self) -> ConflictError:
        return ConflictError(f"session revision, tried {TRIES} times while others wrote", "a session at rest", self.conversation.revision)

    def _one_task(self) -> asyncio.Lock:
        """Return the lock of the running event loop's tasks; a lock belongs to one loop, a session to nobody."""
        with self._publishing:
            return self._task_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def written(data: object, name: str) -> str:
    """Return a companion's data as JSON text, which nobody can change; raise `InvalidDataError` for what is no JSON."""
    try:
        return orjson.dumps(data).decode()
    except TypeError as error:
        raise InvalidDataError(f"companions.{name}", str(error), "JSON data") from None


def _told(output: ContextOutput) -> ContextOutput:
    """Return `output`, after a warning where summaries were not taken: what stands instead is an extract."""
    refused = output.compression.rejections if output.compression is not None else ()
    if refused:
        _LOG.warning("%d summaries were not taken, extracts stand instead: %s", len(refused), "; ".join(each.reason for each in refused))
    return output


def _made(step: Step) -> ContextWindow:
    assert step.result is not None
    return step.result


def _decision(decided: StopIteration) -> Decision:
    decision: Decision = decided.value
    return decision
