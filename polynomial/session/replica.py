"""A session as stored: loaded from snapshots and events, and kept up with other writers.

Readers need no lock: they read a value that is replaced as a whole.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Lock, RLock
from typing import Any
from weakref import ref

from attrs import evolve

from polycontext.base import InvalidOptionError
from polycontext.base.effects import Steps, call, procedure, twin
from polycontext.pressure import ConflictError

from .. import journal
from ..inputs import ContextInput, ContextOutput, Standing
from ..journal.conversation import Conversation, replay, replayed
from ..journal.events import (
    CompressEvent,
    Event,
    InputEvent,
    PatchEvent,
    goes_behind,
)
from ..journal.past import Past
from ..machine.context_machine import ContextMachine, decider
from ..machine.engine import REFUSED, ContextModel
from ..machine.step import ContextPolicy, Step
from ..state import ContextState
from ..stores.session_store import (
    AsyncSessionStore,
    SessionStore,
    SharedStore,
    SnapshotStore,
    Stored,
)
from .commands import Companion
from .drafts import Cause
from .options import is_in_loop

_LOG = logging.getLogger("polycontext.session")

_NEAR = 32
"""How many conversations are remembered, so that a short rewind replays little."""


class Replica:
    """A conversation as stored, with the current budget and policy, and its live machine."""

    is_past = False
    """Whether it shows a past state and refuses writes."""

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
        """Create what is not copied: the live machine, the lock and recent conversations."""
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

    def keep_in(self, store: SessionStore) -> None:
        """Use `store` from now on; it already has everything that is stored so far."""
        self.store = store
        # Checked once: a protocol check takes as long as writing a row.
        self._snapshots = store if isinstance(store, SnapshotStore) else None
        self._async = store if isinstance(store, AsyncSessionStore) else None
        self._shared = store if isinstance(store, SharedStore) else None

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

    def catch_up(self) -> Conversation:
        """Load what the store has, and return the conversation."""
        if not self.is_past:
            after = self.stored.revision
            self._catch_up(self.store.load(self.session_id, after), after)
        return self.conversation

    def has_happened(self, key: str) -> bool:
        """Return whether the command with that key is stored, and load its effects if so."""
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


# --- its machine ----------------------------------------------------------------------


class LiveMachine(ContextModel):
    """The model of a session's machine: it stands where the session stands, and writes through it.

    `machine` decides for the session. A session without a class or listeners of its own shares one
    with others, until somebody looks at `ContextSession.machine`.
    """

    def __init__(self, writer: Any, listeners: Sequence[object]) -> None:
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
        machine: ContextMachine = self._writer.conversation.machine(
            model=self, listeners=self._listeners, policy=self._writer.policy
        )
        return machine

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

    @procedure
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

    aplay = twin(play)

    @procedure
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

    asend_waiting = twin(send_waiting)
