"""The room of a note: minima of sections, then bids by score; longer variants of better items."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure.notes.items import Item, Section, ranged
from polycontext.pressure.notes.room import FIRST, MINIMA, SHORT, Room


def item(section: Section, score: float, *sizes: int, event: int = 0, group: str = "") -> Item:
    """Return an item with variants of these sizes."""
    return Item(section, event, score, tuple("x" * size for size in sizes), "", group)


def filled(items: Sequence[Item], room: int, heading: int = 0) -> dict[int, int]:
    """Return the variants that are chosen, with a token for each character."""
    return Room(items, len, room, heading).fill()


ITEMS = st.builds(
    lambda section, score, sizes, event: item(section, score, *sorted(sizes)[::-1], event=event),
    st.sampled_from(Section),
    st.floats(0, 150),
    st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True),
    st.integers(0, 9),
)


@given(st.lists(ITEMS, max_size=12), st.integers(0, 300), st.integers(0, 9))
def test_no_more_is_chosen_than_fits(items: list[Item], room: int, heading: int) -> None:
    """The texts and the headings of their sections stay within the room."""
    chosen = filled(items, room, heading)
    sections = {items[place].section for place in chosen}
    used = sum(len(items[place].variants[variant]) for place, variant in chosen.items())
    assert used + heading * len(sections) <= room


def test_everything_is_told_whole_where_there_is_room() -> None:
    """The longest variant of each item is chosen."""
    items = [item(Section.KNOWN, 10.0, 30, 10), item(Section.DONE, 50.0, 20, 5)]
    assert filled(items, 50) == {0: 0, 1: 0}


def test_a_section_keeps_its_minimum_beside_better_items() -> None:
    """What was done has its share of the room, whatever is known."""
    known = [item(Section.KNOWN, 90.0, 10, event=place) for place in range(20)]
    chosen = filled([*known, item(Section.DONE, 1.0, 20)], 100)
    assert 20 in chosen
    assert len(chosen) == 9
    assert 20 not in filled([*known, item(Section.OPEN, 1.0, 20)], 100)


def test_what_comes_first_needs_no_minimum() -> None:
    """An item above the first score is told before the minima of all sections."""
    shared = [item(section, 90.0, 5, event=place) for section in MINIMA for place in range(20)]
    for score, is_told in ((FIRST + 1, True), (FIRST - 1, False)):
        assert (100 in filled([*shared, item(Section.OPEN, score, 25)], 100)) is is_told


def test_a_longer_variant_of_a_better_item_goes_before_another_item() -> None:
    """Each longer variant bids a step less than the one before it."""
    better = item(Section.OPEN, 90.0, 40, 20)
    for gap, chosen in ((11, {0: 0}), (9, {0: 1, 1: 0})):
        assert filled([better, item(Section.OPEN, 90.0 - gap, 20)], 40) == chosen


def test_the_opening_of_a_group_is_paid_once() -> None:
    """The first record of an answer takes the tokens of the call, too."""
    records = [item(Section.KNOWN, 50.0 - place, 10, group="look()") for place in range(3)]
    opening = len("look() -> ")
    assert filled(records, opening + 30) == {0: 0, 1: 0, 2: 0}
    assert len(filled(records, opening + 29)) == 2


def test_an_item_that_is_long_at_its_shortest_waits_for_short_ones() -> None:
    """Its score has to be better by as much as it is longer."""
    short = [item(Section.KNOWN, 50.0, SHORT, event=place) for place in range(4)]
    for score, is_told in ((65.0, False), (75.0, True)):
        long = item(Section.KNOWN, score, 4 * SHORT)
        assert (4 in filled([*short, long], 4 * SHORT)) is is_told


def test_variants_of_one_length_stay_as_they_were_given() -> None:
    """In every process: what is chosen among them must be the same."""
    same = tuple(f"variant {number:02}" for number in range(60))
    assert ranged(["", *same, "the longest variant", same[3]]) == ("the longest variant", *same)
