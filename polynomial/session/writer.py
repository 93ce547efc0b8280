"""The writing of a session: load the conversation, decide, store, then publish.

Readers need no lock: they read a value that is replaced as a whole. No summariser runs and no store
waits under a lock that a reader needs. While a summary is written, other writers continue, and a
writer that is too late decides again.

The parts of a session (its history, usage, background summaries and documents) refer to it as a
`Session`; no module of this package imports `ContextSession`, which stands above them.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from random import uniform
from threading import Lock, RLock
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, ref

from attrs import evolve

from polycontext.base import CallerError, InvalidOptionError, guided, require
from polycontext.base.calls import misused
from polycontext.base.effects import Effect, Steps, call, drive, in_thread, within
from polycontext.pressure import ConflictError, ContextProjector, Fulfilment, default_summariser
from polycontext.window import ContextWindow, Role, Turn

from .. import journal
from ..errors import SessionWriteError
from ..inputs import ContextInput, ContextOutput, Standing
from ..journal.conversation import Conversation, replay, replayed
from ..journal.events import CompressEvent, Event, InputEvent, PatchEvent, goes_behind
from ..journal.origin import CachedTokens
from ..journal.past import Past
from ..machine.context_machine import ContextMachine, decider
from ..machine.engine import REFUSED, ContextModel
from ..machine.step import ContextPolicy, Step
from ..state import ContextState
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import (
    AsyncSessionStore,
    SessionStore,
    SharedStore,
    SnapshotStore,
    Stored,
)
from .commands import KEY, Command, Companion, Together, WriteRequest, is_key, utc_now
from .decisions import decide, go_on, log_rejected
from .delivery import Delivery
from .drafts import Cause, Draft, SummaryRequest
from .embedding import Embeddings
from .options import Clock, Place, Room, is_in_loop

_LOG = logging.getLogger("polycontext.session")

TRIES = 64
"""How often a writer decides again because others were first, before it raises."""

_LONGEST_PAUSE = 0.05
"""The longest pause in seconds, so that one of several competing writers succeeds."""

_NEAR = 32
"""How many conversations are remembered, so that a short rewind replays little."""

_TRAVELS = (
    *("conversation", "stored", "policy", "given", "session_id"),
    *("companions", "store", "_snapped", "empty"),
)
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("polycontext_writing", default=())


class Writer:
    """A conversation as stored, with the current budget and policy, and its live machine.

    It drives decisions into the store, and publishes them to readers and the live machine.
    """

    is_past = False
    """Whether it shows a past state and refuses writes."""

    clock: Clock = staticmethod(utc_now)
    """The clock of the session, which says how long summaries took to write."""
    cached: tuple[CachedTokens, ...] = ()
    """The cached tokens that providers reported and no compression has recorded yet, by epoch."""

    def __init__(
        self,
        conversation: Conversation,
        policy: ContextPolicy,
        store: SessionStore,
        session_id: str,
        listeners: Sequence[object] = (),
    ) -> None:
        self.listeners = listeners
        self.conversation = self.stored = self._snapped = self.empty = conversation
        self.policy = policy
        # The tokens that were requested, without later measurements.
        self.given = conversation.window.max_tokens
        self.keep_in(store)
        self.session_id = session_id
        self.companions: dict[str, Companion] = {}
        self._open()
        self._load()

    def _open(self) -> None:
        """Create what is not copied: the live machine, the locks and recent conversations."""
        self.live = LiveMachine(self, self.listeners)
        # Guards the replacement of the value and the queue of the live machine. Nothing waits
        # inside it, but a listener may access the machine.
        self._publishing = RLock()
        self._near: deque[Conversation] = deque(maxlen=_NEAR)
        # Replaced as a whole; the first one has the conversation that they were folded from.
        self._frames: Sequence[journal.timeline.Frame] = ()
        # Companions that may be stored though this session was not told.
        self._tried = set[str]()
        # The events of appends under way, by the identity of their decisions: whoever loads them,
        # this session wrote them. A list would compare events while other threads change it.
        self._writing: dict[int, Sequence[Event]] = {}
        # Sync writers enter one at a time, so that none of them decides in vain.
        self._turnstile = Lock()
        self._task_locks = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()
        self._under_way: set[object] = set()

    def keep_in(self, store: SessionStore) -> None:
        """Use `store` from now on; it already has everything that is stored so far."""
        self.store = store
        # Checked once: a protocol check takes as long as writing a row.
        self._snapshots = store if isinstance(store, SnapshotStore) else None
        self._async = store if isinstance(store, AsyncSessionStore) else None
        self._shared = store if isinstance(store, SharedStore) else None

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

    # --- loading from the store ------------------------------------------------------------

    def _load(self, *, reads_ahead: bool = True) -> None:
        """Load the conversation from the store, from its newest snapshot if there is one."""
        snapped = self.empty
        opened = None if self._snapshots is None else self._snapshots.opened(self.session_id)
        if opened is not None:
            snapped = journal.snapshots.restored(opened, self.empty) or self.empty
        # Ignore a snapshot that cannot be read, or that is newer than the target of a rewind.
        if (
            opened is None
            or not snapped.revision
            or goes_behind(opened.stored.events, snapped.revision)
        ):
            snapped, opened = self.empty, None
        stored = self.store.load(self.session_id) if opened is None else opened.stored
        conversation = replay(stored.events, snapped)
        with self._publishing:
            self.stored = self.conversation = evolve(
                conversation, companions=dict(stored.companions)
            )
            self._snapped = snapped
            self._near.clear()
            self._settle(stored.events)
        if opened is None and reads_ahead:
            # Read it now, which takes as long as the replay, and not at the first compression.
            self.conversation.read(self.policy)

    def _catch_up(
        self, stored: Stored, after: int = 0, refused: ConflictError | None = None
    ) -> None:
        """Replay the events of other writers strictly, and queue them for the live machine."""
        if refused is not None and not stored.events:
            raise refused
        with self._publishing:
            known, events = self.stored, stored.events[max(0, self.stored.revision - after) :]
            behind = goes_behind(events, known.revision)
            if behind:
                # Forget facts that were read from turns whose text was erased.
                self.empty, self._frames = evolve(self.empty, past=Past()), ()
                if not self.live.machine.acts:
                    self._load(reads_ahead=False)
                    return
                known, events = self.empty, self.store.load(self.session_id).events
                self._snapped = self.empty
            newest = self.stored.revision
            for before, event, conversation in replayed(events, known):
                if conversation.revision <= newest:
                    continue
                self._publish(conversation)
                if conversation.revision == stored.snapshot:
                    self._snapped = conversation
                if self.live.machine.acts:
                    follows = not any(event in events for events in [*self._writing.values()])
                    self.live.add(self._made(before, event, conversation), follows=follows)
            if behind:
                # Earlier conversations may hold text that was erased.
                self._near.clear()
            # Another writer may have published since this was loaded.
            if stored.companions and self.stored.revision == after + len(stored.events):
                self.stored = evolve(self.stored, companions=dict(stored.companions))
            self._settle(events)

    def _publish(self, conversation: Conversation) -> None:
        self._near.append(self.stored)
        self.stored = self.conversation = conversation

    def _made(self, before: Conversation, event: Event, conversation: Conversation) -> Cause:
        if isinstance(event, PatchEvent):
            return conversation
        window, states = conversation.window, before.machine.places.states(conversation.place)
        given = (
            event.given
            if isinstance(event, InputEvent)
            else ContextInput(event.kind, Standing(window, states))
        )
        step = Step.recorded(given, before.window, self.policy, window)
        return self.live.machine.retrace(step, before.place, conversation.place)

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """Return the stored events after revision `after`, up to that of the conversation."""
        # Read once: another thread may replace them.
        if len(frames := self._known_frames()) > self.conversation.revision:
            frames = frames[after + 1 : self.conversation.revision + 1]
            return tuple(frame.event for frame in frames if frame.event is not None)
        events: Sequence[Event] = self.store.load(self.session_id, after).events
        if any(event.names_ranges for event in events):
            whole = self.store.load(self.session_id).events if after else events
            events = tuple(journal.source_ranges.with_sources(whole))[after:]
        return tuple(events[: max(0, self.conversation.revision - after)])

    def nearest(self, revision: int) -> Conversation:
        """Return the newest remembered conversation whose revision is at most `revision`."""
        folded = [frame.conversation for frame in self._known_frames()[revision : revision + 1]]
        known = [self.stored, *folded, self.empty, self._snapped, *self._near]
        return max(
            (each for each in known if each.revision <= revision), key=lambda each: each.revision
        )

    def frames(self) -> "Sequence[journal.timeline.Frame]":
        """Return the conversation after each event so far; events are folded once, then kept."""
        origin, revision = self.empty, self.conversation.revision
        frames = self._known_frames() or (journal.timeline.first_frame(origin),)
        if (after := len(frames) - 1) < revision:
            events = self.store.load(self.session_id, after).events[: revision - after]
            frames = journal.timeline.fold(frames, events)
            with self._publishing:
                if self.empty is origin:
                    self._frames = frames
        return frames[: revision + 1]

    def _known_frames(self) -> "Sequence[journal.timeline.Frame]":
        """Return the frames that were folded from the present beginning: its budget, no erasure."""
        frames = self._frames
        return frames if frames and frames[0].conversation is self.empty else ()

    def load_new(self) -> Conversation:
        """Load what the store has, and return the conversation; the live machine follows later."""
        if not self.is_past:
            after = self.stored.revision
            self._catch_up(self.store.load(self.session_id, after), after)
        return self.conversation

    def catch_up(self) -> Conversation:
        """Load what the store has, tell the live machine, and return the conversation."""
        conversation = self.load_new()
        if not self.is_past and self.live.machine.acts and self.live.may_block():
            with nullcontext() if self.is_inside() else self._enter():
                drive(self.live.play())
        return conversation

    def has_happened(self, key: str) -> bool:
        """Return whether the command with that key is stored, and load its effects if so."""
        require("idempotency_key", key, is_key(key), KEY)
        if not callable(getattr(self.store, "committed", None)):
            raise InvalidOptionError(
                "idempotency_key",
                key,
                "None: the store of this session keeps no keys (it has no `committed`)",
            )
        revision = self.store.committed(self.session_id, key)
        if revision is None:
            return False
        if revision > self.conversation.revision:
            self.catch_up()
        return True

    # --- storing -----------------------------------------------------------------------------

    def alone_in_store(self) -> AbstractContextManager[None]:
        """Keep other processes from writing during the block, in a store that they share."""
        return nullcontext() if self._shared is None else self._shared.alone()

    def _save(
        self, base: Conversation, companions: Mapping[str, str], options: Mapping[str, Any]
    ) -> None:
        """Store companions without events, unless another writer has saved one of them.

        Events tell by their revision that another writer was first; companions do not.
        """
        with self.alone_in_store():
            found = self.store.load(self.session_id, base.revision)
            for name in companions:
                if found.companions.get(name) not in {base.companions.get(name), *self._tried}:
                    self._catch_up(found, base.revision)
                    raise ConflictError(
                        f"companion {name!r}",
                        "what this session has read",
                        "what another writer saved",
                        "Merge it with what `documents.get` returns now, and save again",
                    )
            self.store.append(self.session_id, base.revision, (), companions, **options)

    # --- the current budget and policy -------------------------------------------------------

    def resize(
        self,
        max_tokens: int | None = None,
        policy: ContextPolicy | None = None,
        read: Sequence[object] = (None,),
    ) -> None:
        """Change the budget or the policy; the guards then choose the state.

        The next commit stores it. `read` is as in `_settle`.
        """
        with self._publishing:
            now, room = self.empty.window.max_tokens, max_tokens or self.empty.window.max_tokens
            if room != now or policy not in (None, self.policy):
                self.policy, self.empty = policy or self.policy, self.empty.with_room(room)
                self._settle(read)

    def _settle(self, read: Sequence[object] = (None,)) -> None:
        """Give the conversation the current budget, and the state that the guards choose.

        `read` are the events that were just loaded.
        """
        stored, room = self.stored, self.empty.window.max_tokens
        window, same = stored.window, stored.window.max_tokens == room
        # A compression ends in COMPRESSED whatever its pressure.
        ends = (
            stored.state == self.conversation.state == ContextState.COMPRESSED
            and window.turns_since_compression == 0
        )
        # A patch of a document changes no turns.
        changes = [event for event in read if not isinstance(event, PatchEvent)]
        if same and ends and all(isinstance(last, CompressEvent) for last in changes[-1:]):
            self.conversation = stored
            return
        # A budget that a report or an opening gave stands: nothing may refuse it. But a new session
        # asks the validators, so that a faulty one is seen at once.
        resized = ContextInput.resize(room)
        step = Step(resized, window, self.policy)
        if stored.revision:
            step = Step.recorded(resized, window, self.policy, window.with_room(room))
        place = self.live.machine.decide(step, stored.place)
        places = stored.machine.places
        states = stored.state, places.states(place)[0]
        # A cooldown lasts from a compression on; opening the session begins none.
        if same and states == (ContextState.ACCUMULATING, ContextState.COMPRESSED):
            place = stored.place
        if not same or place != stored.place:
            since = stored.since if place == stored.place else None
            stored = evolve(stored, window=step.after, since=since, **places.standing(place))
        self.conversation = stored

    # --- writing ---------------------------------------------------------------

    def write(self, request: WriteRequest) -> Steps[ContextOutput]:
        """Execute a request, or raise and change nothing; tasks of one event loop take turns.

        Raises:
            ConflictError: the expected revision is not the current one, or other writers were first
                too often.
            InvalidOptionError: the request has a key, and the store keeps none.
            SessionWriteError: the call comes from inside another write of this session, or a
                listener must be awaited and the blocking method is called in an event loop.
        """
        with self._enter():
            output: ContextOutput = yield within(
                self._sync_lock, self._task_lock, lambda _: self._steps(request)
            )
        if self.live.machine.acts:
            yield from self.live.send_waiting()
        return output

    def _steps(self, request: WriteRequest) -> Steps[ContextOutput]:
        """Decide, append and publish; if another writer was first, decide again."""
        output: ContextOutput | None = None
        try:
            for lost in range(TRIES):
                if lost > 1:
                    yield _pause(lost)
                if lost:
                    output = yield in_thread(self._decide_alone, request)
                if output is None:
                    output = yield from self._decide_and_store(request)
                if output is not None:
                    if output.compression is not None:
                        log_rejected(output.compression.rejections)
                    if output.refused:
                        log_rejected(output.refused, "nothing was changed")
                    return output
            raise self.contention_error()
        finally:
            if self.live.machine.acts:
                yield from self.live.play()

    def _decide_alone(self, request: WriteRequest) -> ContextOutput | None:
        """Execute a request while nobody else writes to the store.

        Return None if that cannot be, or if a model has to be asked, for which nobody waits.
        """
        if self._shared is None:
            return None
        with self.alone_in_store():
            self.load_new()
            return drive(self._decide_and_store(request, alone=True))

    def _decide_and_store(
        self, request: WriteRequest, *, alone: bool = False
    ) -> Steps[ContextOutput | None]:
        """Return the output of a request.

        Return None if another writer was first, or if a model would have to write summaries while
        the store is kept `alone`.
        """
        key = request.idempotency_key
        if key is not None and (yield in_thread(self.has_happened, key)):
            return ContextOutput(self.conversation.window, self.conversation.state)
        base, expected = self.conversation, request.expected_revision
        if expected is not None and expected != base.revision:
            raise ConflictError("session revision", expected, base.revision)
        stored = None if base is self.stored else self.stored.window.max_tokens
        machine, cached = self.live.machine, self.cached
        steps = decide(base, request, self.policy, stored=stored, machine=machine, cached=cached)
        # Decided in a thread where that takes time.
        made: SummaryRequest | Draft = yield in_thread(go_on, steps)
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
        storing = self._store(base, made, key)
        is_stored = (
            (yield in_thread(drive, storing)) if self._async is None else (yield from storing)
        )
        return made.output if is_stored else None

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep other threads from writing through this session.

        Raises:
            SessionWriteError: the caller is inside a write of this session.
        """
        with self._enter(), self._turnstile:
            yield

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

    def _store(self, base: Conversation, decision: Draft, key: str | None) -> Steps[bool]:
        """Store and publish a decision, and return whether that succeeded.

        It fails if another writer was first; then the events of that writer are loaded.
        """
        events = decision.events
        companions = {
            name: text
            for name, companion in self.companions.items()
            if (text := journal.json_patch.encode(companion.to_data(), name))
            != base.companions.get(name)
        }
        if not events and not companions:
            return True
        self._tried.update(companions.values())
        options: dict[str, Any] = {} if key is None else {"key": key}
        if self._snapshots is not None:
            options |= yield in_thread(self._snapshot, events, decision.conversation)
        self._writing[id(decision)] = events
        try:
            yield (
                self._ask_store("append", base.revision, events, companions, **options)
                if events
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

    def _snapshot(self, events: Sequence[Event], now: Conversation) -> dict[str, Any]:
        """Return the snapshot that an append stores too, as its option, if one is due."""
        goes_on = now.has_passed(self._snapped.revision)
        # After a rewind behind the newest snapshot, opening without a new one replays everything.
        last = self._snapped if goes_on else self.empty
        is_due = (
            not goes_on or journal.snapshots.due(last, now) or goes_behind(events, last.revision)
        )
        return {"snapshot": journal.snapshots.snapshot_of(last, now)} if is_due else {}

    def _become(
        self,
        base: Conversation,
        decision: Draft,
        companions: Mapping[str, str],
        *,
        snapped: bool,
    ) -> None:
        after = decision.conversation
        if companions:
            after = evolve(after, companions={**base.companions, **companions})
        with self._publishing:
            self._tried.clear()
            if snapped:
                self._snapped = decision.conversation
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
                for _, made in decision.steps:
                    self.live.add(made)
            if self.cached:
                told = {
                    each for event in decision.events for each in journal.receipts.cached_in(event)
                }
                self.cached = tuple(each for each in self.cached if each not in told)

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

    def _sync_lock(self) -> Lock:
        """Return the lock of blocking writers, unless an action would have to be awaited."""
        if self.live.machine.acts and not self.live.may_block():
            raise SessionWriteError(
                "an action of the machine is a coroutine function",
                "Await the asynchronous method instead",
            )
        return self._turnstile

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


def _pause(lost: int) -> Effect:
    """Return the effect that pauses a late writer for a random time, longer after each attempt."""
    seconds = uniform(0, min(_LONGEST_PAUSE, 0.0005 * 2**lost))
    return Effect(partial(sleep, seconds), partial(asyncio.sleep, seconds))


# --- its machine ----------------------------------------------------------------------


class LiveMachine(ContextModel):
    """The model of a session's machine: it stands where the session stands, and writes through it.

    `machine` decides for the session. A session without a class or listeners of its own shares one
    with others, until somebody looks at `ContextSession.machine`.
    """

    def __init__(self, writer: Writer, listeners: Sequence[object]) -> None:
        self._writer, self._listeners = writer, [*listeners]
        super().__init__()
        self.session: Callable[[], Any] = lambda: None
        self._steps: deque[tuple[Step, bool]] = deque()
        # What actions have sent during a write.
        self._sent: deque[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = deque()
        self._sending = self._follows = False
        self._playing = Lock()
        kind = writer.conversation.machine
        is_plain = "keeps_nothing" in vars(kind) and not listeners
        self.machine = decider(kind) if is_plain else self._make()

    def _make(self) -> ContextMachine:
        kind, policy = self._writer.conversation.machine, self._writer.policy
        return kind(model=self, listeners=self._listeners, policy=policy)

    def own(self, session: Any) -> ContextMachine:
        """Return the machine of this session alone; it keeps its session alive."""
        self.session = lambda: session
        if self.machine.model is not self:
            self.machine = self._make()
        return self.machine

    def serve(self, session: Any) -> None:
        """Send what actions send through `session`, unless another one is known."""
        if self.session() is None:
            self.session = ref(session)

    # --- the model --------------------------------------------------------------------

    @property
    def stands(self) -> Any:
        """Return the conversation of the session."""
        return self._writer.conversation

    def write_event(self, event: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Write an event through the session, or queue it if it is sent from inside a write.

        Where another writer's event is followed, that writer sends what its actions send.
        """
        if self._writer.is_inside():
            if not self._follows:
                self._sent.append((event, args, kwargs))
            return ContextOutput(self.window, self.now.state)
        session = self.session()
        return (session.send if self.may_block() else session.asend)(event, *args, **kwargs)

    # --- called by the session ----------------------------------------------------------

    def may_block(self) -> bool:
        """Return whether actions can be called without awaiting them.

        True if none is a coroutine function, or if no event loop is running in this thread.
        """
        return not self.machine.awaits or not is_in_loop()

    def add(self, made: object, *, follows: bool = False) -> None:
        """Queue a step, which `follows` another writer; a patch of a document is not a step."""
        if isinstance(made, Step):
            self._steps.append((made, follows))

    def play(self) -> Steps[None]:
        """Perform the queued steps, and await actions that are coroutine functions.

        If another thread is already performing, it performs these steps, too.
        """
        while self._steps and self._playing.acquire(blocking=False):
            try:
                if self._steps:
                    step, self._follows = self._steps.popleft()
                    yield from self.machine.perform(step)
            finally:
                self._follows = False
                self._playing.release()

    def send_waiting(self) -> Steps[None]:
        """Send the events that actions have queued; an event that is refused is logged.

        What their own actions queue is sent by the same loop, however long the chain.
        """
        if self._sending:
            return
        self._sending = True
        try:
            while self._sent:
                event, args, kwargs = self._sent.popleft()
                try:
                    yield call(self.session(), "send", event, *args, **kwargs)
                except Exception:  # noqa: BLE001 - as an error of an action
                    _LOG.exception(REFUSED, event)
        finally:
            self._sending = False


# --- the session, for its parts -----------------------------------------------------------


class Session:
    """The state of a session and its one way of writing; see `ContextSession`."""

    _writer: Writer
    _clock: Clock
    _room: Room
    _reports: Mapping[str, Any]
    _opened: SessionStore | None = None
    _place: tuple[Place, float] | None = None
    _parent: "Session | None" = None
    """The session that opened this child."""
    _answer: Any = None
    """The answer that is being streamed."""
    _added: tuple[object, int] = (None, 0)
    """The object that `add_message` added last, and the revision after it."""
    _background: Any = None
    _delivery: Delivery | None = None
    """Created for the first request."""
    _embeddings: Embeddings | None = None
    _log_index: Any = None
    """Created by the first search if the store cannot search. It is rebuilt if missing."""
    _handles: Mapping[str, tuple[Turn, Any]] | None = None
    """By turn id: the turn as it was synced, and the caller's object. Not stored."""

    @property
    def conversation(self) -> Conversation:
        """Return the whole session as one immutable value."""
        return self._writer.conversation

    @property
    def window(self) -> ContextWindow:
        """Return the window, focused on the last turn; immutable."""
        return self.conversation.window

    @property
    def output(self) -> ContextOutput:
        """Return the output for readers: the current window and state."""
        now = self.conversation
        answering = None if self._answer is None else self._answer.text
        return ContextOutput(now.window, now.state, answering=answering, regions=now.regions)

    @property
    def policy(self) -> ContextPolicy:
        """Return the policy that the machine's guards and actions use."""
        return self._writer.policy

    if TYPE_CHECKING:

        @property
        def background(self) -> Any:
            """Return the background summaries, and compression in three steps."""

        def close(self) -> None:
            """Close the store if the session opened it."""

    # A copy is independent and has no listeners. It renders requests again.
    def __getstate__(self) -> dict[str, Any]:
        own = ("_added", "_answer", "_delivery", "_background", "_handles", "_log_index")
        return {name: value for name, value in vars(self).items() if name not in own}

    @property
    def _sent(self) -> Delivery:
        """Return the requests; concurrent threads get the same object from `setdefault`."""
        return self._delivery or vars(self).setdefault("_delivery", Delivery())

    def _now(self) -> datetime:
        return self._clock()

    def _turn(self, role: Role, content: str | None, **fields: Any) -> Turn:
        return Turn(role, content, timestamp=self._clock(), **fields)

    def _write(
        self,
        command: Command | Callable[[], Command],
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Steps[ContextOutput]:
        if isinstance(command, Command):
            built = command
        elif idempotency_key is None or not (
            yield in_thread(self._writer.has_happened, idempotency_key)
        ):
            built = yield in_thread(command)
        else:
            built = Together(())  # what has happened can often not be built again
        if self._answer is not None:
            self._answer.check(built)
        request = self._request(built, expected_revision, idempotency_key)
        if self._writer.live.machine.acts:
            self._writer.live.serve(self)
        output = yield from self._writer.write(request)
        return (
            (yield from self.background.after(output)) if self._writer.policy.background else output
        )

    def _request(
        self,
        command: Command,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> WriteRequest:
        delivered = None if self._delivery is None else self._delivery.delivered
        sent = None if delivered is None else delivered.epoch
        ready = None if self._background is None else self._background.ready
        return WriteRequest(command, self._clock(), expected_revision, idempotency_key, sent, ready)


S = TypeVar("S", bound=Session)


@guided
class SessionPart:
    """The methods for one subject of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    __call__ = misused
