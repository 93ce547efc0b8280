"""The room of a note, shared out among its items: sections have minima, scores decide the rest."""

from collections.abc import Callable, Sequence
from math import log2

from attrs import define, field

from .items import Item, Section

MINIMA = {
    Section.TASK: 0.25,
    Section.SAID: 0.12,
    Section.DONE: 0.3,
    Section.FILES: 0.05,
    Section.KNOWN: 0.3,
}
"""The shares of the room that sections get before the best items of all take the rest."""

FIRST, STEP, DOUBLE, SHORT = 113.0, 10.0, 10.0, 80
"""The score from which an item is told whatever its section, what a longer variant takes off a
score, and what each doubling of the shortest variant beyond so many characters does."""


@define
class Room:
    """Chooses a variant for each item that fits; `cost` returns the tokens of a text."""

    items: Sequence[Item]
    cost: Callable[[str], int]
    left: int
    heading: int = 0
    """The tokens of a heading of a section."""
    chosen: dict[int, int] = field(factory=dict)
    """The variant of each chosen item, by their indices."""
    _sections: set[Section] = field(factory=set)
    _groups: set[tuple[int, str]] = field(factory=set)

    def fill(self) -> dict[int, int]:
        """Return the chosen items with their variants."""
        total = self.left
        order = sorted(
            range(len(self.items)),
            key=lambda index: (-self.items[index].score, -self.items[index].event),
        )
        for index in order:
            if self.items[index].score > FIRST:
                self._bid(index, len(self.items[index].variants) - 1)
        for section, share in MINIMA.items():
            inside = [index for index in order if self.items[index].section is section]
            self._share_out(inside, int(share * total))
        self._share_out(order, self.left)
        return self.chosen

    def _score(self, index: int, variant: int) -> float:
        """Return the score of an item, less what it takes to tell this variant of it."""
        item = self.items[index]
        # Talk is worth what its shortest variant says; a longer one of anything else may be a dump.
        measured = item.variants[-1 if item.section is Section.TALK else variant]
        length = len(measured) + len(item.before)
        step = item.steps[variant] if item.steps else STEP * (len(item.variants) - 1 - variant)
        return item.score - step - DOUBLE * log2(max(SHORT, length))

    def _share_out(self, order: Sequence[int], room: int) -> None:
        """Tell more of items in about `room` tokens.

        Longer variants of the best go before the shortest ones of others.
        """
        bids = [
            (self._score(index, variant), -index, variant)
            for index in order
            for variant in range(len(self.items[index].variants))
        ]
        for _, place, variant in sorted(bids, reverse=True):
            if room > 0:
                room -= self._bid(-place, variant)

    def _price(self, index: int, variant: int) -> int:
        item = self.items[index]
        return self.cost(item.variants[variant]) + (self.cost(item.before) if item.before else 0)

    def _spend(self, index: int, variant: int, price: int) -> int:
        self.chosen[index] = variant
        item = self.items[index]
        self._sections.add(item.section)
        self._groups.add((item.event, item.group))
        self.left -= price
        return price

    def _entry(self, index: int) -> int:
        """Return the tokens of the heading and the opening that an item is the first to need."""
        item = self.items[index]
        opening = item.group and (item.event, item.group) not in self._groups
        heading = 0 if item.section in self._sections else self.heading
        return heading + (self.cost(f"{item.group} -> {item.parent}") if opening else 0)

    def _bid(self, index: int, variant: int) -> int:
        """Tell an item by this variant if that is one longer than now and there is room."""
        last = len(self.items[index].variants) - 1
        now = self.chosen.get(index, last + 1)
        if variant >= now:
            return 0
        told = self._price(index, now) if now <= last else -self._entry(index)
        more = self._price(index, variant) - told
        return self._spend(index, variant, more) if more <= self.left else 0
