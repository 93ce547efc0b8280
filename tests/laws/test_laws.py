"""Every law holds on generated inputs, and rejects a broken instance.

The strategies for the inputs of laws that ship do so too, so ``polycontext laws`` tries the same
inputs.
"""

from importlib import import_module
from itertools import takewhile
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import tests.laws.broken
import tests.laws.internal
from polycontext.base import Law, LawViolation
from polycontext.base.law import agree, laws_of
from polycontext.polynomial import ContextMachine
from polycontext.testing import all_laws
from polycontext.testing.law_inputs import Strategies
from polycontext.testing.law_runner import ROOMS
from tests.laws.conditions import conditions_of
from tests.laws.counterexamples import BROKEN, SOUND, Instance
from tests.laws.inputs import all_inputs_of
from tests.laws.internal.machines import TableMachine

for found in iter_modules(tests.laws.broken.__path__):
    import_module(f"tests.laws.broken.{found.name}")

LAWS = (*all_laws(), *laws_of(tests.laws.internal))
ROUNDS = 20
"""How often further examples are drawn until every condition of a law was met."""
ENGINES = {"machine": st.sampled_from([ContextMachine, TableMachine])}
BESIDE = {"machine": st.just(ContextMachine), "other_machine": st.just(TableMachine)}
"""What the parameters of some laws are drawn from, beside what the package ships."""


def bound(law: Law) -> Strategies:
    """Return the strategies of this folder for a law."""
    return BESIDE if "other_machine" in law.parameters else ENGINES


def _named(law: Law) -> str:
    return f"{law.room}.{law.name}"


def _described(instance: Instance) -> str:
    return f"{instance.room}.{instance.law.__name__}: {instance.what}".replace(" ", "_")


@pytest.mark.hypothesis
@pytest.mark.parametrize("law", LAWS, ids=_named)
def test_a_law_holds(law: Law) -> None:
    """Whatever is drawn; in the examples of every run, what the law is about is among it."""
    unmet = conditions_of(law.name)

    @given(all_inputs_of(law, bound(law)))
    def holds(inputs: dict[str, Any]) -> None:
        law.check(**inputs)
        for what in [what for what, is_there in unmet.items() if is_there(inputs)]:
            del unmet[what]

    holds()
    if settings().derandomize:
        for number in takewhile(lambda _: unmet, range(ROUNDS)):
            seed(number)(holds)()
        assert not unmet, f"{law.name} is never given {', '.join(unmet)}"


@pytest.mark.parametrize("instance", BROKEN, ids=_described)
def test_a_broken_instance_is_rejected(instance: Instance) -> None:
    """The law under test raises the violation, not another law and not a crash."""
    with pytest.raises(LawViolation, match=instance.law.__name__) as caught:
        instance.call(instance.law)
    assert caught.value.law == instance.law.__name__


@pytest.mark.parametrize("instance", SOUND, ids=_described)
def test_what_is_like_a_broken_instance_but_sound_is_accepted(instance: Instance) -> None:
    """The broken ones are rejected for their fault alone."""
    instance.call(instance.law)


def test_every_law_that_ships_is_broken_once() -> None:
    """Every law that ships has a broken instance in ``tests/laws/broken``."""
    broken = {instance.law for instance in BROKEN}
    assert [law.name for law in all_laws() if law.check not in broken] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_states_laws(room: str) -> None:
    """Every room has laws, each with a source and a statement of its own."""
    laws = all_laws([room])
    assert laws
    assert all(law.source and law.statement.endswith(".") for law in laws)
    assert len({law.statement for law in laws}) == len(laws)


def test_a_violation_shows_its_law_both_sides_and_the_inputs() -> None:
    """In its text and its fields; the inputs are those of the law, or what it says of them."""

    def promotes(ledger: str, resource_id: str, place: int) -> None:
        agree("REQUIRED", "refused", place=place + 1, further="said")

    with pytest.raises(LawViolation) as caught:
        promotes("a ledger", "a", 1)
    inputs = {"ledger": "a ledger", "resource_id": "a", "place": 2, "further": "said"}
    shown = ", ".join(f"{name} = {value!r}" for name, value in inputs.items())
    assert str(caught.value) == f"promotes: 'REQUIRED' is not 'refused'; given {shown}"
    assert (caught.value.left, caught.value.right) == ("REQUIRED", "refused")
    assert caught.value.inputs == inputs
