"""Randomly generated user machines.

The table and python-statemachine always agree, and no class sees another's states.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from statemachine import State

from polycontext.base import PolycontextError
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextPolicy,
    ContextSession,
    ContextState,
)
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.machine.table_compiler import OwnStates, run
from polycontext.pressure import FixedThreshold
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS, text_of, words
from tests.polynomial.session.faulty import seeded

OURS = ("empty", "accumulating", "pressured", "compressed")


def guard(length: int) -> Callable[[Any, Step], bool]:
    """Return a guard that asks how much there is."""
    return lambda _, step: len(step.after) % 3 < length


def generated(random: Random, number: int) -> type[ContextMachine]:
    """Return a machine with one to three added states, each with ways in and out, some guarded."""
    body: dict[str, Any] = {"__module__": __name__}
    added = [f"s{place}" for place in range(random.randint(1, 3))]
    states = {name: State(name, value=f"{name}_{number}") for name in added}
    known = {**{name: getattr(ContextMachine, name) for name in OURS}, **states}
    body |= states
    for name in added:
        body[f"may_{name}"] = guard(random.randint(1, 3))
        cond = random.choice([None, f"may_{name}"])
        body[f"into_{name}"] = known[random.choice(OURS[1:])].to(states[name], cond=cond) | known[
            "accumulating"
        ].to(states[name])
        body[f"out_{name}"] = states[name].to(
            known[random.choice([*OURS, *added])], unless=cond
        ) | states[name].to(known["accumulating"])
    if random.random() < 0.5:
        body["user_turn"] = known["accumulating"].to(states[added[0]], cond=f"may_{added[0]}")
    machine: type[ContextMachine] = OwnStates(  # type: ignore[assignment]
        f"Generated{number}", (ContextMachine,), body
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
    """Return what an engine does, or how it refuses."""
    try:
        return act()
    except PolycontextError as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(chunk, marks=pytest.mark.deep) for chunk in range(1, 25))]
)
def test_both_engines_take_a_generated_machine_the_same_way(chunk: int) -> None:
    """Both engines go through the same states, windows and refusals, and the session replays."""
    base = ContextMachine.table.directions
    for number in range(20 * chunk, 20 * chunk + 20):
        random = seeded(number)
        kind = generated(random, number)
        policy = ContextPolicy(threshold=FixedThreshold(0.6, 0.3), auto=False)
        machine, state, window = (
            kind(ContextWindow(200, counter=WORDS), policy),
            ContextState.EMPTY,
            ContextWindow(200, counter=WORDS),
        )
        here: Any = state
        session = ContextSession(
            200, counter=WORDS, threshold=FixedThreshold(0.6, 0.3), auto=False, machine=kind
        )
        for _ in range(40):
            given = given_in(random, kind, window)
            step = Step(given, window, policy)
            decided = outcome(lambda: run(kind.table, here, step))  # noqa: B023 - called at once
            taken = outcome(lambda: machine.advance(given).state)  # noqa: B023 - as above
            assert decided == taken
            if not isinstance(decided, tuple):
                here, window = decided, step.after
            assert (machine.context_state, machine.window) == (here, window)
            if given.kind != "rewind":
                outcome(lambda: session.send(given))  # noqa: B023 - as above
        again = ContextSession.history.load(
            text_of(session), counter=WORDS, threshold=FixedThreshold(0.6, 0.3), machine=kind
        )
        assert again.conversation == session.conversation
        assert session.machine.context_state == session.state
    assert ContextMachine.table.directions == base
