"""A machine that decides a step, and performs it once it stands; both by python-statemachine.

To *decide* is to select the enabled transitions: guards and validators run, nothing changes. To
*perform* is to take them: actions run. A session stores the step in between. Many threads and tasks
decide with one machine at once: each stands at its own state and window while it works on a step.
"""

import logging
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableSet
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, partial
from inspect import isawaitable, signature
from itertools import groupby
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from statemachine import State as DeclaredState
from statemachine import StateChart
from statemachine.engines.async_ import AsyncEngine
from statemachine.event_data import EventData, TriggerData
from statemachine.exceptions import AttrNotFound, InvalidDefinition
from statemachine.graph import iterate_states_and_transitions
from statemachine.orderedset import OrderedSet
from statemachine.transition import Transition
from statemachine.transition_list import TransitionList
from statemachine.utils import run_async_from_sync

from polycontext.base import InvalidOptionError, UnknownNameError, require
from polycontext.base.effects import Effect, Steps, adrive, drive
from polycontext.window import ContextWindow

from ..errors import SessionWriteError, illegal
from ..inputs import ContextInput, ContextOutput, Kind
from ..state import State, state_of
from .declaration import OwnStates
from .places import Places
from .step import Action, ContextPolicy, Step, default_policy
from .table import Table

# python-statemachine logs every step at debug level, about eleven lines a turn.
logging.getLogger("statemachine").setLevel(logging.INFO)

_LOG = logging.getLogger("polycontext.session")
_FAILED = "an action of the machine failed; the input stays accepted"
REFUSED = "event %s, sent by an action of the machine, was refused"
_ACTIONS = ("BEFORE@", "EXIT@", "ON@", "ENTER@", "AFTER@")
_RESERVED = frozenset({"key", "on_error"})
"""Arguments of events that the library cannot pass on; they are in `Step.kwargs` only."""

_ERRORS = 100
"""How many errors of actions a machine keeps."""

_FOLLOWING = 64
"""How many eventless transitions a step can take."""

_MOMENT: ContextVar["Moment | None"] = ContextVar("polycontext_moment", default=None)


class Moment:
    """Where a machine stands: between two steps, or as a context manager in this thread or task.

    A move leads to the window `after`. Between two steps, `place` has the states of all regions.
    """

    __slots__ = ("_token", "after", "model", "place", "state", "window")

    def __init__(
        self, model: object, state: Any, window: Any, after: Any = None, place: Any = None
    ) -> None:
        self.model, self.state, self.window = model, state, window
        self.after, self.place = after, place

    def __enter__(self) -> Self:
        self._token = _MOMENT.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _MOMENT.reset(self._token)
        self.model = None  # tasks that an action has created see it, too


class ContextModel:
    """The model of a machine: where the step of this thread or task stands, else the machine.

    `sent` holds the events that actions have sent.
    """

    def __init__(self) -> None:
        self.table: Table | None = None
        self.sent = deque[ContextInput]()

    @property
    def stands(self) -> Any:
        """Return what has the state and window between two steps."""
        return self._stands

    def stand(self, place: State, state: State, window: ContextWindow | None) -> None:
        """Change the place, the state in it, and the window between two steps."""
        self._stands = Moment(self, state, window, place=place)

    @property
    def now(self) -> Any:
        """Return what has the present state and window."""
        moment = _MOMENT.get()
        return moment if moment is not None and moment.model is self else self.stands

    @property
    def window(self) -> Any:
        """Return the window."""
        return self.now.window

    @property
    def state(self) -> Any:
        """Return the configuration, in python-statemachine's form."""
        return None if self.table is None else self.table.configurations[self.now.state]

    @state.setter
    def state(self, configuration: Any) -> None:
        """Move within a step, whose window then stands; nothing else moves the machine."""
        if isinstance(configuration, MutableSet):
            configuration = [None, *configuration][-1]
        leaf, now = configuration, self.now
        if now is not self.stands and leaf is not None:
            now.state = state_of(leaf)
            now.window = now.window if now.after is None else now.after


@cache
def _callback_keys(machine: "type[DecidingMachine]") -> frozenset[str]:
    """Return the keys of a class's callbacks, which take long to build."""
    return frozenset(
        spec.group.build_key(each._specs)
        for each in iterate_states_and_transitions(machine.states)
        for spec in each._specs
    )


class RegionModel(ContextModel):
    """The model of a region: it stands where its machine stands, and writes through it."""

    def __init__(self, machine: "DecidingMachine", number: int) -> None:
        super().__init__()
        self._machine, self._number, self.sent = machine, number, machine.model.sent
        if hasattr(machine.model, "write_event"):
            self.write_event = machine.model.write_event

    @property
    def stands(self) -> Any:
        """Return the state of this region between two steps."""
        now, places = self._machine.model.stands, self._machine.places
        return Moment(self, places.states(now.place)[self._number], now.window)


# --- what runs once in a step -----------------------------------------------------------

# python-statemachine would call the validators of every transition that it considers, and the
# actions only where they are performed. Guards look at the window that an action leads to, so a
# step runs the methods that are marked `once` before they are asked.

Guard = Callable[[Step], object]


class Duty(NamedTuple):
    """The methods that run before the guards of `rows` are asked, bound; the checks by name.

    The action `is_own` if a user wrote it.
    """

    checks: tuple[tuple[str, Callable[[Any], object]], ...]
    action: Action | None
    is_own: bool
    rows: tuple[Transition, ...]


def duties_in(machine: Any, state: State, kind: Kind) -> tuple[Duty, ...]:
    """Return the duties of an event, in the order in which its transitions are tried."""
    *_, root = (each for each in type(machine).__mro__ if len(getattr(each, "states", ())))
    rows = machine.table.cells[state][kind]
    found = list[Duty]()
    for (checks, action), moves in groupby(rows, partial(_names, machine, root, kind)):
        does = _method(machine, root, action) if action else None
        is_own = does is not None and does.__func__ is not getattr(root, action, None)
        held = tuple((each, _method(machine, root, each)) for each in checks)
        found.append(Duty(held, does, is_own, tuple(moves)))
    return tuple(found)


def guards_of(machine: Any, move: Transition) -> tuple[Guard, ...] | None:
    """Return the guards of a transition, None if one is no method of the machine with a step alone.

    Validators that remain, and callbacks of listeners, are none either.
    """
    asked = machine._callbacks
    if [*asked[move.validators.key], *asked[machine.prepare.key]]:
        return None
    guards = [*asked[move.cond.key]]
    if any(each.unique_key != f"{each}@{id(machine)}" for each in guards):
        return None
    methods = tuple(getattr(machine, str(each)) for each in guards)
    takes_step = all(callable(m) and [*signature(m).parameters] == ["step"] for m in methods)
    return methods if takes_step else None


def _method(machine: Any, root: Any, name: str) -> Any:
    """Return a method that takes a step; one of its name that does not, a guard, hides none."""
    method, hidden = getattr(machine, name), getattr(root, name, None)
    takes_step = [*signature(method).parameters] == ["step"]
    return method if takes_step or hidden is None else MethodType(hidden, machine)


def _names(machine: Any, root: Any, kind: Kind, move: Transition) -> tuple[tuple[str, ...], str]:
    """Return the names of the validators and the action of a transition.

    One that a subclass declares for a built-in event has those of the event, too; without them a
    turn would be lost. Each transition has `in_order`.
    """
    cells = root.table.cells.values()
    moves = [*[cell[kind][0] for cell in cells if kind in cell][:1], move]
    checks = [each for one in moves for each in _once(machine, one.validators)]
    actions = [each for one in moves for each in _once(machine, one.on)]
    first = ["in_order"] if "in_order" in machine.once else []
    return tuple(dict.fromkeys([*first, *checks])), actions[-1] if actions else ""


def _once(machine: Any, specs: Any) -> Iterator[str]:
    return (name for name in map(str, specs) if name in machine.once)


def withdraw(machine: Any) -> None:
    """Take the methods that run once from those that python-statemachine calls."""
    for state in machine.states_map.values():
        for move in state.transitions:
            for specs in (move.validators, move.on):
                items = machine._callbacks[specs.key].items
                for each in [each for each in items if str(each) in machine.once]:
                    items.remove(each)


# --- the machine ------------------------------------------------------------------------


def _refuse_state(_machine: object, _state: object) -> None:
    advice = "Use session.send with an event that leads there"
    raise SessionWriteError("events alone change the state", advice)


class DecidingMachine(StateChart[Any], metaclass=OwnStates):
    """A machine of python-statemachine that decides before it performs."""

    if not TYPE_CHECKING:
        current_state = StateChart.current_state.setter(_refuse_state)
        current_state_value = StateChart.current_state_value.setter(_refuse_state)

    table: ClassVar[Table]
    places: ClassVar[Places]
    regions: ClassVar[Mapping[str, Any]] = {}
    """The machines that stand beside this one, by name: subclasses of `Region`."""
    always: ClassVar[Iterable[str]] = ()
    """The events that every state of a region accepts, and that lead to no other."""

    # The library's defaults swallow illegal events and exceptions; this machine must raise.
    allow_event_without_transition = False
    enable_self_transition_entries = False
    atomic_configuration_update = True
    catch_errors_as_events = False

    def __init__(
        self,
        window: ContextWindow | None = None,
        policy: ContextPolicy | None = None,
        place: Any = None,
        *,
        model: Any = None,
        **options: Any,
    ) -> None:
        fits = window is None or isinstance(window, ContextWindow)
        require("window", window, fits, "a ContextWindow, such as ContextWindow(8000)")
        self.policy = policy or default_policy()
        self.errors: deque[Exception] = deque(maxlen=_ERRORS)
        self.failures = 0
        self._duties: dict[tuple[State, Kind], tuple[Duty, ...]] = {}
        self._guards: dict[Transition, tuple[Guard, ...] | None] = {}
        self._active: dict[State, OrderedSet[DeclaredState]] = {}
        self.parts: tuple[DecidingMachine, ...] = (self,)
        if model is None:
            model, place = ContextModel(), self.table.initial if place is None else state_of(place)
            model.stand(place, self.places.states(place)[0], window)
        model.table = self.table
        try:
            super().__init__(model, **options)
        except InvalidDefinition as error:
            named = re.findall(r"'(\w+)'", str(error.__cause__))
            if not isinstance(error.__cause__, AttrNotFound) or not named:
                raise
            advice = f"Define it in {type(self).__name__}, or in a listener."
            names = tuple(dir(type(self)))
            raise UnknownNameError("method", named[0], names, advice=advice) from error
        self._instances = self._config._instance_states
        for state in self._instances.values():
            # A class body adds to the lists of the class, even one that fails.
            vars(state)["transitions"] = TransitionList(state.transitions)
        withdraw(self)
        for number, region in enumerate(self.regions.values(), 1):
            part = region(policy=self.policy, model=RegionModel(self, number), **options)
            self.parts = (*self.parts, part)
        self._inspect_callbacks()

    # --- deciding -----------------------------------------------------------------

    def decide(self, step: Step, place: State) -> State:
        """Select the transitions of a step in `place`, and return the place that it leads to.

        Each region that knows the event takes part. Guards and validators run; nothing changes but
        `step.moves`.

        Raises:
            IllegalDirectionError: `place` or its guards refuse (ContextPressureError in PRESSURED).
            UnknownNameError: no state has such an event.
            InvalidOptionError: eventless transitions never end, or `in_order` returns something.
            Any error that a validator or guard raises.
        """
        places, kind = self.places, step.input.kind
        states, legal = places.at(place)
        if kind not in legal:
            places.check(place, kind)
        reached = [*states]
        for step.region, part in enumerate(self.parts):
            if kind in part.table.kinds:
                if step.region:
                    step.since = step.entered.get([*places.initial][step.region - 1])
                state = part.select(step, states[step.region])
                if state is None:
                    raise illegal(states[step.region], kind, legal)
                reached[step.region] = state
        return places.place(tuple(reached)) if places.initial else reached[0]

    def select(self, step: Step, state: State) -> State | None:
        """Return where the transitions of this region lead, None if its guards refuse the event.

        They are that of the event, and then eventless ones.
        """
        event = step.input.kind
        if (duties := self._duties.get((state, event))) is None:
            duties = self._duties[state, event] = duties_in(self, state, event)
        with Moment(self.model, state, step.window) as here:
            for duty in duties:
                if not step.is_recorded:
                    # The action says where the step leads before a validator asks.
                    if not step.region and duty.action is not step.action:
                        step.attempt(duty.action, is_own=duty.is_own)
                    for name, check in duty.checks:
                        if (said := check(step)) is not None:
                            legal = f"an error that {name} raises to refuse"
                            raise InvalidOptionError(name, said, legal)
                if self._follow(step, here, event, duty.rows):
                    break
            else:
                return None
            if self.table.goes_on:
                here.window = step.after
                self._go_on(step, here)
            return here.state  # type: ignore[no-any-return]

    def _follow(
        self, step: Step, here: Moment, event: Kind | None, rows: Collection[Transition]
    ) -> bool:
        """Return whether one of `rows` is taken now; then it is one of the moves."""
        for row in rows:
            if self._is_enabled(step, event, row):
                step.moves = (*step.moves, (self, here.state, row, event))
                here.state = self.table.leaves[row]
                return True
        return False

    def _is_enabled(self, step: Step, event: Kind | None, row: Transition) -> bool:
        """Return whether the guards of a transition hold; its other validators may raise."""
        if row not in self._guards:
            self._guards[row] = guards_of(self, row)
        guards = self._guards[row]
        if guards is not None:
            return all(guard(step) for guard in guards)
        # The library's callbacks take arguments by their names.
        asked, told = self._callbacks, EventData(self._trigger(step, event), row)
        args, kwargs = told.args, told.extended_kwargs
        for more in asked.call(self.prepare.key, *args, **kwargs):
            kwargs.update(more)
        try:
            asked.call(row.validators.key, *args, **kwargs)
            return bool(asked.all(row.cond.key, *args, **kwargs))
        except TypeError as error:
            if "missing" not in str(error):
                raise
            legal = "guards of (self, step): step.input has the turn, step.after the view"
            raise InvalidOptionError(f"guard of {event}", str(error), legal) from error

    def _go_on(self, step: Step, here: Moment) -> None:
        """Follow eventless transitions, and the event of a final state that is entered."""
        table = self.table
        for _ in range(_FOLLOWING):
            done, cell = table.done(here.state), table.eventless[here.state]
            if not self._follow(step, here, None, cell) and not (
                done and self._follow(step, here, done, table.cells[here.state].get(done, ()))
            ):
                return
        name, last = f"machine {type(self).__name__}", str(step.moves[-1][2])
        raise InvalidOptionError(name, last, "eventless transitions that come to an end")

    def retrace(self, step: Step, place: State, reached: State) -> Step:
        """Return `step` with transitions from `place` to the `reached` one, as a journal has it.

        They are those that the guards choose, or else the first that were declared.
        """
        with suppress(Exception):
            if self.decide(step, place) == reached:
                return step
        step.moves, states = (), self.places.states
        for part, state, wanted in zip(self.parts, states(place), states(reached), strict=True):
            paths, here = part.table.paths(state, step.input.kind), state
            for event, move in next((path for path, leaf in paths if leaf == wanted), ()):
                step.moves = (*step.moves, (part, here, move, event))
                here = part.table.leaves[move]
        return step

    def _trigger(self, step: Step, event: Kind | None) -> TriggerData:
        own = {name: step.kwargs[name] for name in step.kwargs if name not in _RESERVED}
        sent: Any = getattr(self, event or "", None)
        return TriggerData(self, sent, args=step.args, kwargs={**own, "step": step})

    # --- performing ---------------------------------------------------------------

    def perform(self, step: Step) -> Steps[None]:
        """Take the selected transitions of a step that stands; actions and listeners run.

        An error in one is logged and kept in `errors`.
        """
        for part, state, move, event in step.moves if self.acts else ():
            window = step.window if event == step.input.kind else step.after
            at, trigger = (state, window, step.after), part._trigger(step, event)
            try:
                yield Effect(
                    partial(part._act, at, move, trigger), partial(part._aact, at, move, trigger)
                )
            except Exception as error:  # noqa: BLE001 - an action cannot undo what stands
                self.errors.append(error)
                self.failures += 1
                _LOG.exception(_FAILED)

    def _act(self, at: tuple[Any, ...], move: Transition, trigger: TriggerData) -> None:
        if isinstance(self._engine, AsyncEngine):
            run_async_from_sync(self._aact(at, move, trigger))
            return
        with Moment(self.model, *at):
            self._engine.clear_cache()
            self._engine.microstep([move], trigger)

    async def _aact(self, at: tuple[Any, ...], move: Transition, trigger: TriggerData) -> None:
        with Moment(self.model, *at):
            self._engine.clear_cache()
            acted: Any = self._engine.microstep([move], trigger)
            if isawaitable(acted):
                await acted

    def add_listener(self, *listeners: object) -> Any:
        """Add listeners to all regions; their callbacks run as actions."""
        for part in self.parts[1:]:
            part.add_listener(*listeners)
        super().add_listener(*listeners)  # type: ignore[no-untyped-call]
        self._guards.clear()
        self._callbacks.async_or_sync()  # type: ignore[no-untyped-call]
        if self._callbacks.has_async_callbacks:
            self._engine = AsyncEngine(self)
        self._inspect_callbacks()
        return self

    def _inspect_callbacks(self) -> None:
        """Set `acts`: whether there is an action. Refuse callbacks that nothing would run."""
        keys = _callback_keys(type(self))
        found = {key: called for key in keys if (called := [*self._callbacks[key]])}
        self.acts = any(key.startswith(_ACTIONS) for key in found)
        self.acts |= any(part.acts for part in self.parts[1:])
        for key, callbacks in found.items():
            if key.startswith("INVOKE@"):
                legal = "on_enter to start the work, and an event that brings its result"
            elif not key.startswith(_ACTIONS) and any(each._iscoro for each in callbacks):
                legal = (
                    "guards and validators that are no coroutine functions: they run under a lock"
                )
            else:
                continue
            name = f"machine {type(self).__name__}"
            raise InvalidOptionError(name, ", ".join(map(str, callbacks)), legal)

    @property
    def configuration(self) -> OrderedSet[DeclaredState]:
        """Return the active states, resolved once for each state of the machine.

        The library keeps the last ones only, which threads would take from each other.
        """
        leaf = self.model.now.state
        if leaf not in self._active:
            values = self.table.configurations[leaf]
            nested = values if isinstance(values, MutableSet) else (values,)
            self._active[leaf] = OrderedSet(self._instances[value] for value in nested)
        return self._active[leaf]

    @configuration.setter
    def configuration(self, new_configuration: OrderedSet[DeclaredState]) -> None:
        self.model.state = OrderedSet(state.value for state in new_configuration)

    # --- driving ------------------------------------------------------------------

    @property
    def context_state(self) -> Any:
        """Return the machine's current state."""
        return self.model.now.state

    @property
    def window(self) -> ContextWindow:
        """Return the window; only inputs change it."""
        window: ContextWindow = self.model.window
        return window

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Process one input and return the output, or raise and change nothing."""
        output: ContextOutput = self.write(context_input)
        return output

    def write(self, event: object, *args: Any, **kwargs: Any) -> Any:
        """Return the output of an event, or an awaitable of it if an action is a coroutine.

        The model of a session's machine writes it (`write_event`).
        """
        write_event = getattr(self.model, "write_event", None)
        if write_event is not None:
            return write_event(event, args, kwargs)
        given = event if isinstance(event, ContextInput) else None
        given = given or ContextInput.named(str(event), *args, **kwargs)
        if self.model.now is not self.model.stands:
            self.model.sent.append(given)
            return ContextOutput(self.window, self.context_state)
        return (adrive if self.awaits else drive)(self._take(given))

    @property
    def awaits(self) -> bool:
        """Return whether an action is a coroutine function."""
        return any(isinstance(part._engine, AsyncEngine) for part in self.parts)

    def _take(self, given: ContextInput) -> Steps[ContextOutput]:
        """Take an input, then the events that actions send; a refused one of these is logged."""
        output = yield from self._advance(given)
        while self.model.sent:
            given = self.model.sent.popleft()
            try:
                yield from self._advance(given)
            except Exception:  # noqa: BLE001 - as an error of an action
                _LOG.exception(REFUSED, given.kind)
        return output

    def _advance(self, given: ContextInput) -> Steps[ContextOutput]:
        step = Step(given, self.window, self.policy)
        place = self.decide(step, self.model.stands.place)
        self.restore(place, step.after)
        yield from self.perform(step)
        return step.output(**self.places.standing(place))

    def restore(self, place: State, window: ContextWindow) -> None:
        """Set the machine to the `place` and `window` of a journal."""
        self.model.stand(place, self.places.states(place)[0], window)

    def _put_nonblocking(
        self,
        trigger_data: TriggerData,
        internal: bool = False,  # noqa: FBT001, FBT002 - the library's signature
    ) -> None:
        """Write an event in place of queueing it.

        Both ``machine.send`` and ``machine.user_turn`` pass through here.
        """
        name = str(trigger_data.event)
        if internal and name.startswith("done."):
            return  # `decide` has already gone on from the final state
        if delay := getattr(trigger_data.event, "delay", 0):
            raise InvalidOptionError("delay", delay, "None: guard the event by after(seconds)")
        trigger_data.future = self.write(name, *trigger_data.args, **trigger_data.kwargs)

    def _processing_loop(self, caller_future: Any | None = None) -> Any:
        """Return the output, or an awaitable of it: the event has been written."""
        return caller_future


class Region(DecidingMachine):
    """A machine beside the context's, such as an approval; name it in `ContextMachine.regions`.

    It decides the events that it declares, together with the other regions that declare them: all
    of them must accept. It hears nothing of other events (docs/machine.md, "Regions").
    """
