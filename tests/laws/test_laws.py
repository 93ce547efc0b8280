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
from tests.laws.counterexamples import BROKEN, SOUND, Instance, breaks
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


def inputs_for(*parameters: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return the inputs of a law of this folder that has these parameters."""

    def check(**_: object) -> None: ...

    return all_inputs_of(Law("any", "laws", "A law.", "here", parameters, check), {})


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


@given(st.data())
def test_views_are_over_one_log(data: st.DataObject) -> None:
    """Views that are drawn together can be compared."""
    drawn = data.draw(inputs_for("first_view", "second_view", "third_view", "ceiling"))
    assert len({frozenset(view.fidelities) for view in drawn.values()}) == 1


@given(st.data())
def test_what_is_drawn_for_a_window_or_store_fits_it(data: st.DataObject) -> None:
    """Positions lie within the store, and the window accepts the turn."""
    drawn = data.draw(inputs_for("store", "position", "positions", "window", "turn"))
    places = (drawn["position"], *drawn["positions"])
    assert all(0 <= each <= drawn["store"].last for each in places)
    drawn["window"].append(drawn["turn"])


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


def test_an_instance_that_is_not_rejected_fails_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken instance counts only if the law that it names, and no other, objects."""
    broken: list[Instance] = []
    monkeypatch.setattr("tests.laws.counterexamples.BROKEN", broken)

    def some_law(obeyed_by: str) -> None:
        agree(obeyed_by, "everybody")

    def another_law(_: object) -> None:
        raise LawViolation("another_law", 1, 2, {})

    breaks(
        some_law,
        "nobody obeys",
        lambda law: law("nobody"),
        lambda law: law("everybody"),
        another_law,
    )
    rejected, accepted, rejected_by_another = broken
    test_a_broken_instance_is_rejected(rejected)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_broken_instance_is_rejected(accepted)
    with pytest.raises(AssertionError, match="another_law"):
        test_a_broken_instance_is_rejected(rejected_by_another)


def test_a_violation_shows_its_law_both_sides_and_the_inputs() -> None:
    """A violation names its law, both sides and the inputs, in its text and in its fields."""

    def promotes(ledger: str, resource_id: str) -> None:
        agree("REQUIRED", "refused", ledger=ledger, resource_id=resource_id)

    with pytest.raises(
        LawViolation,
        match=(
            r"^promotes: 'REQUIRED' is not 'refused'; given ledger = "
            r"'a ledger', resource_id = 'a'$"
        ),
    ) as caught:
        promotes("a ledger", "a")
    assert (caught.value.left, caught.value.right) == ("REQUIRED", "refused")
    assert set(caught.value.inputs) == {"ledger", "resource_id"}


def test_a_violation_shows_what_its_law_was_given() -> None:
    """A violation lists its law's parameters, with the values that the law adds or replaces."""

    def promotes(ledger: str, resource_id: str, place: int) -> None:
        before = ledger
        agree(before, resource_id, place=place + 1, further="said")

    with pytest.raises(LawViolation) as caught:
        promotes("a ledger", "a", 1)
    assert caught.value.inputs == {
        "ledger": "a ledger",
        "resource_id": "a",
        "place": 2,
        "further": "said",
    }
