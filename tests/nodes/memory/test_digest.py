"""A digest keeps its bound, its order and its old gists, whatever is added."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.nodes.memory import Digest, DigestEntry
from polycontext.pressure import ContextProjector, Reach
from polycontext.window import TokenCounter, Turn, default_counter
from tests.nodes.memory.records import SAID

COUNTER = default_counter()


def _entry(number: int) -> str:
    return (
        "user: Thank you, that was kind of you; "
        "is there anything else that comes to your mind for the evening?\n"
        f"assistant: I saved recipe_{number} for {number} guests. "
        "Apart from that I had a look at what one might do with the rest of it."
    )


def _filled(count: int, bound: int = 600) -> Digest:
    digest = Digest(bound)
    for number in range(1, count + 1):
        digest = digest.add(_entry(number))
    return digest


@frozen
class _Reading:
    """Stand for a summariser that counts the tokens it is given to read."""

    read: list[int]

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        self.read.append(sum(counter.count(turn.text) for turn in turns))
        return turns[-1].text[:60]


def test_what_fits_stays_word_for_word() -> None:
    """Below the bound nothing is summarised."""
    digest = _filled(3)
    assert digest.text == "\n".join(map(_entry, (1, 2, 3)))
    assert [entry.level for entry in digest.entries] == [0, 0, 0]


@given(st.integers(64, 160), st.lists(SAID.filter(str.strip), max_size=14))
def test_the_bound_is_never_passed(bound: int, texts: list[str]) -> None:
    """After each of any number of adds, of any text, the whole text is within the bound."""
    digest = Digest(bound)
    for text in texts:
        digest = digest.add(text)
        assert COUNTER.count(digest.text) <= bound


@pytest.mark.parametrize("bound", [64, 100, 600])
def test_one_text_larger_than_the_bound_is_cut_to_it(bound: int) -> None:
    """A single huge entry becomes a gist at once."""
    digest = Digest(bound).add(
        " ".join(f"soup {number} costs {number} euros." for number in range(500))
    )
    assert 0 < COUNTER.count(digest.text) <= bound


@pytest.mark.parametrize("bound", [100, 600])
def test_the_bound_holds_after_many_adds(bound: int) -> None:
    """Two hundred entries later the text is still within it, and so is the number of entries."""
    digest = Digest(bound)
    for number in range(1, 201):
        digest = digest.add(_entry(number))
        assert COUNTER.count(digest.text) <= bound
    assert digest.added == 200
    assert len(digest.entries) < 20


def test_old_gists_stay_byte_identical_until_they_fold() -> None:
    """A gist that stands for the same entries keeps its text, and most additions change no gist."""
    digest, untouched = Digest(600), 0
    for number in range(1, 121):
        after = digest.add(_entry(number))
        before = {(gist.first, gist.last): gist for gist in digest.entries if gist.level}
        assert all(
            before.get((gist.first, gist.last), gist) == gist
            for gist in after.entries
            if gist.level
        )
        untouched += set(before.values()) <= set(after.entries)
        digest = after
    assert untouched > 60


def test_entries_stand_in_order_without_a_gap() -> None:
    """Each entry ever added is covered by exactly one entry or gist, in order."""
    digest = _filled(60)
    numbers = [number for entry in digest.entries for number in range(entry.first, entry.last + 1)]
    assert numbers == list(range(1, 61))


@pytest.mark.parametrize("bound", [300, 600])
def test_names_survive_better_than_by_cutting(bound: int) -> None:
    """A digest keeps over 1.5 times the names of an equally large tail, and older ones."""
    tail = "\n".join(map(_entry, range(1, 61)))
    while COUNTER.count(tail) > bound:
        tail = tail.partition("\n")[2]
    kept, cut = (
        sorted({int(number) for number in re.findall(r"recipe_(\d+)", text)})
        for text in (_filled(60, bound).text, tail)
    )
    assert len(kept) > 1.5 * len(cut)
    assert kept[0] < cut[0]


def test_a_standing_constraint_outlives_small_talk() -> None:
    """A constraint of the user is kept after dozens of exchanges."""
    digest = Digest(600).add("user: From now on, never suggest peanuts.\nassistant: Understood.")
    for number in range(40):
        digest = digest.add(_entry(number))
    assert "never suggest peanuts" in digest.text


def test_the_cost_of_an_add_does_not_grow() -> None:
    """The summariser never reads more than a few bounds for one add, early or late."""
    summariser = _Reading([])
    projector, digest, early = ContextProjector(summariser, Reach(keep_recent=0)), Digest(300), 0
    for number in range(1, 151):
        before = len(summariser.read)
        digest = digest.add(_entry(number), projector=projector)
        assert sum(summariser.read[before:]) <= 900
        early = early or (sum(summariser.read) if number == 75 else 0)
    assert sum(summariser.read) - early < 1.5 * early


def test_a_digest_is_its_data() -> None:
    """One that is made again from its entries goes on exactly like the first."""
    digest = _filled(40)
    again = Digest(digest.bound, digest.entries)
    assert again == digest
    assert again.add(_entry(41)) == digest.add(_entry(41))


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Digest(63), "bound"),
        (lambda: Digest(100).add(" \n"), "text"),
        (lambda: Digest(100).add("\ud800"), "text"),
        (lambda: Digest(100, [DigestEntry(2, 2, 0, "a")]), r"entries\[0\].first"),
        (
            lambda: Digest(100, [DigestEntry(1, 3, 1, "a"), DigestEntry(3, 3, 0, "a")]),
            r"entries\[1\].first",
        ),
        (lambda: DigestEntry(2, 1, 0, "a"), "last"),
        (lambda: DigestEntry(1, 2, 0, "a"), "level"),
        (lambda: DigestEntry(1, 1, -1, "a"), "level"),
    ],
)
def test_what_is_no_digest_is_refused(make: Any, field: str) -> None:
    """A bound too small, text that says nothing, entries that do not follow each other."""
    with pytest.raises(InvalidDataError, match=rf"^{field}: "):
        make()
