"""Sources behave like the tuple of their ids, however they were made or copied."""

from collections.abc import Sequence
from functools import cache, reduce

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, ResourceClass, UnknownResourceError
from polycontext.window import ContextWindow, EstimatingCounter, Role, Turn
from polycontext.window.sources import Sources, Traces

# Before, at and behind the edges of a tail, a row, a chunk and a mask.
SIZES = [0, 1, 31, 32, 1_023, 1_024, 4_090, 4_095, 4_096, 9_000]


def tagged(ledger: LinearityMap, *ids: str) -> LinearityMap:
    """Return the ledger with more ids."""
    return reduce(lambda known, each: known.tag(each, ResourceClass.REQUIRED), ids, ledger)


@cache
def ledger_of(size: int) -> LinearityMap:
    """Return a ledger of so many turns t0, t1, ..."""
    return tagged(LinearityMap(), *(f"t{number}" for number in range(size)))


def plain(*ids: str) -> list[tuple[str, Sequence[str]]]:
    """Return turns that stand for themselves."""
    return [(each, ()) for each in ids]


@define
class Told:
    """Compress a conversation of ids over and over, beside what lists of them say."""

    ledger: LinearityMap
    standing: list[tuple[str, Sequence[str]]] = field(factory=list)
    listed: dict[str, tuple[str, ...]] = field(factory=dict)
    made: list[tuple[Sources, tuple[str, ...]]] = field(factory=list)

    def add(self, resource_id: str, sources: Sequence[str] = ()) -> None:
        """Take a turn in; with sources it is a gist from elsewhere."""
        self.ledger = tagged(self.ledger, resource_id)
        self.standing.append((resource_id, sources))
        self.listed[resource_id] = tuple(sources) or (resource_id,)

    def compress(self, resource_id: str, kept: set[int]) -> None:
        """Make one gist of all that stands but what is kept, which falls or stays."""
        taken = [turn for number, turn in enumerate(self.standing) if number not in kept]
        if not taken:
            return
        sources = Sources.joined(self.ledger, taken)
        order = {each: place for place, each in enumerate(self.ledger)}
        ids = dict.fromkeys(
            each
            for turn, _ in sorted(taken, key=lambda turn: order[turn[0]])
            for each in self.listed[turn]
        )
        expected = (
            *(each for each in ids if each not in order),
            *sorted(order.keys() & ids, key=order.__getitem__),
        )
        self.standing = [
            (resource_id, sources),
            *(turn for number, turn in enumerate(self.standing) if number in kept and number % 2),
        ]
        self.ledger = tagged(self.ledger, resource_id)
        self.listed[resource_id] = expected
        self.made.append((sources, expected))


@st.composite
def told(draw: st.DrawFn) -> Told:
    """Draw a conversation that was compressed a few times, with kept, dropped and foreign turns."""
    size = draw(st.sampled_from(SIZES))
    history = Told(ledger_of(size), plain(*ledger_of(size).ids.since(max(0, size - 40))))
    history.listed = {turn: (turn,) for turn, _ in history.standing}
    for number in range(draw(st.integers(1, 6))):
        for turn in range(draw(st.integers(0, 5))):
            history.add(f"u{number}.{turn}")
        if draw(st.booleans()):
            history.add(
                f"e{number}",
                draw(st.sampled_from([("x1", "x2"), ("x2",), ("t0", "x3"), (f"u{number}.0",)])),
            )
        history.compress(f"g{number}", draw(st.sets(st.integers(0, 45), max_size=12)))
    return history


@given(told(), st.integers(-50, 50), st.integers(-50, 50))
def test_sources_read_as_the_tuple_of_their_ids(history: Told, start: int, stop: int) -> None:
    """Length, order, membership, indices, slices, equality and hash are those of the tuple."""
    for sources, ids in history.made:
        assert tuple(sources) == ids
        assert (len(sources), bool(sources), hash(sources)) == (len(ids), True, hash(ids))
        assert sources == ids
        assert ids == sources
        assert sources != ids[1:]
        assert sources != (*ids[:-1], "?")
        assert (sources[0], sources[-1], sources[start:stop], tuple(reversed(sources))) == (
            ids[0],
            ids[-1],
            ids[start:stop],
            ids[::-1],
        )
        assert (sources.index(ids[-1]), sources.count(ids[0]), sources.count("?")) == (
            len(ids) - 1,
            1,
            0,
        )
        assert ids[len(ids) // 2] in sources
        assert "?" not in sources
        assert 5 not in sources  # type: ignore[comparison-overlap]
        with pytest.raises(IndexError):
            sources[len(ids)]
        with pytest.raises(ValueError, match="not in tuple"):
            sources.index("?")


@given(told())
def test_sources_compare_and_join_as_sets_of_their_ids(history: Told) -> None:
    """Equality, difference, sharing, coverage and union of sources are those of their id sets."""
    for one, ones in history.made:
        for other, others in history.made:
            assert (one == other) is (ones == others)
            assert set(one.beyond([other])) >= set(ones) - set(others)
            assert not one.shares(other) or set(one.beyond([other])) == set(ones) - set(others)
            for named in ([other], [other, ("x1",)], [others], [("x1", ones[0]), ()]):
                traces, union = (
                    Traces.of(history.ledger, named),
                    {each for part in named for each in part},
                )
                assert all(
                    (each in traces) is (each in union) for each in ("x1", "?", ones[0], others[-1])
                )
                for asked in (one, ones):
                    assert traces.covers(asked) is (set(ones) <= union)
                    assert traces.meets(asked) is not set(ones).isdisjoint(union)
        for each in (*ones, *history.listed, "?"):
            assert one.holds(each, history.ledger.place(each)) is (each in ones)


@given(told())
def test_ranges_and_former_gists_tell_all(history: Told) -> None:
    """The order of ids and the sources of former gists suffice to restore sources from ranges."""
    known: dict[str, Sequence[str]] = {
        turn: sources for turn, sources in history.listed.items() if sources != (turn,)
    }
    for sources, ids in history.made:
        named = [each for start, stop in sources.named for each in list(history.ledger)[start:stop]]
        again = Sources.joined(
            tagged(LinearityMap(), *history.ledger), [(each, known.get(each, ())) for each in named]
        )
        assert again == ids
        assert again == sources
        assert again.named == sources.named


def test_versions_that_part_do_not_see_each_other() -> None:
    """Gists of two forks of a conversation are compared by ids, not by positions."""
    base = ledger_of(4_095)
    mine, yours = tagged(base, "a", "b"), tagged(base, "b", "c")
    one, other = Sources.joined(mine, plain("t5", "b")), Sources.joined(yours, plain("t5", "b"))
    assert one == other == ("t5", "b")
    assert one.masks != other.masks
    assert not one.shares(other)
    assert tuple(Sources.joined(tagged(yours, "g"), [("g", one), ("c", ())])) == ("t5", "b", "c")
    assert tuple(Sources.joined(tagged(yours, "g"), [("g", Sources.joined(mine, plain("a")))])) == (
        "a",
    )
    assert Traces.of(yours, [one]).covers(other)
    assert "a" not in Traces.of(yours, [one])
    assert not Traces.of(yours, [Sources.joined(mine, plain("a"))]).covers(
        Sources.joined(yours, plain("b"))
    )


def test_an_unknown_turn_is_refused() -> None:
    """Only turns of the ledger can be told by places."""
    with pytest.raises(UnknownResourceError, match="nobody"):
        Sources.joined(ledger_of(3), plain("t0", "nobody"))


def test_a_gist_that_comes_in_from_elsewhere_lists_its_ids() -> None:
    """The places of another conversation mean nothing in this one."""
    gist = Turn(Role.USER, "gist", sources=Sources.joined(ledger_of(31), plain("t3", "t4")))
    taken = ContextWindow(1_000, counter=EstimatingCounter()).append(gist).extract()
    assert taken is not None
    assert type(taken.sources) is tuple
    assert taken.sources == ("t3", "t4")
