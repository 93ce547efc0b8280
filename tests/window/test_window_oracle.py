"""The shared, forking window beside plain lists: they agree on every version after every step."""

from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from polycontext.linearity import DemotionError, ResourceClass
from polycontext.testing import FAST
from polycontext.testing.strategies import atoms, plain_turns
from polycontext.window import ContextWindow, OrderError, Role, Splice, Turn


@define
class Model:
    """A plain model of a window: roles, texts, ids and classes."""

    said: list[tuple[str, str, tuple[str, ...]]] = field(factory=list)
    classes: dict[str, ResourceClass] = field(factory=dict)
    serial: int = 0
    position: int = 0

    def copy(self) -> "Model":
        """Return an independent model."""
        return Model(list(self.said), dict(self.classes), self.serial, self.position)

    def read(self) -> tuple[Any, ...]:
        """Return everything that can be read."""
        return self.said, self.classes, self.serial, self.position


def _said(turn: Turn) -> tuple[str, str, tuple[str, ...]]:
    return turn.resource_id, turn.text, tuple(turn.sources)


def read(window: ContextWindow) -> tuple[Any, ...]:
    """Return everything that can be read, turn by turn through the store."""
    turns = [turn for turn in window.duplicate().map(lambda w: w.extract()) if turn is not None]
    ledger = window.linearity
    return (
        [_said(turn) for turn in turns],
        {i: ledger.get(i) for i in ledger},
        window.serial,
        window.position,
    )


Version = tuple[ContextWindow, Model]
RANDOM = st.randoms(use_true_random=False)


class WindowAgainstLists(RuleBasedStateMachine):
    """Derive from any version ever made, so that forks of forks occur."""

    versions = Bundle[Version]("versions")

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Version] = []

    def keep(self, window: ContextWindow, model: Model) -> Version:
        """Remember a version, to be read again after every later step."""
        self.made.append((window, model))
        return window, model

    @rule(target=versions)
    def start(self) -> Version:
        """Begin an empty window."""
        return self.keep(ContextWindow(500, counter=FAST), Model())

    @rule(
        target=versions,
        version=versions,
        turns=atoms(may_stay_open=True),
        given=st.none() | st.sampled_from(ResourceClass),
    )
    def append(self, version: Version, turns: list[Turn], given: ResourceClass | None) -> Version:
        """Append an atom at the end whatever the focus; while calls are open it is refused."""
        window, model = version
        after = model.copy()
        if window.open_calls:
            with pytest.raises(OrderError):
                window.append(turns[0], given)
            return self.keep(window, after)
        for turn in turns:
            window = window.append(turn, given)
            after.serial += 1
            resource_id = f"t{after.serial}"
            after.said.append((resource_id, turn.text, ()))
            after.classes[resource_id] = (
                window.linearity.get(resource_id) if given is None else given
            )
        after.position = len(after.said)
        return self.keep(window, after)

    @rule(target=versions, version=versions)
    def answer(self, version: Version) -> Version:
        """Answer the calls that are open, last one first."""
        window, model = version
        after = model.copy()
        for call_id in reversed(window.open_calls):
            window = window.append(
                Turn(Role.TOOL, "late", tool_call_id=call_id), ResourceClass.REQUIRED
            )
            after.serial += 1
            after.said.append((f"t{after.serial}", "late", ()))
            after.classes[f"t{after.serial}"] = ResourceClass.REQUIRED
            after.position = len(after.said)
        return self.keep(window, after)

    @rule(target=versions, version=versions, random=RANDOM)
    def seek(self, version: Version, random: Any) -> Version:
        """Move the focus anywhere."""
        window, model = version
        after = model.copy()
        after.position = random.randint(0, len(window))
        return self.keep(window.seek(after.position), after)

    @rule(target=versions, version=versions, random=RANDOM)
    def promote(self, version: Version, random: Any) -> Version:
        """Raise one class to the highest; what is there already is refused."""
        window, model = version
        after = model.copy()
        if not after.classes:
            return self.keep(window, after)
        resource_id = random.choice(list(after.classes))
        if after.classes[resource_id] is ResourceClass.PRESERVED:
            with pytest.raises(DemotionError):
                window.promote(resource_id, ResourceClass.PRESERVED)
            return self.keep(window, after)
        after.classes[resource_id] = ResourceClass.PRESERVED
        return self.keep(window.promote(resource_id, ResourceClass.PRESERVED), after)

    @rule(target=versions, version=versions, random=RANDOM, replacement=st.none() | plain_turns())
    def splice(self, version: Version, random: Any, replacement: Turn | None) -> Version:
        """Replace a run of atoms by one gist or by nothing."""
        window, model = version
        after = model.copy()
        whole = [atom for atom in window.atoms() if not atom.is_open]
        if not whole:
            return self.keep(window, after)
        first = random.randrange(len(whole))
        start, stop = whole[first].start, whole[random.randrange(first, len(whole))].stop
        new: tuple[Turn, ...] = ()
        ledger = window.linearity
        if replacement is not None:
            gist_id = f"g{after.serial + 1}"
            new = (
                evolve(replacement, resource_id=gist_id, sources=(after.said[start][0],), tokens=3),
            )
            ledger = ledger.tag(gist_id, ResourceClass.REQUIRED)
            after.classes[gist_id] = ResourceClass.REQUIRED
        after.said[start:stop] = [_said(turn) for turn in new]
        after.serial += len(new)
        after.position = len(after.said)
        return self.keep(window.splice([Splice(start, stop, new)], linearity=ledger), after)

    @rule(target=versions, version=versions)
    def clear(self, version: Version) -> Version:
        """Clear: the turns go, ids and ledger stay."""
        window, model = version
        after = model.copy()
        after.said.clear()
        after.position = 0
        return self.keep(window.cleared(), after)

    @invariant()
    def every_version_reads_as_it_did(self) -> None:
        """No step changes any version."""
        for window, model in self.made:
            assert read(window) == model.read()

    @precondition(lambda self: self.made)
    @invariant()
    def the_sums_are_right(self) -> None:
        """Compare sums and atoms with the turns that can be read."""
        window, _ = self.made[-1]
        assert window.tokens == sum(
            turn.tokens or 0 for turn in window.all_turns()[: window.position]
        )
        assert [turn for atom in window.atoms() for turn in atom.turns] == list(window.all_turns())


TestWindowAgainstLists = WindowAgainstLists.TestCase
