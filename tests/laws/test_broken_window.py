"""Broken windows, each of which a law rejects."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import pytest
from attrs import evolve

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.column import Column
from polycontext.window import Atom, ContextWindow, Role, Splice, Store, ToolCall, Turn, laws
from tests.laws.breaking import breaks
from tests.strategies import FAST

USER, ANSWER = Turn("user", "Weather in Paris?"), Turn("assistant", "21 degrees.")
CALLS = Turn("assistant", None, tool_calls=(ToolCall("a", "weather"), ToolCall("b", "hotels")))
RESULTS = (Turn("tool", "none free", tool_call_id="b"), Turn("tool", "21 degrees", tool_call_id="a"))


def window_of(kind: type[ContextWindow], *turns: Turn) -> ContextWindow:
    """Return a window of a broken kind with these turns in it."""
    window = kind(1_000, counter=FAST)
    for turn in turns:
        window = window.append(turn)
    return window


class Cropped(ContextWindow):
    """Lose the newest turn when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        """Stop one too early."""
        return Store(lambda position: function(self.seek(position)), self.last - 1, min(self.pos, self.last - 1))


class Trimming(ContextWindow):
    """Silently cut what is appended, to ten characters."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Keep the start."""
        return super().append(evolve(turn, content=turn.text[:10]), resource_class)


class Evicting(ContextWindow):
    """Keep the last two turns, as a message buffer does."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Drop the oldest turn."""
        return super().append(turn, resource_class).splice([Splice(0, max(0, len(self) - 1))])


class Mutable(ContextWindow):
    """Append in place."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Change what everybody holds."""
        after = super().append(turn, resource_class)
        self._contents, self._position = after._contents, after._position
        return self


class Rewinding(ContextWindow):
    """Go on from the focus, dropping what is behind it."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Forget the future first."""
        return self.splice([Splice(self.pos, len(self))])._really_append(turn, resource_class)

    def _really_append(self, turn: Turn, resource_class: ResourceClass | None) -> Self:
        return super().append(turn, resource_class)


class OneFuture(Column[Turn]):
    """Write where the window ends, over what another has written there."""

    written: ClassVar[list[Turn]] = []

    def appended(self, item: Turn) -> Self:
        """Fork never."""
        self.written[self.length :] = [item]
        return super().appended(item)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.written[: self.length])


class Lax(ContextWindow):
    """Take a result that nobody waits for as something the user said."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Make it fit."""
        orphan = turn.role is Role.TOOL and turn.tool_call_id not in self.open_calls
        return super().append(Turn(Role.USER, turn.text) if orphan else turn, resource_class)


class Stumbling(ContextWindow):
    """Fall back to the start when something is refused."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Move first, check then."""
        self._position = 0
        return super().append(turn, resource_class)


class Repeating(ContextWindow):
    """Show the first turn twice."""

    def all_turns(self) -> tuple[Turn, ...]:
        """Stutter."""
        return super().all_turns()[:1] * 2


class Lost(ContextWindow):
    """Begin a new ledger at each compression, as a published original did."""

    def splice(self, splices: Sequence[Splice], *, linearity: LinearityMap | None = None, compressed: bool = False) -> Self:
        """Lose the map."""
        after = super().splice(splices, linearity=linearity, compressed=compressed)
        return after._with(after._contents._replace(linearity=LinearityMap()))


class Greedy(ContextWindow):
    """Cut one turn more than asked for."""

    def splice(self, splices: Sequence[Splice], *, linearity: LinearityMap | None = None, compressed: bool = False) -> Self:
        """Go on to the end."""
        longer = [evolve(each, stop=len(self)) for each in splices]
        return super().splice(longer, linearity=linearity, compressed=compressed)


class Drifting(ContextWindow):
    """Bill one token too much from the second turn on."""

    @property
    def tokens(self) -> int:
        """Miscount."""
        return super().tokens + (self.pos > 1)


class Flat(ContextWindow):
    """Count every turn as one token."""

    def append(self, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Count messages instead of tokens."""
        return super().append(turn.with_tokens(1), resource_class)


class Uncounted(ContextWindow):
    """Bill nothing for an atom."""

    def atoms(self) -> tuple[Atom, ...]:
        """Forget the bill."""
        return tuple(evolve(atom, tokens=0) for atom in super().atoms())


class Skipping(ContextWindow):
    """Leave out the last atom."""

    def atoms(self) -> tuple[Atom, ...]:
        """Stop too early."""
        return super().atoms()[:-1]


class Splitting(ContextWindow):
    """Make an atom of every turn."""

    def atoms(self) -> tuple[Atom, ...]:
        """Part calls from their results."""
        return tuple(Atom(index, index + 1, (turn,), turn.tokens or 0, is_open=False) for index, turn in enumerate(self.all_turns()))


class Closing(ContextWindow):
    """Call every atom complete."""

    def atoms(self) -> tuple[Atom, ...]:
        """Overlook what is open."""
        return tuple(evolve(atom, is_open=False) for atom in super().atoms())


class Amnesiac(ContextWindow):
    """Forget everything when cleared, so that ids return."""

    def cleared(self) -> Self:
        """Start over."""
        return type(self)(self.max_tokens, counter=self.counter)


@breaks(laws.extend_extract_is_identity)
def test_a_window_whose_extend_drops_the_last_position() -> None:
    """A trajectory must reach the newest turn."""
    laws.extend_extract_is_identity(window_of(Cropped, USER, ANSWER))


@breaks(laws.append_shows_the_turn)
def test_a_window_that_trims_what_is_said() -> None:
    """What was said must be there word for word."""
    laws.append_shows_the_turn(window_of(Trimming), USER)


@breaks(laws.append_keeps_what_was_there)
@pytest.mark.parametrize("kind", [Evicting, Mutable])
def test_an_append_that_evicts_or_mutates(kind: type[ContextWindow]) -> None:
    """Nothing may leave, and the old window must stay as it was."""
    laws.append_keeps_what_was_there(window_of(kind, USER, ANSWER), USER)


@breaks(laws.append_ignores_the_focus)
def test_an_append_that_drops_what_is_behind_the_focus() -> None:
    """Looking back must not be going back."""
    laws.append_ignores_the_focus(window_of(Rewinding, USER, ANSWER), USER, 1)


@breaks(laws.forks_share_nothing_but_the_past)
def test_two_futures_in_one_list() -> None:
    """What one branch appends must not show in the other."""
    window = ContextWindow(1_000, counter=FAST)
    window._contents = window._contents._replace(turns=OneFuture())
    laws.forks_share_nothing_but_the_past(window, USER, ANSWER)


@breaks(laws.calls_are_answered_before_anything_else)
def test_an_orphan_that_is_let_in() -> None:
    """A result without its call must be refused, not made to fit."""
    laws.calls_are_answered_before_anything_else(window_of(Lax, USER), RESULTS[0])


@breaks(laws.calls_are_answered_before_anything_else)
def test_a_refusal_that_leaves_a_trace() -> None:
    """A refused turn must change nothing, the focus neither."""
    laws.calls_are_answered_before_anything_else(window_of(Stumbling, USER), RESULTS[0])


@breaks(laws.every_turn_has_an_id_of_its_own_and_a_class)
def test_a_turn_that_is_there_twice() -> None:
    """An id must name one turn."""
    laws.every_turn_has_an_id_of_its_own_and_a_class(window_of(Repeating, USER))


@breaks(laws.every_turn_has_an_id_of_its_own_and_a_class)
def test_turns_whose_classes_were_lost() -> None:
    """A turn must have a class, also after a splice."""
    laws.every_turn_has_an_id_of_its_own_and_a_class(window_of(Lost, USER, ANSWER).splice([Splice(0, 1)]))


@breaks(laws.sums_equal_recounting)
def test_sums_that_drift() -> None:
    """One token too much is one too much."""
    laws.sums_equal_recounting(window_of(Drifting, USER, ANSWER))


@breaks(laws.a_turn_is_counted_once)
def test_a_window_that_counts_messages() -> None:
    """A turn must cost what the counter says."""
    laws.a_turn_is_counted_once(window_of(Flat), USER)


@breaks(laws.atoms_partition_the_turns)
@pytest.mark.parametrize("kind", [Skipping, Uncounted])
def test_atoms_that_leave_out_a_turn_or_its_bill(kind: type[ContextWindow]) -> None:
    """All turns and all tokens must be in the atoms."""
    laws.atoms_partition_the_turns(window_of(kind, USER, ANSWER))


@breaks(laws.atoms_are_never_split)
def test_atoms_that_part_calls_from_results() -> None:
    """An atom of calls must hold their results."""
    laws.atoms_are_never_split(window_of(Splitting, USER, CALLS, *RESULTS))


@breaks(laws.atoms_are_never_split)
def test_an_open_atom_that_passes_for_closed() -> None:
    """A call without a result must keep its atom open."""
    laws.atoms_are_never_split(window_of(Closing, USER, CALLS, RESULTS[0]))


@breaks(laws.splicing_cuts_the_run_alone)
@pytest.mark.parametrize("kind", [Lost, Greedy])
def test_a_splice_that_loses_the_ledger_or_more_turns(kind: type[ContextWindow]) -> None:
    """A compression must not cost the ledger, nor a turn that was not yielded."""
    laws.splicing_cuts_the_run_alone(window_of(kind, USER, ANSWER), 0)


@breaks(laws.clearing_keeps_the_ledger)
def test_a_clear_that_forgets() -> None:
    """Ids must not return, and classes must stay known."""
    laws.clearing_keeps_the_ledger(window_of(Amnesiac, USER))


def test_what_is_unbroken_passes_the_same_laws() -> None:
    """The windows above fail for their fault alone: the same laws accept the same inputs without it."""
    window = window_of(ContextWindow, USER, CALLS, RESULTS[0])
    laws.calls_are_answered_before_anything_else(window, RESULTS[0])
    laws.atoms_are_never_split(window)
    laws.splicing_cuts_the_run_alone(window, 0)
