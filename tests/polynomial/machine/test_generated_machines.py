"""Randomly generated user machines, with what python-statemachine offers.

A bare machine goes where the decisions say, a session replays, a second session of the same store
runs the same actions, and no class sees another's states.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from statemachine import Event, State

from polycontext.base import PolycontextError
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextPolicy,
    ContextSession,
    ContextState,
)
from polycontext.polynomial.machine.context_machine import decider
from polycontext.polynomial.machine.declaration import OwnStates
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.pressure import FixedThreshold
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS, text_of, words
from tests.polynomial.session.faulty import seeded

OURS = ("empty", "accumulating", "pressured", "compressed")


def guard(length: int) -> Callable[[Any, Step], bool]:
    """Return a guard that asks how much there is."""
    return lambda _, step: len(step.after) % 3 < length


class Log:
    """Actions that write down what has run."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.ran: list[str] = []
        super().__init__(*args, **kwargs)

    def on_enter_state(self, target: Any) -> None:
        """Write down a state that is entered."""
        self.ran.append(f"enter {target.id}")

    def after_transition(self, event: str) -> None:
        """Write down an event."""
        self.ran.append(f"after {event}")


def declared(random: Random, moves: Any, name: str) -> dict[str, Any]:
    """Return a declaration of an event in one of the library's ways."""
    way = random.randrange(3)
    if way == 0:
        return {name: moves}
    if way == 1:
        return {name: Event(moves, name=name.upper())}
    moves.add_event(name)
    return {}


def generated(random: Random, number: int) -> type[ContextMachine]:
    """Return a machine with one to three added states, each with ways in and out, some guarded."""
    body: dict[str, Any] = {"__module__": __name__}
    added = [f"s{place}" for place in range(random.randint(1, 3))]
    states = {name: State(name, value=f"{name}_{number}") for name in added}
    known = {**{name: getattr(ContextMachine, name) for name in OURS}, **states}
    for name in added:
        length = random.randint(1, 3)
        body[f"may_{name}"] = guard(length)
        conds: list[Any] = [
            None,
            f"may_{name}",
            f"may_{name} and not is_empty",
            lambda step, length=length: len(step.after) % 3 < length,
        ]
        cond = random.choice(conds)
        into = known[random.choice(OURS[1:])].to(states[name], cond=cond) | known[
            "accumulating"
        ].to(states[name])
        if random.random() < 0.3:
            into = states[name].from_.any(cond=cond)  # type: ignore[no-untyped-call]
        out = states[name].to(
            known[random.choice([*OURS, *added])],
            unless=random.choice([None, f"may_{name}"]),
        ) | states[name].to(known["accumulating"])
        body |= declared(random, out, f"out_{name}")
        # The library copies the transitions of `from_.any()` under a name only.
        body |= {f"into_{name}": into}
    if random.random() < 0.3:
        inner = State(f"inner_{number}", value=f"inner_{number}", initial=True)
        deep = State(f"deep_{number}", value=f"deep_{number}", final=random.random() < 0.5)
        inner._set_id("inner")
        deep._set_id("deep")
        group = State("group", value=f"group_{number}", states=[inner, deep])
        body |= {
            "into_group": known["accumulating"].to(group),
            "into_deep": inner.to(deep),
            "out_group": group.to(known["accumulating"]),
            "done_state_group": group.to(known["accumulating"]),
        }
        states["group"] = group
    if random.random() < 0.3:
        states[added[0]].to(known["accumulating"], cond="is_fifth")
        body["is_fifth"] = lambda _, step: len(step.after) % 5 == 4
    body |= states
    if random.random() < 0.5:
        body["user_turn"] = known["accumulating"].to(states[added[0]], cond=f"may_{added[0]}")
    machine: type[ContextMachine] = OwnStates(  # type: ignore[assignment]
        f"Generated{number}",
        (Log, ContextMachine),  # type: ignore[arg-type]
        body,
    )
    return machine


def given_in(random: Random, machine: type[ContextMachine], window: ContextWindow) -> ContextInput:
    """Return an input, legal or not."""
    own = [
        str(kind)
        for cell in machine.table.cells.values()
        for kind in cell
        if str(kind).startswith(("into", "out"))
    ]
    makers: list[Callable[[], ContextInput]] = [
        lambda: ContextInput.user_turn(words(random.choice([1, 20, 60]))),
        lambda: ContextInput.assistant_turn(words(random.choice([1, 20]))),
        lambda: ContextInput.compress(random.choice([0.2, 0.8])),
        ContextInput.clear,
        lambda: ContextInput.resize(random.choice([100, 200])),
        lambda: ContextInput.rewind(window, random.choice([*machine.table.cells])),
        *[lambda: ContextInput.named(random.choice(own))] * 4,
    ]
    return random.choice(makers)()


def outcome(act: Callable[[], object]) -> object:
    """Return what a machine does, or how it refuses."""
    try:
        return act()
    except PolycontextError as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(chunk, marks=pytest.mark.deep) for chunk in range(1, 50))]
)
def test_a_generated_machine_means_the_same_everywhere(chunk: int) -> None:
    """Bare, in a session, in a second one and replayed: the same states, and actions run once."""
    base = ContextMachine.directions
    for number in range(8 * chunk, 8 * chunk + 8):
        random = seeded(number)
        kind = generated(random, number)
        policy = ContextPolicy(threshold=FixedThreshold(0.6, 0.3), auto=False)
        window = ContextWindow(200, counter=WORDS)
        machine: Any = kind(window, policy)
        here: Any = ContextState.EMPTY
        options: dict[str, Any] = {
            "counter": WORDS,
            "threshold": FixedThreshold(0.6, 0.3),
            "machine": kind,
        }
        store = InMemoryStore()
        session, second = (
            ContextSession(200, auto=False, store=store, **options) for _ in range(2)
        )
        for _ in range(40):
            given = given_in(random, kind, window)
            step = Step(given, window, policy)
            decided = outcome(lambda: decider(kind).decide(step, here))  # noqa: B023 - called now
            taken = outcome(lambda: machine.advance(given).state)  # noqa: B023 - as above
            assert decided == taken
            if not isinstance(decided, tuple):
                here, window = decided, step.after
            assert (machine.context_state, machine.window) == (here, window)
            if given.kind != "rewind":
                outcome(lambda: session.send(given))  # noqa: B023 - as above
        second.history.refresh()
        assert second._writer.stored == session._writer.stored
        assert second.machine.ran == session.machine.ran  # type: ignore[attr-defined]
        again = ContextSession.history.load(text_of(session), **options)
        assert again.conversation == session.conversation
        assert session.machine.context_state == session.state
    assert ContextMachine.directions == base
