"""What the machine relies on in python-statemachine, part of it private.

If a new release fails here, read `declaration.py` and `engine.py` before you change the pin in
pyproject.toml. docs/decisions/2026-11-28-one-engine.md lists what should change upstream.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import statemachine
from statemachine import State, StateChart
from statemachine.engines.async_ import AsyncEngine
from statemachine.engines.sync import SyncEngine
from statemachine.event import Event
from statemachine.event_data import EventData, TriggerData
from statemachine.exceptions import TransitionNotAllowed

from tests.house import ROOT

PRIVATE = {
    "_callbacks": "test_callbacks_are_registered_under_their_group",
    "_config": "test_a_configuration_keeps_one_resolved_value",
    "_engine": "test_callbacks_are_registered_under_their_group",
    "_instance_states": "test_a_configuration_keeps_one_resolved_value",
    "_iscoro": "test_callbacks_are_registered_under_their_group",
    "_processing_loop": "test_an_event_passes_through_two_methods",
    "_put_nonblocking": "test_an_event_passes_through_two_methods",
    "_set_id": "test_what_a_state_does_is_copied_with_it",
    "_specs": "test_what_a_state_does_is_copied_with_it",
    "_transitions": "test_what_a_state_does_is_copied_with_it",
}
"""The private names of the library that the machine uses, each with the test of what it does."""


class Door(StateChart[Any]):
    """A machine with one guarded transition, written down by its actions."""

    allow_event_without_transition = False
    atomic_configuration_update = True
    catch_errors_as_events = False

    closed = State(initial=True)
    opened = State()
    unlock = closed.to(opened, cond="has_key") | opened.to.itself(internal=True)  # type: ignore[no-untyped-call]
    close = opened.to(closed)

    def __init__(self, **options: Any) -> None:
        self.ran: list[str] = []
        super().__init__(**options)

    def has_key(self, by: str = "") -> bool:
        """Return whether somebody has the key."""
        return bool(by)

    def on_enter_opened(self, by: str) -> None:
        """Write down that the door is open."""
        self.ran.append(f"opened by {by}")


def trigger(machine: Any, event: str, **kwargs: Any) -> TriggerData:
    """Return a trigger as the machine builds it."""
    return TriggerData(machine, getattr(machine, event), args=(), kwargs=kwargs)


def test_few_private_names_are_used_and_each_has_a_test() -> None:
    """A new one belongs in the table above, with a test."""
    used, theirs = (
        {name for file in folder.rglob("*.py") for name in re.findall(mark, file.read_text())}
        for folder, mark in (
            (ROOT / "polynomial/machine", r"(?:\.|def )(_[a-z]\w+)"),
            (Path(statemachine.__file__).parent, r"(?<!\w)_[a-z]\w+"),
        )
    )
    # Names of our own that the library happens to use, too.
    ours = {"_active", "_initial", "_machine", "_targets"}
    assert (used & theirs) - ours == PRIVATE.keys()
    assert all(globals()[test] for test in PRIVATE.values())
    assert len(PRIVATE) <= 10


def test_asking_guards_changes_nothing() -> None:
    """Guards are asked with the arguments of an event; actions run only in `microstep`."""
    door = Door()
    engine, move = SyncEngine(door), Door.closed.transitions[0]

    def is_enabled(**kwargs: Any) -> bool:
        told = EventData(trigger(door, "unlock", **kwargs), move)
        return bool(door._callbacks.all(move.cond.key, *told.args, **told.extended_kwargs))

    assert not is_enabled()
    assert is_enabled(by="ana")
    assert (door.ran, door.closed.is_active) == ([], True)
    engine.microstep([move], trigger(door, "unlock", by="ana"))
    assert (door.ran, door.opened.is_active) == (["opened by ana"], True)


def test_a_configuration_keeps_one_resolved_value() -> None:
    """So a configuration that threads share must keep one for each state (`Standing`)."""
    door = Door()
    assert door.configuration is door.configuration
    built = door._config
    assert [*built._instance_states] == ["closed", "opened"]


def test_a_machine_that_stands_somewhere_is_not_started() -> None:
    """The model's state is taken; the initial state is not entered again."""

    class Model:
        state = "opened"

    assert Door(model=Model()).ran == []


def test_states_are_shared_between_a_class_and_its_subclass() -> None:
    """So each machine class makes copies, and a failed class body must be cleaned up."""

    class Gate(Door):
        """A subclass."""

    assert Gate.closed is Door.closed
    door = Door()
    before = len(door.closed.transitions)
    late = Door.closed.to(Door.opened)
    assert len(door.closed.transitions) == before + 1  # an instance sees it, too
    Door.closed.transitions.transitions.remove(late[0])


def test_transitions_from_any_state_come_last_and_only_under_a_name() -> None:
    """So they are moved to the front, and `from_.any(event=...)` needs a name."""

    class Gate(StateChart[Any]):
        """A machine that can be broken anywhere."""

        shut = State(initial=True)
        broken = State()
        smash = broken.from_.any()  # type: ignore[no-untyped-call]
        mend = broken.to(shut)
        hit = shut.to.itself()  # type: ignore[no-untyped-call]

    assert [str(move.event) for move in Gate.shut.transitions] == ["hit", "smash"]


def test_a_final_substate_raises_an_internal_event() -> None:
    """It passes through `_put_nonblocking`, where the machine ignores it."""
    put: list[tuple[str, bool]] = []

    class Work(StateChart[Any]):
        """A machine with a compound state."""

        class work(State.Compound, name="work"):  # noqa: N801 - a state
            """The compound state."""

            begun = State(initial=True)
            ended = State(final=True)
            end = begun.to(ended)

        idle = State()
        begin = idle.to(work)
        done_state_work = work.to(idle)

        def _put_nonblocking(self, trigger_data: TriggerData, internal: bool = False) -> None:
            put.append((str(trigger_data.event), internal))
            super()._put_nonblocking(trigger_data, internal=internal)

    machine = Work()
    machine.send("end")
    assert put == [("end", False), ("done.state.work", True)]
    assert "done.state.work" in Work._events
    initial = [move for move in Work.work.transitions if move.initial]  # type: ignore[attr-defined]
    assert [move.target.id for move in initial] == ["begun"]


def test_some_keywords_are_dropped_and_some_raise() -> None:
    """So the machine passes them in `step.kwargs` only."""
    data = Door.unlock.build_trigger(machine=Door(), target=1, source=2, by="ana")
    assert data.kwargs == {"by": "ana"}
    with pytest.raises(TypeError, match="key"):
        Door().send("unlock", key="ana")
    with pytest.raises(TypeError, match="on_error"):
        Door().send("unlock", on_error="ana")


def test_an_error_of_an_action_restores_the_configuration() -> None:
    """A step stops at the first error; the machine keeps its state beside the engine's."""

    class Broken(Door):
        """A door whose action fails."""

        def before_unlock(self) -> None:
            """Fail."""
            raise OSError("stuck")

    door = Broken()
    with pytest.raises(OSError, match="stuck"):
        door._engine.microstep([Door.closed.transitions[0]], trigger(door, "unlock", by="ana"))
    assert (door.ran, door.closed.is_active) == ([], True)
    with pytest.raises(TransitionNotAllowed):
        door.send("close")


def test_callbacks_are_registered_under_their_group() -> None:
    """So the machine knows whether anything acts, and finds coroutine guards."""

    class Listener:
        async def after_unlock(self) -> None:
            """Do nothing."""

    door = Door()
    found = {key.partition("@")[0] for key, each in door._callbacks._registry.items() if [*each]}
    assert found == {"COND", "ENTER"}
    listening = Door(listeners=[Listener()])
    assert isinstance(listening._engine, AsyncEngine)
    groups = {
        key.partition("@")[0]
        for key, each in listening._callbacks._registry.items()
        if any(callback._iscoro for callback in each)
    }
    assert groups == {"AFTER"}


def test_an_event_passes_through_two_methods() -> None:
    """The machine overrides both: one puts an event, the other returns what it leads to."""
    seen = list[str]()

    class Watched(Door):
        """A door that writes down what passes."""

        def _put_nonblocking(self, trigger_data: TriggerData, internal: bool = False) -> None:
            seen.append(str(trigger_data.event))
            trigger_data.future = "written"

        def _processing_loop(self, caller_future: Any | None = None) -> Any:
            return caller_future

    door: Any = Watched()
    assert door.unlock(by="ana") == door.send("unlock", by="ana") == "written"
    assert seen == ["unlock", "unlock"]


def test_what_a_state_does_is_copied_with_it() -> None:
    """A copied state has no id and no callbacks; an `Event` holds its transitions."""
    copied = State("Closed", "closed")
    copied._set_id("shut")
    assert (copied.id, [*copied._specs]) == ("shut", [])
    move = Door.closed.transitions[0]
    assert [str(spec) for spec in move._specs if not spec.is_convention] == ["has_key"]
    assert [*Event(copied.to(copied), name="Stay")._transitions] == [*copied.transitions]  # type: ignore[misc]
