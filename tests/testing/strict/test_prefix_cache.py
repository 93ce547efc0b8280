"""The simulator of prompt caches agrees with an oracle of whole prefixes, and with examples."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.vendors.prefix_cache import Breakpoint, CacheUse, PrefixCache

Blocks = tuple[int, ...]
"""A request: the tokens of each block; equal tokens are equal blocks."""


class Oracle:
    """Remember whole prefixes, and look every one of them through."""

    def __init__(self) -> None:
        self.kept: list[tuple[Blocks, float, float]] = []

    def lives(self, prefix: Blocks, now: float) -> float | None:
        """Return for how long a living prefix was kept last."""
        found = [(until, seconds) for known, until, seconds in self.kept if known == prefix]
        return found[-1][1] if found and found[-1][0] >= now else None

    def marked(
        self,
        blocks: Blocks,
        marks: Sequence[tuple[int, float]],
        now: float,
        floor: int,
        look_back: int,
    ) -> tuple[int, int]:
        """Return what is read and what is written."""
        heard = [mark for mark in sorted(marks) if sum(blocks[: mark[0] + 1]) >= floor]
        near = [
            [
                place
                for place in range(mark, max(mark - look_back, -1), -1)
                if self.lives(blocks[: place + 1], now) is not None
            ]
            for mark, _ in reversed(heard)
        ]
        hit = next((places[0] for places in near if places), -1)
        used = [
            (place, self.lives(blocks[: place + 1], now))
            for place in {hit, *(mark for mark, _ in heard)}
            if place <= hit
        ]
        for place, seconds in [
            *used,
            *((place, seconds) for place, seconds in heard if place > hit),
        ]:
            if seconds is not None:
                self.kept.append((blocks[: place + 1], now + seconds, seconds))
        last = max([hit, *(place for place, _ in heard)], default=-1)
        return sum(blocks[: hit + 1]), sum(blocks[hit + 1 : last + 1])


def _of(blocks: Blocks) -> tuple[list[bytes], list[int]]:
    prefixes = [blocks[: size + 1] for size in range(len(blocks))]
    return [repr(prefix).encode() for prefix in prefixes], [sum(prefix) for prefix in prefixes]


REQUESTS = st.lists(
    st.tuples(
        st.lists(st.integers(1, 3), min_size=1, max_size=12),
        st.lists(st.tuples(st.integers(0, 11), st.sampled_from([300.0, 3600.0])), max_size=4),
        st.sampled_from([0, 100, 250, 400, 4000]),
    ),
    max_size=12,
)


@given(requests=REQUESTS, floor=st.integers(0, 12), look_back=st.integers(1, 6))
def test_marked_prefixes_are_those_of_an_oracle(
    requests: list[tuple[list[int], list[tuple[int, float]], int]], floor: int, look_back: int
) -> None:
    """Whatever is sent, marked and waited for."""
    now, oracle = 0.0, Oracle()
    cache = PrefixCache(lambda: now)
    for sizes, wanted, waited in requests:
        now += waited
        blocks = tuple(sizes)
        marks = sorted({place % len(blocks): seconds for place, seconds in wanted}.items())
        points = [Breakpoint(*mark) for mark in marks]
        digests, tokens = _of(blocks)
        use = cache.serve(digests, tokens, points, floor=floor, look_back=look_back)
        assert (use.read, use.all_written) == oracle.marked(blocks, marks, now, floor, look_back)


@example(requests=[([300, 100], 0), ([300, 100], 200), ([300, 200], 200)])
@given(
    requests=st.lists(
        st.tuples(
            st.lists(st.sampled_from([100, 200, 300]), min_size=1, max_size=4),
            st.sampled_from([0, 200, 301]),
        ),
        max_size=12,
    )
)
def test_what_is_cached_by_itself_is_the_longest_living_prefix_in_whole_steps(
    requests: list[tuple[list[int], int]],
) -> None:
    """From the floor on; a prefix of what was sent lives as long as what was sent."""
    now, sent = 0.0, list[tuple[Blocks, float]]()
    cache = PrefixCache(lambda: now)
    for sizes, waited in requests:
        now += waited
        blocks = tuple(sizes)
        longest = max(
            (
                sum(blocks[:size])
                for size in range(1, len(blocks) + 1)
                for known, at in sent
                if known[:size] == blocks[:size] and at + 300 >= now
            ),
            default=0,
        )
        use = cache.serve_automatic(*_of(blocks), floor=256)
        assert use.read == (longest // 128 * 128 if longest >= 256 else 0)
        whole = sum(blocks) // 128 * 128 if sum(blocks) >= 256 else 0
        assert use.all_written == max(0, whole - use.read)
        sent.append((blocks, now))


def test_what_is_marked_and_used_lives_on() -> None:
    """A head that is read every four minutes stays cached, and an unmarked prefix does not."""
    now = 0.0
    cache = PrefixCache(lambda: now)
    blocks = [b"system"]
    for minute in range(0, 60, 4):
        now = minute * 60.0
        blocks.append(f"turn {minute}".encode())
        tokens = [2000 * (place + 1) for place in range(len(blocks))]
        cache.serve(blocks, tokens, [Breakpoint(0), Breakpoint(len(blocks) - 1)])
    assert [cache.has(name) for name in (b"system", b"turn 0", b"never")] == [True, False, False]


@pytest.mark.parametrize("blocks", [19, 20, 21, 40])
def test_a_breakpoint_looks_back_twenty_blocks_itself_among_them(blocks: int) -> None:
    """A breakpoint finds a prefix among the last twenty blocks, itself included."""
    cache = PrefixCache(lambda: 0.0)
    digests, tokens = (
        [f"{place}".encode() for place in range(blocks + 1)],
        [2000 + place for place in range(blocks + 1)],
    )
    cache.serve(digests, tokens, [Breakpoint(0)])
    assert cache.serve(digests, tokens, [Breakpoint(blocks)]).read == (2000 if blocks < 20 else 0)


def test_the_oldest_prefixes_are_forgotten_when_there_are_too_many() -> None:
    """The memory is bounded."""
    cache = PrefixCache(lambda: 0.0, most=2)
    for name in (b"a", b"b", b"c"):
        cache.serve([name], [2000], [Breakpoint(0)])
    assert [cache.has(name) for name in (b"a", b"b", b"c")] == [False, True, True]
    assert cache.serve([], [], []) == CacheUse(0, {})
    assert cache.serve_automatic([], []) == CacheUse(0, {})
