"""Broken stores, each of which a law of the comonad or of the store rejects."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from polycontext.window import Store
from tests.laws.counterexamples import breaks, obeys
from tests.laws.inputs import READINGS
from tests.laws.internal import stores
from tests.laws.small import store_of

Letters = Store[Any]
READING = {reading.name: reading for reading in READINGS}
AT_THE_FOCUS, WHERE, EVERYTHING = (
    READING["extract"],
    READING["pos"],
    READING["focus and all values"],
)


def broken(kind: type[Letters]) -> Letters:
    """Return a store of three letters of a broken kind, focused on the middle one."""
    return kind("abc".__getitem__, 2, 1)


class Forgetful(Letters):
    """Forget the focus when duplicated."""

    def duplicate(self) -> Store[Self]:
        return Store(self.seek, self.last, 0)


class Unmoved(Letters):
    """Show the same store at every position of the duplicate."""

    def duplicate(self) -> Store[Self]:
        return Store(lambda _: self, self.last, self.pos)


class Cropped(Letters):
    """Lose the last position when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        return Store(
            lambda position: function(self.seek(position)),
            self.last - 1,
            min(self.pos, self.last - 1),
        )


class Ahead(Letters):
    """Look one position too far when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        return Store(
            lambda position: function(self.seek(min(position + 1, self.last))), self.last, self.pos
        )


class Stuck(Letters):
    """Apply the function to the same focus again and again when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        return Store(lambda _: function(self), self.last, self.pos)


class Reversing(Letters):
    """Turn around when mapped."""

    def map(self, function: Callable[[Any], Any]) -> "Reversing":
        return Reversing(
            lambda position: function(self.peek(self.last - position)), self.last, self.pos
        )


class Short(Letters):
    """Leave out the last value where it is listed."""

    def __iter__(self) -> Iterator[Any]:
        return iter([self.peek(position) for position in range(self.last)])

    def map(self, function: Callable[[Any], Any]) -> "Short":
        return Short(lambda position: function(self.peek(position)), self.last, self.pos)


class OffByOne(Letters):
    """Seek one position too far."""

    def seek(self, position: int) -> Self:
        return super().seek(min(position + 1, self.last))


class Relative(Letters):
    """Take positions as steps from the focus."""

    def seek(self, position: int) -> Self:
        return super().seek((self.pos + position) % (self.last + 1))


class Moving(Letters):
    """Move in place."""

    def seek(self, position: int) -> Self:
        self._pos = position
        return self


class Blind(Letters):
    """Look at the start whatever the focus."""

    def extract(self) -> Any:
        return self.peek(0)


class Restarting(Letters):
    """Move relative to the start."""

    def seeks(self, move: Callable[[int], int]) -> Self:
        return self.seek(move(0))


class Tidy(Letters):
    """Look at each position once, in order, whatever was asked."""

    def experiment(self, positions: Callable[[int], Iterable[int]]) -> list[Any]:
        return [self.peek(position) for position in sorted(set(positions(self.pos)))]


class Wrapping(Letters):
    """Count from the end what is before the start."""

    def peek(self, position: int) -> Any:
        return super().peek(position % (self.last + 1))


class Exclusive(Letters):
    """Take the last position for the end."""

    def seek(self, position: int) -> Self:
        return super().seek(position if position < self.last else position + 1)


breaks(
    stores.duplicate_then_extract_is_identity,
    "a duplicate that forgets the focus",
    lambda law: law(broken(Forgetful)),
)
breaks(
    stores.duplicate_then_map_extract_is_identity,
    "a duplicate that shows other values or another focus",
    lambda law: law(broken(Forgetful)),
    lambda law: law(broken(Unmoved)),
)
breaks(
    stores.duplicate_is_associative,
    "a duplicate that forgets the focus inside",
    lambda law: law(broken(Forgetful)),
)
breaks(
    stores.duplicate_shows_every_focus,
    "a duplicate of unmoved stores",
    lambda law: law(broken(Unmoved), 2),
)
breaks(
    stores.extend_extract_is_identity,
    "an extend that drops shifts or repeats positions",
    lambda law: law(broken(Cropped)),
    lambda law: law(broken(Ahead)),
    lambda law: law(broken(Stuck)),
)
breaks(
    stores.extract_of_extend_is_the_function,
    "an extend that looks ahead",
    lambda law: law(broken(Ahead), AT_THE_FOCUS),
)
breaks(
    stores.extend_is_associative,
    "an extend that never moves",
    lambda law: law(broken(Stuck), AT_THE_FOCUS, WHERE),
)
breaks(
    stores.extend_is_map_after_duplicate,
    "two presentations that differ",
    lambda law: law(broken(Cropped), EVERYTHING),
    lambda law: law(broken(Unmoved), EVERYTHING),
)
breaks(
    stores.duplicate_is_extend_by_identity,
    "a duplicate that is not extend by identity",
    lambda law: law(broken(Forgetful)),
    lambda law: law(broken(Stuck)),
)
breaks(
    stores.map_is_extend_after_extract,
    "a map that is not the comonads own",
    lambda law: law(broken(Reversing)),
)
breaks(stores.map_keeps_identity, "a map that turns around", lambda law: law(broken(Reversing)))
breaks(
    stores.map_keeps_composition,
    "a map that turns around each time",
    lambda law: law(Reversing(lambda position: "x" * 10**position, 2, 1)),
)
breaks(
    stores.extract_is_peek_at_the_focus,
    "an extract that ignores the focus",
    lambda law: law(broken(Blind)),
)
breaks(
    stores.seek_reaches_every_position,
    "a seek that ends elsewhere",
    lambda law: law(broken(OffByOne), 0),
    lambda law: law(broken(Relative), 0),
)
breaks(
    stores.seek_to_the_focus_changes_nothing,
    "a seek that always moves",
    lambda law: law(broken(OffByOne)),
    lambda law: law(broken(Relative)),
)
breaks(stores.the_last_seek_wins, "seeks that add up", lambda law: law(broken(Relative), 1, 2))
breaks(stores.seek_moves_the_focus_alone, "a seek in place", lambda law: law(broken(Moving), 2))
breaks(
    stores.relative_moves_start_at_the_focus,
    "a relative move from the start",
    lambda law: law(broken(Restarting), 1),
)
breaks(
    stores.experiment_peeks_at_each_position,
    "an experiment that tidies up",
    lambda law: law(broken(Tidy), [2, 0, 2]),
)
breaks(
    stores.positions_outside_are_refused,
    "positions that wrap around",
    lambda law: law(broken(Wrapping), -1),
    lambda law: law(broken(Wrapping), 3),
)
breaks(
    stores.positions_outside_are_refused,
    "a seek that refuses the last position",
    lambda law: law(broken(Exclusive), 2),
)
breaks(
    stores.what_extend_returns_is_a_sequence,
    "a list without the last value",
    lambda law: law(broken(Short)),
)


LETTERS = store_of("abc", 1)
obeys(
    stores.map_keeps_composition,
    "a store like it",
    lambda law: law(Store(lambda position: "x" * 10**position, 2, 1)),
)
obeys(
    stores.extend_is_associative, "a store like it", lambda law: law(LETTERS, AT_THE_FOCUS, WHERE)
)
obeys(
    stores.experiment_peeks_at_each_position, "a store like it", lambda law: law(LETTERS, [2, 0, 2])
)
obeys(stores.positions_outside_are_refused, "a store like it", lambda law: law(LETTERS, -1))
