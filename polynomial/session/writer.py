"""The one way a session is written: decide, store, and only then be it.

Readers need no lock: they read a value that is replaced as a whole. No summariser runs and no store waits under a
lock that a reader needs; while a summary is made other writers go on, and whoever is late decides again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from random import uniform
from threading import Lock, RLock
from time import sleep
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from attrs import evolve

from polycontext.linearity import CallerError, InvalidOptionError
from polycontext.linearity.effects import Effect, Steps, adrive, drive, in_thread
from polycontext.pressure import ConflictError, ContextProjector, Fulfilment
from polycontext.pressure.fulfilment import default_summariser

from .. import journal
from ..errors import SessionWriteError
from ..inputs import ContextInput, ContextOutput, InputKind, Standing
from ..journal.conversation import Conversation, replay, replayed
from ..journal.events import CompressEvent, Event, InputEvent, PatchEvent, RewindEvent, goes_behind, input_of
from ..journal.past import Past
from ..machine.step import ContextPolicy, Step
from ..machine.table import run
from ..state import ContextState
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import AsyncSessionStore, SessionStore, SnapshotStore, Stored
from .commands import Asked, Companion
from .decisions import Decided, Decision, decide, go_on, told
from .drafts import Made, Wanted
from .options import written

TRIES = 64
"""How often a writer decides again because others were first, before it says so."""

_NEAR = 32
"""How many conversations are remembered, so that going back a little need not replay all."""

_LONGEST_PAUSE = 0.05
"""Seconds: of writers that are too late together, one gets through meanwhile."""

_TRAVELS = ("conversation", "stored", "policy", "given", "session_id", "companions", "store", "_snapped", "empty")
_LOG = logging.getLogger("polycontext.session")
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("polycontext_writing", default=())


class Writer:
    """Drive decisions into a store, and let readers, companions and a live machine follow what is stored."""

    is_past = False
    """Whether it shows what once stood, and writes nothing."""

    def __init__(self, conversation: Conversation, policy: ContextPolicy, store: SessionStore, session_id: str) -> None:
        self.conversation = self.stored = self._snapped = self.empty = conversation
        self.policy = policy
        # Tokens that were asked for, whatever was measured since.
        self.given = conversation.window.max_tokens
        self.keep_in(store)
        self.session_id = session_id
        self.companions: dict[str, Companion] = {}
        self._open()
        self._load()

    def _open(self) -> None:
        """Begin to write and be followed; nothing of this travels with a copy."""
        self.live: Any = None  # a LiveMachine once somebody looks at it
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
            raise TypeError(f"a session kept in a {kind} cannot be copied. Open it again over its store, or export it.")
        # The conversation first: a store that is ahead of its session is caught up with, the other way round there is no way.
        return {name: getattr(self, name) for name in _TRAVELS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in _TRAVELS:
            setattr(self, name, state[name])
        self.keep_in(self.store)
        self.conversation.read(self.policy)
        self._open()

    def beside(self, session_id: str, store: SessionStore | None = None) -> "Writer":
        """Return the writer of another session of the same rules, in `store` or where this one is kept."""
        beside = Writer(self.empty, self.policy, store or self.store, session_id)
        beside.given = self.given
        return beside

    def past(self, conversation: Conversation) -> "Writer":
        """Return a writer of this session that shows what once stood, and refuses to write."""
        past = object.__new__(Writer)
        vars(past).update(vars(self), conversation=conversation, stored=conversation, is_past=True, live=None)
        return past

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
            SessionWriteError: the call comes from inside another write of this session, or a listener has to be awaited and an event loop runs.
        """
        live = self.live
        if live is not None and not live.may_block():
            raise SessionWriteError("a listener of the machine is a coroutine function", "awaiting the twin of this method")
        with self._entered(), self._turnstile:
            try:
                output = drive(self._steps(asked, expected_revision))
            finally:
                if live is not None:
                    live.play()
        if live is not None:
            live.send_waiting()
        return output

    async def awrite(self, asked: Asked, expected_revision: int | None = None) -> ContextOutput:
        """Do what `write` does without blocking; tasks of one event loop take turns."""
        live = self.live
        with self._entered():
            async with self._one_task():
                try:
                    output = await adrive(self._steps(asked, expected_revision))
                finally:
                    if live is not None:
                        await live.aplay()
        if live is not None:
            await live.asend_waiting()
        return output

    def _steps(self, asked: Asked, expected_revision: int | None) -> Steps[ContextOutput]:
        """Decide, append, publish; where another writer was first, decide again."""
        for lost in range(TRIES):
            if lost > 1:
                yield _pause(lost)
            if asked.key is not None and (yield in_thread(self.has_happened, asked.key)):
                return ContextOutput(self.conversation.window, self.conversation.state)
            base = self._base(expected_revision)
            decision = yield from self._decided(decide(base, asked, self.policy, unstored=base is not self.stored), base)
            if decision is not None and (yield from self._stored(base, decision, asked.key)):
                return told(decision.output)
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

    def _decided(self, deciding: Decided, base: Conversation) -> Steps[Decision | None]:
        """Drive a decision, which takes as long as the texts are; None where another writer was first while words were made."""
        made: Wanted | Decision = yield in_thread(go_on, deciding)
        while isinstance(made, Wanted):
            fulfil = partial(self._projector(made).afulfil, made.plan, reading=made.reading)
            fulfilment = yield Effect(partial(self._fulfilled, made), fulfil)
            if self.conversation is not base:
                return None
            made = yield in_thread(go_on, deciding, fulfilment)
        return made

    def _fulfilled(self, wanted: Wanted) -> Fulfilment:
        """Return the words of a plan; other threads may write meanwhile."""
        self._turnstile.release()
        try:
            return self._projector(wanted).fulfil(wanted.plan, reading=wanted.reading)
        finally:
            self._turnstile.acquire()

    def _projector(self, wanted: Wanted) -> ContextProjector:
        """Return who is asked for words: where they are needed at once, what needs no model."""
        projector = self.policy.projector
        return evolve(projector, summariser=default_summariser()) if wanted.at_once else projector

    # --- storing, then being -----------------------------------------------------

    def _stored(self, base: Conversation, decision: Decision, key: str | None) -> Steps[bool]:
        """Store a decision and become it; False where the store has more than was known, which is known then."""
        storing = self._storing(base, decision, key)
        return (yield in_thread(drive, storing)) if self._async is None else (yield from storing)

    def _storing(self, base: Conversation, decision: Decision, key: str | None) -> Steps[bool]:
        companions = self._changed_companions(base)
        if not decision.events and not companions:
            return True
        options: dict[str, Any] = yield in_thread(self._options, decision, key)
        try:
            yield self._stores("append", decision.base, decision.events, companions, **options)
        except ConflictError as refused:
            stored = yield self._stores("load", base.revision)
            yield in_thread(self._catch_up, stored, base.revision, refused)
            return False
        self._become(base, decision, companions, snapped="snapshot" in options)
        return True

    def _stores(self, method: str, *args: Any, **options: Any) -> Effect:
        """Return the effect that asks the store, by its own coroutine where it is awaited."""
        ask = getattr(self.store, method)
        aask = ask if self._async is None else getattr(self._async, f"a{method}")
        return Effect(partial(ask, self.session_id, *args, **options), partial(aask, self.session_id, *args, **options))

    def _options(self, decision: Decision, key: str | None) -> dict[str, Any]:
        """Return what is stored with a decision besides: the key of its command, and from time to time a snapshot, where the store keeps any."""
        options: dict[str, Any] = {} if key is None else {"key": key}
        if self._snapshots is None:
            return options
        now = decision.after
        goes_on = now.has_passed(self._snapped.revision)
        # Behind the newest snapshot nothing could be opened without replaying all: it is made anew.
        last = self._snapped if goes_on else self.empty
        return (
            {**options, "snapshot": journal.snapshots.snapshot_of(last, now)}
            if not goes_on or journal.snapshots.due(last, now)
            else options
        )

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
            if self.conversation.revision != base.revision:
                return
            state, room = self.stored.state, after.window.max_tokens
            if room != base.window.max_tokens:
                self.given, self.empty = room, self.empty.with_room(room)
            # Decided by the guards; they are asked again only where budget or policy have changed since.
            self._publish(after)
            if self.empty.window.max_tokens != room or self.policy is not decision.policy:
                self._settle()
            for made, event in zip(decision.made, decision.events, strict=True):
                if self.live is not None:
                    self.live.add(made, state)
                state = event.state

    def _publish(self, conversation: Conversation) -> None:
        self._near.append(self.stored)
        self.stored = self.conversation = conversation

    def resize(self, max_tokens: int | None = None, policy: ContextPolicy | None = None) -> None:
        """Go on with another budget or policy: the state is what the guards say by it. The next commit stores it."""
        with self._publishing:
            now, room = self.empty.window.max_tokens, max_tokens or self.empty.window.max_tokens
            if room != now or policy not in (None, self.policy):
                self.policy, self.empty = policy or self.policy, self.empty.with_room(room)
                self._settle()

    def _settle(self, read: Sequence[object] = (None,)) -> None:
        """Give the conversation the budget of today, and the state that the guards say; `read` are the events that it was read from just now."""
        stored, room = self.stored, self.empty.window.max_tokens
        window, same = stored.window, stored.window.max_tokens == room
        # A compression ends in COMPRESSED whatever its pressure.
        ends = stored.state == self.conversation.state == ContextState.COMPRESSED and window.turns_since_compression == 0
        if same and ends and all(isinstance(last, CompressEvent) for last in read[-1:]):
            self.conversation = stored
            return
        step = Step(ContextInput.resize(room), window, self.policy)
        state = run(stored.machine.table, stored.state, step)
        self.conversation = stored if same and state == stored.state else evolve(stored, window=step.after, state=state)

    def _load(self) -> None:
        """Become what the store has: from its newest snapshot on where it keeps any."""
        snapped = self.empty
        opened = None if self._snapshots is None else self._snapshots.opened(self.session_id)
        if opened is not None:
            snapped = journal.snapshots.restored(opened, self.empty) or self.empty
        # A snapshot that cannot be read, or that the conversation has gone back behind, is none to go on from.
        if opened is None or not snapped.revision or goes_behind(opened.stored.events, snapped.revision):
            snapped, opened = self.empty, None
        stored = self.store.load(self.session_id) if opened is None else opened.stored
        conversation = replay(stored.events, snapped)
        with self._publishing:
            self.stored = self.conversation = evolve(conversation, companions=dict(stored.companions))
            self._snapped = snapped
            self._near.clear()
            self._settle(stored.events)
        if opened is None:
            # As long as replaying all of it takes, and not at the first compression.
            self.conversation.read(self.policy)

    def _catch_up(self, stored: Stored, after: int = 0, refused: ConflictError | None = None) -> None:
        """Become what the store has: events of other writers are replayed strictly, and the live machine follows them too."""
        if refused is not None and not stored.events:
            raise refused
        with self._publishing:
            known, events = self.stored, stored.events[max(0, self.stored.revision - after) :]
            if goes_behind(events, known.revision):
                # What was read of turns whose words are gone is forgotten with them.
                self.empty = evolve(self.empty, past=Past())
                if self.live is None:
                    return self._load()
                known, events = self.empty, self.store.load(self.session_id).events
            newest = self.stored.revision
            for before, event, conversation in replayed(events, known):
                if conversation.revision <= newest:
                    continue
                self._publish(conversation)
                if conversation.revision == stored.snapshot:
                    self._snapped = conversation
                if self.live is not None:
                    self.live.add(self._made(before, event, conversation), before.state)
            # What was loaded may be older than what another writer has published since.
            if stored.companions and self.stored.revision == after + len(stored.events):
                self.stored = evolve(self.stored, companions=dict(stored.companions))
            self._settle(events)
        return None

    def _made(self, before: Conversation, event: Event, conversation: Conversation) -> Made:
        if isinstance(event, PatchEvent):
            return conversation
        window, kind = conversation.window, InputKind.REWIND if isinstance(event, RewindEvent) else InputKind.FORGET
        given = input_of(event) if isinstance(event, InputEvent) else ContextInput(kind, Standing(window, event.state))
        return Step.recorded(given, before.window, self.policy, window, event.state)

    def nearest(self, revision: int) -> Conversation:
        """Return the last conversation that is remembered from before, or of, a revision."""
        known = [self.empty, self._snapped, *self._near, self.stored]
        return max((each for each in known if each.revision <= revision), key=lambda each: each.revision)

    def caught_up(self) -> Conversation:
        """Return the conversation once it is what the store has."""
        if self.is_past:
            return self.conversation
        after = self.stored.revision
        self._catch_up(self.store.load(self.session_id, after), after)
        if self.live is not None and self.live.may_block():
            with nullcontext() if self.is_inside() else self._entered():
                self.live.play()
        return self.conversation

    # --- who may write ---------------------------------------------------------------

    def is_inside(self) -> bool:
        """Return whether the caller runs inside a write of this session."""
        return self.is_past or not self._under_way.isdisjoint(_WRITING.get())

    def _entered(self) -> "_Entered":
        """Refuse a write from inside another one of this session: it would wait for itself, or be lost; and one to what is over."""
        if self.is_past:
            raise SessionWriteError("the session is shown as it once stood", "writing to the session itself, or to a fork from here")
        if self.is_inside():
            raise SessionWriteError(
                "a summariser, classifier, companion or listener writes to the session that it works for",
                "reading it, or writing once the call that asked has returned",
            )
        return _Entered(self._under_way, _WRITING.get())

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


def _pause(lost: int) -> Effect:
    """Let others go first, for a writer that was too late so often in a row: at random, and longer each time."""
    seconds = uniform(0, min(_LONGEST_PAUSE, 0.0005 * 2**lost))
    return Effect(partial(sleep, seconds), partial(asyncio.sleep, seconds))
