"""What the machine relies on in python-statemachine, part of it private.

If a new release fails here, read `declaration.py` and `engine.py` before you change the pin in
pyproject.toml. docs/decisions/2026-11-28-one-engine.md lists what should change upstream.
"""

import re
from pathlib import Path
from typing import Any

import statemachine
from statemachine import State, StateChart
from statemachine.engines.async_ import AsyncEngine
from statemachine.event import Event
from statemachine.event_data import TriggerData

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
    """A machine with one guarded transition, and an action."""

    allow_event_without_transition = False
    atomic_configuration_update = True
    catch_errors_as_events = False

    closed = State(initial=True)
    opened = State()
    unlock = closed.to(opened, cond="has_key") | opened.to.itself(internal=True)  # type: ignore[no-untyped-call]

    def has_key(self, by: str = "") -> bool:
        """Return whether somebody has the key."""
        return bool(by)

    def on_enter_opened(self) -> None:
        """Do nothing."""


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


def test_a_configuration_keeps_one_resolved_value() -> None:
    """So a configuration that threads share must keep one for each state (`Standing`)."""
    door = Door()
    assert door.configuration is door.configuration
    built = door._config
    assert [*built._instance_states] == ["closed", "opened"]


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
