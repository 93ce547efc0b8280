"""Broken stores, each of which a law of the comonad or of the store rejects."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import pytest

from polycontext.window import Store, laws
from tests.laws.breaking import breaks
from tests.laws.stores import at_the_focus, everything, store_of, where

Letters = Store[Any]


def broken(kind: type[Letters]) -> Letters:
    """Return a store of three letters of a broken kind, focused on the middle one."""
    return kind("abc".__getitem__, 2, 1)


class Forgetful(Letters):
    """Forget the focus when duplicated."""

    def duplicate(self) -> Store[Self]:
        """Start at the beginning."""
        return Store(self.seek, self.last, 0)


class Unmoved(Letters):
    """Show the same store at every position of the duplicate."""

    def duplicate(self) -> Store[Self]:
        """Leave the focus where it is."""
        return Store(lambda _: self, self.last, self.pos)


class Cropped(Letters):
    """Lose the last position when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        """Stop one too early."""
        return Store(lambda position: function(self.seek(position)), self.last - 1, min(self.pos, self.last - 1))


class Ahead(Letters):
    """Look one position too far when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        """Apply the function next door."""
        return Store(lambda position: function(self.seek(min(position + 1, self.last))), self.last, self.pos)


class Stuck(Letters):
    """Apply the function to the same focus again and again when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        """Never move."""
        return Store(lambda _: function(self), self.last, self.pos)


class Reversing(Letters):
    """Turn around when mapped."""

    def map(self, function: Callable[[Any], Any]) -> "Reversing":
        """Count from the end."""
        return Reversing(lambda position: function(self.peek(self.last - position)), self.last, self.pos)


class Short(Letters):
    """Leave out the last value where it is listed."""

    def __iter__(self) -> Iterator[Any]:
        return iter([self.peek(position) for position in range(self.last)])

    def map(self, function: Callable[[Any], Any]) -> "Short":
        """Stay of this kind."""
        return Short(lambda position: function(self.peek(position)), self.last, self.pos)


class OffByOne(Letters):
    """Seek one position too far."""

    def seek(self, position: int) -> Self:
        """Miscount."""
        return super().seek(min(position + 1, self.last))


class Relative(Letters):
    """Take positions as steps from the focus."""

    def seek(self, position: int) -> Self:
        """Walk on."""
        return super().seek((self.pos + position) % (self.last + 1))


class Moving(Letters):
    """Move in place."""

    def seek(self, position: int) -> Self:
        """Change what everybody holds."""
        self._pos = position
        return self


class Blind(Letters):
    """Look at the start whatever the focus."""

    def extract(self) -> Any:
        """Ignore the focus."""
        return self.peek(0)


class Restarting(Letters):
    """Move relative to the start."""

    def seeks(self, move: Callable[[int], int]) -> Self:
        """Ignore the focus."""
        return self.seek(move(0))


class Tidy(Letters):
    """Look at each position once, in order, whatever was asked."""

    def experiment(self, positions: Callable[[int], Iterable[int]]) -> list[Any]:
        """Sort, and drop what repeats."""
        return [self.peek(position) for position in sorted(set(positions(self.pos)))]


class Wrapping(Letters):
    """Count from the end what is before the start."""

    def peek(self, position: int) -> Any:
        """Go around."""
        return super().peek(position % (self.last + 1))


class Exclusive(Letters):
    """Take the last position for the end."""

    def seek(self, position: int) -> Self:
        """Refuse it."""
        return super().seek(position if position < self.last else position + 1)


@breaks(laws.duplicate_then_extract_is_identity)
def test_a_duplicate_that_forgets_the_focus() -> None:
    """The snapshot in focus must be the store itself."""
    laws.duplicate_then_extract_is_identity(broken(Forgetful))


@breaks(laws.duplicate_then_map_extract_is_identity)
@pytest.mark.parametrize("kind", [Forgetful, Unmoved])
def test_a_duplicate_that_shows_other_values_or_another_focus(kind: type[Letters]) -> None:
    """The values of all snapshots must be those of the store, and its focus theirs."""
    laws.duplicate_then_map_extract_is_identity(broken(kind))


@breaks(laws.duplicate_is_associative)
def test_a_duplicate_that_forgets_the_focus_inside() -> None:
    """The focus must be there at every depth."""
    laws.duplicate_is_associative(broken(Forgetful))


@breaks(laws.duplicate_shows_every_focus)
def test_a_duplicate_of_unmoved_stores() -> None:
    """Each snapshot must be focused on its own position."""
    laws.duplicate_shows_every_focus(broken(Unmoved), 2)


@breaks(laws.extend_extract_is_identity)
@pytest.mark.parametrize("kind", [Cropped, Ahead, Stuck])
def test_an_extend_that_drops_shifts_or_repeats_positions(kind: type[Letters]) -> None:
    """Extending by `extract` must give all values, each in its place."""
    laws.extend_extract_is_identity(broken(kind))


@breaks(laws.extract_of_extend_is_the_function)
def test_an_extend_that_looks_ahead() -> None:
    """What is in focus after extending must be what the function says of the store."""
    laws.extract_of_extend_is_the_function(broken(Ahead), at_the_focus)


@breaks(laws.extend_is_associative)
def test_an_extend_that_never_moves() -> None:
    """Two steps must be one step by both functions."""
    laws.extend_is_associative(broken(Stuck), at_the_focus, where)


@breaks(laws.extend_is_map_after_duplicate)
@pytest.mark.parametrize("kind", [Cropped, Unmoved])
def test_two_presentations_that_differ(kind: type[Letters]) -> None:
    """A faulty `extend` shows against `duplicate`, and the other way round."""
    laws.extend_is_map_after_duplicate(broken(kind), everything)


@breaks(laws.duplicate_is_extend_by_identity)
@pytest.mark.parametrize("kind", [Forgetful, Stuck])
def test_a_duplicate_that_is_not_extend_by_identity(kind: type[Letters]) -> None:
    """The same, without a function of one's own."""
    laws.duplicate_is_extend_by_identity(broken(kind))


@breaks(laws.map_is_extend_after_extract)
def test_a_map_that_is_not_the_comonads_own() -> None:
    """A functor of its own beside the comonad is noticed."""
    laws.map_is_extend_after_extract(broken(Reversing))


@breaks(laws.map_keeps_identity)
def test_a_map_that_turns_around() -> None:
    """Mapping by identity must change nothing."""
    laws.map_keeps_identity(broken(Reversing))


@breaks(laws.map_keeps_composition)
def test_a_map_that_turns_around_each_time() -> None:
    """Mapping twice must be mapping once by both."""
    laws.map_keeps_composition(Reversing(lambda position: "x" * 10**position, 2, 1))


@breaks(laws.extract_is_peek_at_the_focus)
def test_an_extract_that_ignores_the_focus() -> None:
    """What is extracted must be what is in focus."""
    laws.extract_is_peek_at_the_focus(broken(Blind))


@breaks(laws.seek_reaches_every_position)
@pytest.mark.parametrize("kind", [OffByOne, Relative])
def test_a_seek_that_ends_elsewhere(kind: type[Letters]) -> None:
    """The position asked for must be reached."""
    laws.seek_reaches_every_position(broken(kind), 0)


@breaks(laws.seek_to_the_focus_changes_nothing)
@pytest.mark.parametrize("kind", [OffByOne, Relative])
def test_a_seek_that_always_moves(kind: type[Letters]) -> None:
    """Seeking where one is must be staying there."""
    laws.seek_to_the_focus_changes_nothing(broken(kind))


@breaks(laws.the_last_seek_wins)
def test_seeks_that_add_up() -> None:
    """Where one was before must not matter."""
    laws.the_last_seek_wins(broken(Relative), 1, 2)


@breaks(laws.seek_moves_the_focus_alone)
def test_a_seek_in_place() -> None:
    """Who holds the old store must keep its focus."""
    laws.seek_moves_the_focus_alone(broken(Moving), 2)


@breaks(laws.relative_moves_start_at_the_focus)
def test_a_relative_move_from_the_start() -> None:
    """A function of the focus must be given the focus."""
    laws.relative_moves_start_at_the_focus(broken(Restarting), 1)


@breaks(laws.experiment_peeks_at_each_position)
def test_an_experiment_that_tidies_up() -> None:
    """Positions come in any order and more than once."""
    laws.experiment_peeks_at_each_position(broken(Tidy), [2, 0, 2])


@breaks(laws.positions_outside_are_refused)
@pytest.mark.parametrize("position", [-1, 3])
def test_positions_that_wrap_around(position: int) -> None:
    """What is outside must be refused, before the start and behind the end."""
    laws.positions_outside_are_refused(broken(Wrapping), position)


@breaks(laws.positions_outside_are_refused)
def test_a_seek_that_refuses_the_last_position() -> None:
    """What is inside must be reached."""
    laws.positions_outside_are_refused(broken(Exclusive), 2)


@breaks(laws.what_extend_returns_is_a_sequence)
def test_a_list_without_the_last_value() -> None:
    """Iterating must reach the last position."""
    laws.what_extend_returns_is_a_sequence(broken(Short))


def test_what_is_unbroken_passes_the_same_laws() -> None:
    """The stores above fail for their fault alone: the same laws accept the same inputs without it."""
    letters = store_of("abc", 1)
    laws.map_keeps_composition(Store(lambda position: "x" * 10**position, 2, 1))
    laws.extend_is_associative(letters, at_the_focus, where)
    laws.experiment_peeks_at_each_position(letters, [2, 0, 2])
    laws.positions_outside_are_refused(letters, -1)
