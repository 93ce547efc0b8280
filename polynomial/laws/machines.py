"""The laws of the machine: guards decide the state, and refused inputs change nothing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from attrs import evolve

from polycontext.base import PolycontextError
from polycontext.base.law import agree, holds, law
from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, pressure_of
from polycontext.pressure.threshold import mark_above
from polycontext.window import ContextWindow, Turn
from polycontext.window.part_removal import says_all_of

from ..inputs import ContextInput, ContextOutput, InputKind, Kind
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy, is_over_budget
from ..state import ContextState, State

_MACHINE = "docs/machine.md"


MachineClass = Callable[[ContextWindow, ContextPolicy], Any]
"""An engine: it has `context_state`, `window` and `advance`, as `ContextMachine` has."""
Inputs = Sequence[ContextInput]
Stand = tuple[State, ContextWindow]


def new_window_like(window: ContextWindow) -> ContextWindow:
    """Return a new window of the same budget and counter."""
    return ContextWindow(
        window.max_tokens, counter=window.counter, preserved_share=window.preserved_share
    )


def _advance(
    machine: MachineClass, window: ContextWindow, policy: ContextPolicy, inputs: Inputs
) -> Iterator[tuple[ContextInput, Stand, ContextOutput | None, Stand]]:
    """Yield each input, state and window before it, output (None if refused), and those after."""
    one = machine(new_window_like(window), policy)
    for context_input in inputs:
        before, output = (one.context_state, one.window), None
        with suppress(PolycontextError):
            output = one.advance(context_input)
        yield context_input, before, output, (one.context_state, one.window)


@law(_MACHINE)
def a_refused_input_changes_nothing(
    machine: MachineClass, window: ContextWindow, policy: ContextPolicy, inputs: Inputs
) -> None:
    """An input that is illegal, out of order or too large raises and changes nothing."""
    for context_input, before, output, after in _advance(machine, window, policy, inputs):
        if output is None:
            agree(after, before, context_input=context_input)


@law(_MACHINE)
def the_state_is_what_the_guards_say(
    machine: MachineClass, window: ContextWindow, policy: ContextPolicy, inputs: Inputs
) -> None:
    """A turn leads to PRESSURED above the high mark or over budget.

    Otherwise it leads to COMPRESSED while cooling down, else to ACCUMULATING. Compress always leads
    to COMPRESSED, and clear to EMPTY. Any other change to the view or its budget leads to EMPTY if
    the view is empty, and follows the rule for turns if it is not. A state that a subclass adds,
    and guards that it overrides, are its own concern.
    """
    if _has_own_guards(machine):
        return
    for context_input, _, output, (state, _) in _advance(machine, window, policy, inputs):
        if output is not None and isinstance(state, ContextState):
            expected = _expected(context_input.kind, output.window, policy)
            agree((output.state, state), (expected, expected), context_input=context_input)


def _has_own_guards(machine: MachineClass) -> bool:
    guards = ("is_empty", "is_pressured", "is_cooling")
    return (isinstance(machine, type) and issubclass(machine, ContextMachine)) and any(
        getattr(machine, guard) is not getattr(ContextMachine, guard) for guard in guards
    )


def _expected(kind: Kind, window: ContextWindow, policy: ContextPolicy) -> ContextState:
    if kind is InputKind.COMPRESS:
        return ContextState.COMPRESSED
    if kind is InputKind.CLEAR or not len(window):
        return ContextState.EMPTY
    high = policy.threshold.high(policy.signals)
    if policy.auto:
        high = mark_above(policy.projector.floor(window) / window.max_tokens, high)
    if pressure_of(window) > high or is_over_budget(window):
        return ContextState.PRESSURED
    since = window.turns_since_compression
    cooling = since is not None and since < policy.cooldown
    return ContextState.COMPRESSED if cooling else ContextState.ACCUMULATING


@law(_MACHINE)
def no_compression_goes_below_a_floor(
    machine: MachineClass,
    projector: ContextProjector,
    window: ContextWindow,
    policy: ContextPolicy,
    inputs: Inputs,
) -> None:
    """A compression keeps each atom at or above its class's floor, or is refused without effect."""
    steps = _advance(machine, window, evolve(policy, projector=projector), inputs)
    for context_input, before, output, after in steps:
        told = {"before": before[1], "after": after[1], "context_input": context_input}
        if output is None:
            agree(after, before, context_input=context_input)
        elif context_input.kind is InputKind.COMPRESS:
            sunk = _below_floors(before[1], after[1])
            holds(not sunk, "no atom below its floor", sunk, **told)


def _below_floors(before: ContextWindow, after: ContextWindow) -> list[str]:
    """Return the ids of atoms that are kept below the floor of their class."""
    standing = {turn.resource_id: turn for turn in after.all_turns()}
    told = {source for turn in after.all_turns() for source in turn.sources}
    sunk = []
    for atom in before.atoms():
        highest = max(map(before.class_of, atom.turns))
        whole = all(says_all_of(standing.get(turn.resource_id), turn) for turn in atom.turns)
        traced = any(
            turn.resource_id in standing or not told.isdisjoint(turn.sources or (turn.resource_id,))
            for turn in atom.turns
        )
        if not (
            whole
            or (traced and highest is ResourceClass.REQUIRED)
            or highest is ResourceClass.DROPPABLE
        ):
            sunk.append(atom.id)
    return sunk


# --- epochs ----------------------------------------------------------------------------

_EPOCHS = (
    "docs/providers.md; "
    "platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
)


@law(_EPOCHS)
def what_is_bound_stands_behind_what_it_was_made_on(
    machine: MachineClass, window: ContextWindow, policy: ContextPolicy, inputs: Inputs
) -> None:
    """A bound part in the view follows the same unchanged turns and parts as when it was added."""
    made_on: dict[str, tuple[Turn, ...]] = {}
    for context_input, _, _, (_, after) in _advance(machine, window, policy, inputs):
        turns = after.all_turns()
        for index, turn in enumerate(turns):
            if any(part.is_bound for part in turn.parts):
                before = made_on.setdefault(turn.resource_id, turns[:index])
                agree(turns[:index], before, turn=turn, context_input=context_input)
