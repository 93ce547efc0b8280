"""The one way a session is written: decide, store, and only then be it.

Readers need no lock: they read a value that is replaced as a whole. No summariser runs and no store waits under a
lock that a reader needs; while a summary is made other writers go on, and whoever is late decides again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from random import uniform
from threading import Lock, RLock
from time import sleep
from types import TracebackType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from attrs import evolve

from polycontext.linearity import CallerError, InvalidOptionError
from polycontext.polynomial.errors import EngineError, SessionWriteError
from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.journal.conversation import Conversation, replay, replayed
from polycontext.polynomial.journal.events import EraseEvent, Event, InputEvent, RewindEvent, input_of
from polycontext.polynomial.journal.past import Past
from polycontext.polynomial.machine.context_machine import ContextMachine, FollowingMachine
from polycontext.polynomial.machine.step import ContextPolicy, Step
from polycontext.polynomial.session.commands import Asked
from polycontext.polynomial.session.decide import Decision, Made, Wanted, decide
from polycontext.polynomial.session.options import written
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import AsyncSessionStore, SessionStore, SnapshotStore, Stored
from polycontext.pressure import ConflictError, ContextProjector, Fulfilment
from polycontext.pressure.fulfilment import default_summariser
from polycontext.window import ContextWindow

TRIES = 64
"""How often a writer decides again because others were first, before it says so."""

_NEAR = 32
"""How many conversations are remembered, so that going back a little need not replay all."""

_LONGEST_PAUSE = 0.05
"""Seconds: of writers that are too late together, one gets through meanwhile."""

_TRAVELS = ("conversation", "policy", "session_id", "companions", "store", "_snapped", "empty")
_LOG = logging.getLogger("polycontext.session")
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("polycontext_writing", default=())

Deciding = Generator[Wanted, Fulfilment, Decision]


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
        self.conversation = self._snapped = self.empty = conversation
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
        self._near: deque[Conversation] = deque(maxlen=_NEAR)

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self.store, InMemoryStore):
            # TypeError is what pickle and copy say of what cannot travel, and what their callers catch.
            kind = type(self.store).__name__
            raise TypeError(f"a session kept in a {kind} cannot be copied. Open it again over its store, or use to_json and from_json.")
        # The conversation first: a store that is ahead of its session is caught up with, the other way round there is no way.
        return {name: getattr(self, name) for name in _TRAVELS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in _TRAVELS:
            setattr(self, name, state[name])
        self.keep_in(self.store)
        self.conversation.read(self.policy)
        self._open(())

    def beside(self, session_id: str, store: SessionStore | None = None) -> "Writer":
        """Return the writer of another session of the same rules, in `store` or where this one is kept."""
        return Writer(self.empty, self.policy, store or self.store, session_id, ())

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
            InvalidOptionError: there is a key, and a store that keeps none.
            SessionWriteError: the call comes from inside another write of this session.
        """
        with self._entered(), self._turnstile:
            for lost in range(TRIES):
                if lost > 1:
                    sleep(_pause(lost))
                if asked.key is not None and self.has_happened(asked.key):
                    return self._as_it_is()
                base = self._base(expected_revision)
                decision = self._decided(decide(base, asked, self.policy), base)
                if decision is not None and self._stored(base, decision, asked.key):
                    return _told(decision.output)
        raise self.outrun()

    async def awrite(self, asked: Asked, expected_revision: int | None = None) -> ContextOutput:
        """Do what `write` does without blocking; tasks of one event loop take turns."""
        with self._entered():
            async with self._one_task():
                for lost in range(TRIES):
                    if lost > 1:
                        await asyncio.sleep(_pause(lost))
                    if asked.key is not None and await asyncio.to_thread(self.has_happened, asked.key):
                        return self._as_it_is()
                    base = self._base(expected_revision)
                    decision = await self._adecided(decide(base, asked, self.policy), base)
                    if decision is not None and await self._astored(base, decision, asked.key):
                        return _told(decision.output)
        raise self.outrun()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Let no other thread write through this session meanwhile; refuses to be entered from inside a write."""
        with self._entered(), self._turnstile:
            yield

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
                    fulfilment = self._projector(wanted).fulfil(wanted.plan, reading=wanted.reading)
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
                fulfilment = await self._projector(wanted).afulfil(wanted.plan, reading=wanted.reading)
                if self.conversation is not base:
                    return None
                wanted = deciding.send(fulfilment)
        except StopIteration as decided:
            return _decision(decided)

    def _projector(self, wanted: Wanted) -> ContextProjector:
        """Return who is asked for words: where they are needed at once, what needs no model."""
        projector = self.policy.projector
        return evolve(projector, summariser=default_summariser()) if wanted.at_once else projector

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

        now = decision.after
        goes_on = now.has_passed(self._snapped.revision)
        # Behind the newest snapshot nothing could be opened without replaying all: it is made anew.
        last = self._snapped if goes_on else self.empty
        return {**options, "snapshot": snapshot_of(last, now)} if not goes_on or due(last, now) else options

    def has_happened(self, key: str) -> bool:
        """Tell whether the command of that key is stored; then its effects are known from here on."""
        if not callable(getattr(self.store, "committed", None)):
            raise InvalidOptionError("idempotency_key", key, "None: the store of this session keeps no keys (it has no `committed`)")
        revision = self.store.committed(self.session_id, key)
        if revision is None:
            return False
        if revision > self.conversation.revision:
            self.caught_up()
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
            if self.conversation.revision == base.revision:
                self._publish(after)
                if self._live is None:
                    return
                for made, event in zip(decision.made, decision.events, strict=True):
                    self._follow(made, event)

    def _publish(self, conversation: Conversation) -> None:
        self._near.append(self.conversation)
        self.conversation = conversation.with_room(self.empty.window.max_tokens)

    def _load(self) -> None:
        """Become what the store has: from its newest snapshot on where it keeps any."""
        snapped = self.empty
        opened = None if self._snapshots is None else self._snapshots.opened(self.session_id)
        if opened is not None:
            from polycontext.polynomial.journal.snapshots import restored  # noqa: PLC0415 - for stores that keep them

            snapped = restored(opened, self.empty) or self.empty
        # A snapshot that cannot be read, or that the conversation has gone back behind, is none to go on from.
        if opened is None or not snapped.revision or goes_behind(opened.stored.events, snapped.revision):
            snapped, opened = self.empty, None
        stored = self.store.load(self.session_id) if opened is None else opened.stored
        conversation = replay(stored.events, snapped)
        if opened is None:
            # As long as replaying all of it takes, and not at the first compression.
            conversation.read(self.policy)
        with self._publishing:
            self.conversation, self._snapped = evolve(conversation, companions=dict(stored.companions)), snapped
            self._near.clear()
            if isinstance(self._live, FollowingMachine):
                self._live.restore(conversation.state, conversation.window)

    def _catch_up(self, stored: Stored, after: int = 0, refused: ConflictError | None = None) -> None:
        """Become what the store has: events of other writers are replayed strictly, and the live machine follows them too."""
        if refused is not None and not stored.events:
            raise refused
        with self._publishing:
            known, events = self.conversation, stored.events[max(0, self.conversation.revision - after) :]
            if goes_behind(events, known.revision):
                # What was read of turns whose words are gone is forgotten with them.
                self.empty = evolve(self.empty, past=Past())
                if self._live is None:
                    return self._load()
                known, events = self.empty, self.store.load(self.session_id).events
            told = self.conversation.revision
            for before, event, conversation in replayed(events, known):
                if conversation.revision <= told:
                    continue
                self._publish(conversation)
                if conversation.revision == stored.snapshot:
                    self._snapped = conversation
                self._follow(self._made(before, event, conversation), event)
            # What was loaded may be older than what another writer has published since.
            if stored.companions and self.conversation.revision == after + len(stored.events):
                self.conversation = evolve(self.conversation, companions=dict(stored.companions))
        return None

    def _made(self, before: Conversation, event: Event, conversation: Conversation) -> Made:
        if not isinstance(event, InputEvent):
            return conversation
        return Step.recorded(input_of(event), before.window, self.policy, conversation.window, event.state)

    def nearest(self, revision: int) -> Conversation:
        """Return the last conversation that is remembered from before, or of, a revision."""
        known = [self.empty, self._snapped, *self._near, self.conversation]
        return max((each for each in known if each.revision <= revision), key=lambda each: each.revision)

    def caught_up(self) -> Conversation:
        """Return the conversation once it is what the store has."""
        after = self.conversation.revision
        self._catch_up(self.store.load(self.session_id, after), after)
        return self.conversation

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

    def _follow(self, made: Made, event: Event) -> None:
        """Take a stored step through the live machine; a listener that fails is logged and changes nothing."""
        machine = self._live
        if not isinstance(machine, FollowingMachine):
            return
        window = _window_of(made)
        try:
            if isinstance(made, Step):
                machine.take(made)
            else:
                machine.restore(event.state, window)
        except Exception:  # noqa: BLE001 - whatever a listener raises is its own affair
            if not machine.parted:
                _LOG.exception("a listener of the machine failed at %s; the input stays accepted", _kind_of(made))
                machine.restore(event.state, window)
        # By identity: comparing windows would look at every turn again.
        if machine.parted or machine.context_state is not event.state or machine.window is not window:
            self._live = EngineError(_kind_of(made), event.state, machine.context_state)
            _LOG.error("%s", self._live)

    # --- who may write ---------------------------------------------------------------

    def _entered(self) -> "_Entered":
        """Refuse a write from inside another one of this session: it would wait for itself, or be lost."""
        outer = _WRITING.get()
        if outer and not self._under_way.isdisjoint(outer):
            raise SessionWriteError(
                "a summariser, classifier, companion or listener writes to the session that it works for",
                "reading it, or writing once the call that asked has returned",
            )
        return _Entered(self._under_way, outer)

    def outrun(self) -> ConflictError:
        """Return the error that says that others were first too often."""
        return ConflictError(f"session revision, tried {TRIES} times while others wrote", "a session at rest", self.conversation.revision)

    def _one_task(self) -> asyncio.Lock:
        """Return the lock of the running event loop's tasks; a lock belongs to one loop, a session to nobody."""
        with self._publishing:
            return self._task_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class _Entered:
    """Mark what runs within as a write of the session whose writes are `under_way`; no frame of its own in what is raised."""

    __slots__ = ("_outer", "_token", "_under_way")

    def __init__(self, under_way: set[object], outer: tuple[object, ...]) -> None:
        self._under_way, self._outer = under_way, outer

    def __enter__(self) -> None:
        self._under_way.add(self)
        self._token = _WRITING.set((*self._outer, self))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._under_way.discard(self)
        _WRITING.reset(self._token)
        if isinstance(error, CallerError):
            # Whoever called erred: how the session came to see it is of no use to him.
            error.with_traceback(None)


def _pause(lost: int) -> float:
    """Return how many seconds a writer lets others go first that was too late so often in a row: at random, and longer each time."""
    return uniform(0, min(_LONGEST_PAUSE, 0.0005 * 2**lost))  # noqa: S311 - nothing here is a secret


def _told(output: ContextOutput) -> ContextOutput:
    """Return `output`, after a warning where summaries were not taken: what stands instead is an extract."""
    fell_back = output.compression.rejections if output.compression is not None else ()
    for refused, instead in ((fell_back, "extracts stand instead"), (output.refused, "nothing was changed")):
        if refused:
            _LOG.warning("%d summaries were not taken, %s: %s", len(refused), instead, "; ".join(each.reason for each in refused))
    return output


def goes_behind(events: Sequence[Event], revision: int) -> bool:
    """Tell whether one of `events`, which follow `revision`, goes back to before it, or has erased what was said before it."""
    return any(isinstance(event, EraseEvent) or (isinstance(event, RewindEvent) and event.to < revision) for event in events)


def _window_of(made: Made) -> ContextWindow:
    window = made.result if isinstance(made, Step) else made.window
    assert window is not None
    return window


def _kind_of(made: Made) -> str:
    return made.input.kind if isinstance(made, Step) else "what altered the journal"


def _decision(decided: StopIteration) -> Decision:
    decision: Decision = decided.value
    return decision
