"""The session: one conversation, driven through the machine, with its journal.

The session is the shell around the pure core: it holds the lock, reads the
clock, and lets each accepted input become one event. Reading never changes anything.
"""

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import RLock
from typing import Any, Literal, Protocol
from weakref import WeakKeyDictionary

from attrs import evolve, frozen

from polycontext.linearity import Classifier, PolycontextError, ResourceClass, default_classifier
from polycontext.polynomial import journal, snapshot
from polycontext.polynomial.calls import as_tool_call
from polycontext.polynomial.delivery import Delivery
from polycontext.polynomial.errors import ContextOverflowError, SnapshotError, illegal
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.machine import ContextMachine
from polycontext.polynomial.plugins import load_renderer
from polycontext.polynomial.recall import Log, recall_edit
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.polynomial.step import ContextPolicy, is_over_budget
from polycontext.polynomial.transition import VALID_DIRECTIONS, TableMachine
from polycontext.pressure import (
    AdaptiveThreshold,
    CompressionResult,
    ConflictError,
    ContextProjector,
    Fulfilment,
    Plan,
    Signals,
    Threshold,
    apply_edit,
    pressure_of,
)
from polycontext.window import ContextWindow, Role, TokenCounter, ToolCall, Turn, count_tools, default_counter
from polycontext.window.providers import Provider, Rendered
from polycontext.window.turn import EPOCH

Engine = Literal["machine", "table"]
Clock = Callable[[], datetime]
Calls = Iterable[ToolCall | Mapping[str, Any]]


class _Machine(Protocol):
    """Stand for either engine."""

    policy: ContextPolicy

    @property
    def context_state(self) -> ContextState: ...
    @property
    def window(self) -> ContextWindow: ...
    def advance(self, context_input: ContextInput) -> ContextOutput: ...
    def restore(self, state: ContextState, window: ContextWindow) -> None: ...


@frozen
class _Mark:
    """Remember where a session stood."""

    state: ContextState
    window: ContextWindow
    events: int
    turns: int


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ContextSession:
    """Hold one conversation: its machine, its log, and everything that readers may ask of it (seed 004 §3, §5.1).

    Args:
        max_tokens: what the model's window holds, in tokens.
        auto: compress when PRESSURED before the next turn goes in, and at once when a
            turn alone takes the window over its budget. ``False`` leaves it to the caller.
        engine: ``"machine"`` runs python-statemachine (listeners, diagrams), ``"table"`` the
            table compiled from it, for bulk work.
        reserve: tokens kept free for the reply.
        tools: tool definitions sent with every request; their tokens are taken off the window.
        projector, threshold, cooldown: how, when and how often it yields.
        counter, classifier, preserved_share: how turns are counted and classified.
        clock: where timestamps come from.

    Safe under threads and tasks: one writer at a time. A writer that names the revision it
    has seen gets a `ConflictError` if it is stale.

    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_system("You are a travel assistant.")
    >>> _ = session.add_user_turn("Book me a night train to Vienna.")
    >>> session.state
    <ContextState.ACCUMULATING: 'ACCUMULATING'>
    >>> session.messages()[1]
    {'role': 'user', 'content': 'Book me a night train to Vienna.'}
    """

    def __init__(
        self,
        max_tokens: int = 8000,
        *,
        auto: bool = True,
        engine: Engine = "machine",
        reserve: int = 0,
        tools: Sequence[Mapping[str, Any]] = (),
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        cooldown: int = 2,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        preserved_share: float = 0.2,
        clock: Clock = _utc_now,
    ) -> None:
        counter = counter or default_counter()
        taken = reserve + (count_tools(counter, tools) if tools else 0)
        if taken and not 0 <= taken < max_tokens:
            raise ContextOverflowError(taken, max_tokens, "what the request needs besides (reserve and tool definitions)")
        window = ContextWindow(max_tokens - taken, counter=counter, classifier=classifier, preserved_share=preserved_share)
        policy = ContextPolicy(projector or ContextProjector(), threshold or AdaptiveThreshold(), cooldown)
        self.auto = auto
        self.engine: Engine = engine
        self._taken = taken
        self._clock = clock
        self._machine = _machine(engine, window, policy)
        self._events: list[journal.Event] = []
        self._log = Log.empty()
        self._delivery = Delivery()
        self._lock = RLock()
        self._task_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    # --- reading ---------------------------------------------------------

    @property
    def state(self) -> ContextState:
        """Return the machine's state."""
        return self._machine.context_state

    @property
    def window(self) -> ContextWindow:
        """Return the window, focused on the last turn; immutable."""
        return self._machine.window

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens of the window."""
        return pressure_of(self._machine.window)

    @property
    def policy(self) -> ContextPolicy:
        """Return what guards and actions call."""
        return self._machine.policy

    @property
    def revision(self) -> int:
        """Return how many events the journal holds."""
        return len(self._events)

    @property
    def output(self) -> ContextOutput:
        """Return what readers consume: window and state now."""
        with self._lock:
            return ContextOutput(self.window, self.state)

    def events(self) -> tuple[journal.Event, ...]:
        """Return the journal: every accepted input with its effects, in order."""
        return tuple(self._events)

    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, whatever became of it in the view."""
        return tuple(self._log.turns)

    def messages(self, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> list[dict[str, Any]]:
        """Return the view as a message list that the provider accepts, within budget.

        For Anthropic the system turns travel outside of the list: see `request`.

        Raises:
            InvalidMessagesError: nothing to say, or calls are open (unless `allow_open`).
            ContextOverflowError: the view is over its budget (``auto=False`` and not compressed).
        """
        return self.request(provider, allow_open=allow_open).messages

    def request(self, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
        """Return messages, and the system blocks apart where the provider wants them so."""
        return self._delivery.deliver(self.window, provider, allow_open=allow_open)

    def render(self) -> dict[str, Any]:
        """Return the props of a chat component, JSON-ready: no system text, no strategy (seed 004 §3.4)."""
        props: dict[str, Any] = load_renderer()().render_chat(self)
        return props

    def to_json(self) -> str:
        """Return the session as JSON text, with a schema version; `from_json` restores the identical session."""
        with self._lock:
            policy = self.policy
            return snapshot.write(
                snapshot.SavedSession(
                    schema=snapshot.SCHEMA,
                    max_tokens=self.window.max_tokens + self._taken,
                    taken=self._taken,
                    auto=self.auto,
                    engine=self.engine,
                    cooldown=policy.cooldown,
                    preserved_share=self.window.preserved_share,
                    counter=snapshot.save_counter(self.window.counter),
                    threshold=snapshot.save_threshold(policy.threshold),
                    reach=policy.projector.reach,
                    events=self._events,
                    signals=policy.signals,
                )
            )

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        clock: Clock = _utc_now,
    ) -> "ContextSession":
        """Restore a session by replaying its journal; no model is called.

        What is no data (a summariser, a classifier, a counter or threshold of your own) is passed again.

        Raises:
            SnapshotError: no saved session, of an unknown schema, or with events that cannot have happened.
        """
        saved = snapshot.read(text)
        try:
            session = cls(
                saved.max_tokens,
                auto=saved.auto,
                engine=_known_engine(saved.engine),
                reserve=saved.taken,
                projector=projector or ContextProjector(reach=saved.reach),
                threshold=threshold or snapshot.load_threshold(saved.threshold),
                cooldown=saved.cooldown,
                counter=counter or snapshot.load_counter(saved.counter),
                classifier=classifier,
                preserved_share=saved.preserved_share,
                clock=clock,
            )
        except SnapshotError:
            raise
        except PolycontextError as error:
            raise SnapshotError("$", f"{type(error).__name__}: {error}", "what makes a session") from None
        session._machine.restore(*snapshot.replay_saved(saved.events, session.window))
        session._events = list(saved.events)
        for turn in journal.logged_turns(saved.events):
            session._log.append(turn)
        session.signal(saved.signals)
        return session

    # --- writing ---------------------------------------------------------

    def add_system(
        self, content: str, *, resource_class: ResourceClass | None = None, expected_revision: int | None = None
    ) -> ContextOutput:
        """Add a system turn."""
        return self.add(Turn(Role.SYSTEM, content, timestamp=self._clock()), resource_class, expected_revision)

    def add_user_turn(
        self, content: str, *, name: str | None = None, resource_class: ResourceClass | None = None, expected_revision: int | None = None
    ) -> ContextOutput:
        """Add what the user says."""
        return self.add(Turn(Role.USER, content, name=name, timestamp=self._clock()), resource_class, expected_revision)

    def add_assistant_turn(
        self,
        content: str | None = None,
        tool_calls: Calls = (),
        *,
        resource_class: ResourceClass | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add what the model says and calls; calls are `ToolCall`s or a provider's own objects."""
        calls = tuple(as_tool_call(call) for call in tool_calls)
        turn = Turn(Role.ASSISTANT, content, tool_calls=calls, timestamp=self._clock())
        return self.add(turn, resource_class, expected_revision)

    def add_tool_turn(
        self,
        content: str,
        *,
        tool_call_id: str,
        name: str | None = None,
        resource_class: ResourceClass | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add the result of an open call."""
        turn = Turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name, timestamp=self._clock())
        return self.add(turn, resource_class, expected_revision)

    def add(self, turn: Turn, resource_class: ResourceClass | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Take any turn through the machine; with `auto`, make room first where needed.

        Raises:
            IllegalDirectionError: not legal in this state (ContextPressureError in PRESSURED without `auto`).
            OrderError: the wrong moment of a tool call.
            ContextOverflowError: could not fit even after compressing everything that may yield.
            ConflictError: `expected_revision` is not the current one.
        """
        with self._lock:
            self._check_revision(expected_revision)
            with self._all_or_nothing():
                output = self._put(ContextInput.of_turn(self._stamped(turn), resource_class))
                return self._compress(self.policy.projector.fulfil(self._plan())) if self.auto and self._must_yield() else output

    def compress(self, target: float | None = None, *, query: str | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Compress to a target pressure (default: the threshold's low mark); the output reports what it did."""
        with self._lock:
            self._check_revision(expected_revision)
            self._check_direction(InputKind.COMPRESS)
            return self._compress(self.policy.projector.fulfil(self._plan(target), query=query))

    def clear(self, *, expected_revision: int | None = None) -> ContextOutput:
        """Forget the view; log and ledger keep all."""
        with self._lock:
            self._check_revision(expected_revision)
            with self._all_or_nothing():
                output = self._machine.advance(ContextInput.clear())
                self._events.append(journal.ClearEvent(output.state, self._clock()))
                return output

    def recall(self, resource_ids: Iterable[str], *, expected_revision: int | None = None) -> ContextOutput:
        """Raise atoms back to VERBATIM from the log; ids are those of any of their turns, or of a gist.

        Raises:
            UnknownResourceError: an id the log does not know.
            ContextOverflowError: the window would be pressured again at once.
            IllegalDirectionError: there is no view (EMPTY), or it is PRESSURED.
        """
        with self._lock:
            self._check_revision(expected_revision)
            if self.state in (ContextState.EMPTY, ContextState.PRESSURED):
                self._check_direction(InputKind.ASSISTANT_TURN)
            edit = recall_edit(self.window, self._log, resource_ids)
            after = apply_edit(self.window, edit, compressed=False)
            high = self.policy.threshold.high(self.policy.signals)
            if edit.splices and pressure_of(after) > high:
                raise ContextOverflowError(after.tokens, _most_at(high, after.max_tokens), "the view with what is recalled")
            return self._settle(journal.RecallEvent(self.state, edit, self._clock()), after) if edit.splices else self.output

    def promote(
        self, resource_id: str, resource_class: ResourceClass, *, rationale: str = "", expected_revision: int | None = None
    ) -> ContextOutput:
        """Raise the class of a turn; classes are never lowered.

        Raises:
            UnknownResourceError: no such id. DemotionError: the class is not higher.
        """
        with self._lock:
            self._check_revision(expected_revision)
            after = self.window.promote(resource_id, resource_class, rationale=rationale)
            return self._settle(journal.PromoteEvent(self.state, resource_id, resource_class, rationale, self._clock()), after)

    def signal(self, signals: Signals) -> None:
        """Tell the threshold how the task goes; the machine's guard asks it with these from now on."""
        with self._lock:
            self._machine.policy = evolve(self.policy, signals=signals)

    # --- async twins -----------------------------------------------------

    async def aadd(self, turn: Turn, resource_class: ResourceClass | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Take any turn through the machine without blocking on the summariser; raises what `add` raises, and changes nothing then."""
        async with self._one_task():
            mark, output = await self._aput(ContextInput.of_turn(self._stamped(turn), resource_class), expected_revision)
            if not (self.auto and self._must_yield()):
                return output
            revision = self.revision
            try:
                return await self._acompress(None, None)
            except BaseException as error:
                with self._lock:
                    if self.revision == revision:
                        self._back_to(mark)
                    elif isinstance(error, Exception):
                        # Somebody went on from this turn meanwhile: it stays, and making room is theirs.
                        return self.output
                raise

    async def aadd_system(self, content: str, **options: Any) -> ContextOutput:
        """Add a system turn; see `add_system`."""
        return await self.aadd(Turn(Role.SYSTEM, content), **options)

    async def aadd_user_turn(self, content: str, *, name: str | None = None, **options: Any) -> ContextOutput:
        """Add what the user says; see `add_user_turn`."""
        return await self.aadd(Turn(Role.USER, content, name=name), **options)

    async def aadd_assistant_turn(self, content: str | None = None, tool_calls: Calls = (), **options: Any) -> ContextOutput:
        """Add what the model says and calls; see `add_assistant_turn`."""
        calls = tuple(as_tool_call(call) for call in tool_calls)
        return await self.aadd(Turn(Role.ASSISTANT, content, tool_calls=calls), **options)

    async def aadd_tool_turn(self, content: str, *, tool_call_id: str, name: str | None = None, **options: Any) -> ContextOutput:
        """Add the result of an open call; see `add_tool_turn`."""
        return await self.aadd(Turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name), **options)

    async def acompress(self, target: float | None = None, *, query: str | None = None) -> ContextOutput:
        """Compress without blocking: plan, await the summaries, commit.

        Raises:
            ConflictError: another writer changed the window meanwhile; nothing changed here.
        """
        async with self._one_task():
            return await self._acompress(target, query)

    async def aclear(self) -> ContextOutput:
        """Forget the view; see `clear`."""
        async with self._one_task():
            return self.clear()

    async def arecall(self, resource_ids: Iterable[str]) -> ContextOutput:
        """Raise atoms back to VERBATIM; see `recall`."""
        async with self._one_task():
            return self.recall(resource_ids)

    async def _aput(self, context_input: ContextInput, expected_revision: int | None) -> tuple[_Mark, ContextOutput]:
        """Do what `_put` does; return what stood before as well."""
        self._check_revision(expected_revision)
        if not (self.auto and self.state is ContextState.PRESSURED):
            with self._lock:
                return self._mark(), self._append(context_input)
        self.window.check_order(context_input.turn)
        afulfil = self.policy.projector.afulfil
        try:
            return self._put_after(await afulfil(self._plan()), context_input)
        except ContextOverflowError:
            return self._put_after(await afulfil(self._plan(0.0)), context_input)

    async def _acompress(self, target: float | None, query: str | None) -> ContextOutput:
        self._check_direction(InputKind.COMPRESS)
        fulfilment = await self.policy.projector.afulfil(self._plan(target), query=query)
        with self._lock:
            return self._compress(fulfilment)

    # --- insides ---------------------------------------------------------

    def _one_task(self) -> asyncio.Lock:
        """Return the lock of the running event loop's tasks; a lock belongs to one loop, a session to nobody."""
        with self._lock:
            return self._task_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def _stamped(self, turn: Turn) -> Turn:
        """Return `turn` with a time of its own or now, to be counted here whatever the caller says."""
        if turn.timestamp is not EPOCH and turn.tokens is None:
            return turn
        return turn.stamped(self._clock() if turn.timestamp is EPOCH else turn.timestamp)

    def _put(self, context_input: ContextInput) -> ContextOutput:
        """Take a turn in; with `auto` and PRESSURED compress first, as gently as lets it fit."""
        if not (self.auto and self.state is ContextState.PRESSURED):
            return self._append(context_input)
        self.window.check_order(context_input.turn)
        fulfil = self.policy.projector.fulfil
        try:
            return self._put_after(fulfil(self._plan()), context_input)[1]
        except ContextOverflowError:
            return self._put_after(fulfil(self._plan(0.0)), context_input)[1]

    def _put_after(self, fulfilment: Fulfilment, context_input: ContextInput) -> tuple[_Mark, ContextOutput]:
        with self._lock, self._all_or_nothing() as mark:
            self._compress(fulfilment)
            return mark, self._append(context_input)

    def _append(self, context_input: ContextInput) -> ContextOutput:
        output = self._machine.advance(context_input)
        turn = output.window.extract()
        assert turn is not None
        self._log.append(turn)
        self._events.append(journal.TurnEvent(output.state, turn, output.window.class_of(turn)))
        return output

    def _must_yield(self) -> bool:
        """Tell whether a turn alone took the window over its budget: then `messages` could not be handed out."""
        return is_over_budget(self.window) and InputKind.COMPRESS in VALID_DIRECTIONS[self.state]

    @contextmanager
    def _all_or_nothing(self) -> Generator[_Mark]:
        """Put everything back if what is done inside raises."""
        mark = self._mark()
        try:
            yield mark
        except BaseException:
            self._back_to(mark)
            raise

    def _mark(self) -> _Mark:
        return _Mark(self.state, self.window, len(self._events), len(self._log.turns))

    def _back_to(self, mark: _Mark) -> None:
        self._machine.restore(mark.state, mark.window)
        del self._events[mark.events :]
        self._log.truncate(mark.turns)

    def _plan(self, target: float | None = None) -> Plan:
        """Plan down to `target`; without one, as automatic compression does."""
        projector, threshold = self.policy.projector, self.policy.threshold
        if target is not None:
            return projector.plan_for(self.window, target)
        return projector.plan_between(self.window, threshold.low, threshold.high(self.policy.signals))

    def _compress(self, fulfilment: Fulfilment) -> ContextOutput:
        with self._all_or_nothing():
            output = self._machine.advance(ContextInput(InputKind.COMPRESS, fulfilment))
            result = output.compression
            assert isinstance(result, CompressionResult)
            self._events.append(journal.CompressEvent(output.state, result.edit, self._clock()))
            return output

    def _settle(self, event: journal.Event, after: ContextWindow) -> ContextOutput:
        self._machine.restore(self.state, after)
        self._events.append(event)
        return self.output

    def _check_direction(self, kind: InputKind) -> None:
        if kind not in VALID_DIRECTIONS[self.state]:
            raise illegal(self.state, kind, VALID_DIRECTIONS[self.state])

    def _check_revision(self, expected: int | None) -> None:
        if expected is not None and expected != self.revision:
            raise ConflictError("session revision", expected, self.revision)


def _most_at(pressure: float, max_tokens: int) -> int:
    """Return the most tokens whose pressure is at most `pressure`, exact where the product is not."""
    most = int(pressure * max_tokens) + 1
    return most if most / max_tokens <= pressure else most - 1


def _machine(engine: Engine, window: ContextWindow, policy: ContextPolicy, state: ContextState = ContextState.EMPTY) -> _Machine:
    return ContextMachine(window, policy, state) if engine == "machine" else TableMachine(window, policy, state)


def _known_engine(name: str) -> Engine:
    if name not in ("machine", "table"):
        raise SnapshotError("$.engine", f"engine {name!r}", "machine, table")
    return "machine" if name == "machine" else "table"
