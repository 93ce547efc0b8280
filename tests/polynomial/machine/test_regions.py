"""Regions: machines that stand beside the context's, each in a state of its own."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial import ContextMachine, ContextSession, IllegalDirectionError
from polycontext.polynomial.machine import Region, after, once
from polycontext.polynomial.machine.declaration import OwnStates
from polycontext.window import ContextWindow
from tests.polynomial.conversations import NOON, Clock


class Turns(Region):
    """Whose turn it is; two regions may have states of the same names."""

    off: Any = State("OFF", value="OFF", initial=True)
    on: Any = State("ON", value="ON")
    flip = off.to(on) | on.to(off)
    give_up = on.to(off, cond=after(60))
    user_turn = off.to.itself()
    always = ("note",)


class Lamp(Region):
    """A lamp, which is put out when the view is cleared."""

    off: Any = State("OFF", value="OFF", initial=True)
    on: Any = State("ON", value="ON")
    light = off.to(on)
    clear = off.from_.any()
    dim = on.to(off, cond=after(600))


class Both(ContextMachine):
    """A machine with both."""

    regions: ClassVar = {"turns": Turns, "lamp": Lamp}


def test_regions_stand_apart(tmp_path: Path) -> None:
    """Each moves by its own events; rewinds and erasures know the states of all."""
    file, clock = tmp_path / "s.db", Clock()
    with ContextSession.open(file, "s", max_tokens=4000, machine=Both, clock=clock) as session:
        session.add_user_turn("Hello.")
        session.send("flip")
        session.send("note", "anything")
        assert session.regions == {"turns": "ON", "lamp": "OFF"}
        session.send("light")
        assert session.history.events()[-1].state == "ACCUMULATING+turns:ON+lamp:ON"
        with pytest.raises(IllegalDirectionError, match="user_turn is not allowed in state ON"):
            session.add_user_turn("And now?")
        session.clear()
        assert (session.state, session.regions) == ("EMPTY", {"turns": "ON", "lamp": "OFF"})
        session.history.rewind(4)
        assert (session.state, session.regions) == ("ACCUMULATING", {"turns": "ON", "lamp": "ON"})
        session.history.forget("t1")
        assert session.regions == {"turns": "ON", "lamp": "ON"}
    with ContextSession.open(file, "s", machine=Both) as session:
        assert session.regions == {"turns": "ON", "lamp": "ON"}
    with pytest.raises(InvalidDataError, match=r"no state ACCUMULATING\+turns:ON.*Both"):
        ContextSession.open(file, "s")


def test_a_timer_counts_from_when_its_own_region_entered_its_state(tmp_path: Path) -> None:
    """What other regions do in between does not begin it again; a snapshot keeps it."""
    clock = Clock()
    with ContextSession.open(
        tmp_path / "s.db", "s", max_tokens=4000, machine=Both, clock=clock
    ) as session:
        session.add_user_turn("Hello.")
        session.send("light")
        clock.now += timedelta(seconds=300)
        session.send("flip")
        session.compress(0.5)
        assert session.tick(NOON + timedelta(seconds=350)) == ()
        assert session.tick(NOON + timedelta(seconds=360)) == ("give_up",)
        assert session.regions == {"turns": "OFF", "lamp": "ON"}
    with ContextSession.open(tmp_path / "s.db", "s", machine=Both, clock=clock) as session:
        assert session.tick(NOON + timedelta(seconds=599)) == ()
        assert session.tick(NOON + timedelta(seconds=600)) == ("dim",)


def test_effects_of_regions_run_once_and_may_send() -> None:
    """In their class and in listeners, as functions and as coroutine functions."""
    ran = list[str]()

    class Bell(Turns):
        def on_enter_on(self) -> None:
            ran.append(f"rings beside {self.window.extract().text}")  # type: ignore[union-attr]
            self.send("light")

    class Rings(ContextMachine):
        regions: ClassVar = {"turns": Bell, "lamp": Lamp}

    class Listener:
        async def on_enter_state(self, target: Any) -> None:
            ran.append(str(target.value))

    session = ContextSession(4000, machine=Rings)
    session.add_user_turn("Hello.")
    session.send("flip")
    assert session.regions == {"turns": "ON", "lamp": "ON"}
    assert ran == ["rings beside Hello."]
    session = ContextSession(4000, machine=Both, listeners=[Listener()])
    asyncio.run(session.aadd_user_turn("Hello."))
    asyncio.run(session.asend("flip"))
    assert ran[1:] == ["ACCUMULATING", "OFF", "ON"]
    machine: Any = Rings(ContextWindow(1000))
    machine.user_turn("Hi.")
    machine.send("flip")
    assert machine.model.stands.place == "ACCUMULATING+turns:ON+lamp:ON"
    assert "flip" in map(str, machine.allowed_events)


def test_a_session_that_began_without_regions_goes_on_with_them() -> None:
    """They were in their initial states, whatever they would have done."""
    plain = ContextSession(4000)
    plain.add_user_turn("Hello.")
    plain.clear()
    plain.add_user_turn("Hello again.")
    saved = "".join(plain.history.export())
    session = ContextSession.history.load(saved, machine=Both)
    assert (session.state, session.regions) == ("ACCUMULATING", {"turns": "OFF", "lamp": "OFF"})
    session.send("flip")
    assert session.regions["turns"] == "ON"


def test_what_is_declared_from_any_state_holds_in_added_states() -> None:
    """In regions, and in the context's machine."""

    class Broken(Turns):
        always = ("look",)
        broken: Any = State("BROKEN", value="BROKEN")
        smash = broken.from_.any()

    class Breaks(ContextMachine):
        regions: ClassVar = {"lamp": Broken}  # in which all of them can look, and note
        held: Any = State("HELD", value="HELD")
        hold = held.from_.any()
        go = held.to(ContextMachine.accumulating)

    class More(Breaks):
        halted: Any = State("HALTED", value="HALTED")
        halt = ContextMachine.accumulating.to(halted)

    session = ContextSession(4000, machine=More)
    session.add_user_turn("Hello.")
    session.send("look")
    session.send("smash")
    session.send("look")
    session.send("note")
    session.send("halt")
    session.send("hold")
    assert (session.state, session.regions) == ("HELD", {"lamp": "BROKEN"})
    session.send("go")
    assert session.machine.places.legal("ACCUMULATING+lamp:BROKEN").keys() >= {"look", "note"}


def test_only_the_region_of_the_context_changes_the_view() -> None:
    """An action in another one is refused when the class is declared."""
    with pytest.raises(InvalidOptionError, match=r"drop.*the context"):
        # It is refused, so nothing can use it.
        class Dropping(Region):  # pyright: ignore[reportUnusedClass]
            off: Any = State("OFF", value="OFF", initial=True)
            tidy = off.to.itself(on="drop")

            @once
            def drop(self, step: Any) -> Any:
                """Return nothing."""
                return step.window


@pytest.mark.parametrize(
    "regions", [{"a+b": Lamp}, {"lamp": ContextMachine}, {"lamp": "on"}, [Lamp]]
)
def test_what_is_no_region_is_refused(regions: Any) -> None:
    """When the class is declared, with what to write instead."""
    with pytest.raises(InvalidOptionError, match="subclasses of Region"):
        OwnStates("Wrong", (ContextMachine,), {"regions": regions})
