"""Over a long life there is one bounded gist at a time, and no source is lost or doubled."""

from collections import Counter
from collections.abc import Iterator

import pytest

from polycontext.pressure import ContextProjector, GistKind, Reach, Summariser, pressure_of
from polycontext.pressure.gist import is_summary
from polycontext.pressure.notes.summariser import ExtractiveSummariser
from polycontext.testing.strategies import Head
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import (
    HEAD,
    assistant,
    calls,
    extended,
    ids,
    opened,
    result,
    talk,
    user,
    words,
)


def busy(rounds: int, *, pins: bool = True) -> Iterator[list[Turn]]:
    """Yield atoms of a busy agent: talk, repeated and parallel calls, some pinned turns."""
    for n in range(rounds):
        yield [user(words(n, 6))]
        yield [
            calls("read", "run", arguments=f'{{"n": {n % 5}}}'),
            result(1, words(n + 1, 10)),
            result(0, words(n + 2, 14)),
        ]
        yield [assistant(words(n + 3, 12))]
        if n % 4 == 0:
            yield [user("thanks!")]
        if pins and n % 25 == 24:
            yield [Turn(Role.SYSTEM, f"Phase {n} begins.")]


def lived(
    window: ContextWindow, atoms: Iterator[list[Turn]], summariser: Summariser
) -> Iterator[tuple[ContextWindow, list[str], list[str]]]:
    """Drive atoms through automatic compression.

    After each, yield the window, the ids of the log and the dropped ids.
    """
    projector = ContextProjector(summariser)
    log, dropped = ids(window.all_turns()), list[str]()
    for atom in atoms:
        for turn in atom:
            window = window.append(turn)
            log.append(window.all_turns()[-1].resource_id)
        if pressure_of(window) > 0.7:
            done = projector.commit(
                window, projector.fulfil(projector.plan_between(window, 0.4, 0.7))
            )
            window = done.window
            dropped.extend(done.dropped)
        yield window, log, dropped


@pytest.mark.parametrize("summariser", [Head(), ExtractiveSummariser()], ids=["head", "extractive"])
@pytest.mark.parametrize("max_tokens", [2_000, 6_000])
def test_there_is_one_gist_at_a_time(summariser: Summariser, max_tokens: int) -> None:
    """Each turn of the log is in the view, in exactly one gist, or dropped, after every step.

    Right after a compression there is one summary and the window is not pressured. A gist never
    swallows a pinned turn.
    """
    compressions, last = 0, opened(max_tokens)
    for window, log, dropped in lived(last, busy(120), summariser):
        last = window
        standing = Counter(
            i for turn in window.all_turns() for i in turn.sources or (turn.resource_id,)
        )
        assert set(standing.values()) <= {1}
        assert sorted([*standing, *dropped]) == sorted(log)
        if window.turns_since_compression == 0:
            compressions += 1
            assert sum(map(is_summary, window.all_turns())) == 1
            assert pressure_of(window) < 0.7
    assert compressions >= 4
    assert any(turn.level > 0 for turn in last.all_turns())
    assert [turn.text for turn in last.all_turns() if turn.role is Role.SYSTEM][1:] == [
        f"Phase {n} begins." for n in (24, 49, 74, 99)
    ]
    assert is_summary(last.all_turns()[2])


@pytest.mark.no_cover
def test_how_often_is_compressed_does_not_grow() -> None:
    """A compression serves as many turns late in a life as early, between pinned turns too."""
    at = [
        number
        for number, (window, _, _) in enumerate(lived(opened(3_000), busy(500), Head()))
        if window.turns_since_compression == 0
    ]
    early, late = at[len(at) // 4] - at[0], at[-1] - at[-1 - len(at) // 4]
    assert len(at) >= 40
    assert late >= 0.7 * early


def test_a_gist_stands_for_what_the_one_before_it_stood_for() -> None:
    """A new gist has all sources of the former one, in the order of the log, one level above."""
    once = HEAD.compress(extended(opened(2_000), talk(14)), 0.2).window
    twice = HEAD.compress(extended(once, talk(14, first=14)), 0.2).window
    (old,), (new,) = (
        [turn for turn in window.all_turns() if turn.is_gist] for window in (once, twice)
    )
    assert set(old.sources) < set(new.sources)
    assert list(new.sources) == sorted(new.sources, key=lambda each: int(each[1:]))
    assert (old.level, new.level) == (0, 1)
    assert twice.all_turns()[:2] == once.all_turns()[:2]


def test_a_gist_alone_yields_to_a_shorter_one() -> None:
    """If nothing else is left, the gist itself is rewritten in fewer tokens."""
    once = ContextProjector(reach=Reach(keep_recent=0)).compress(
        extended(opened(2_000), talk(14)), 0.3
    )
    again = ContextProjector(reach=Reach(keep_recent=0)).compress(once.window, 0.1)
    assert again.reached
    assert (again.plan.jobs[0].kind, len(again.plan.jobs)) == (GistKind.BLOCK, 1)
    assert (
        ContextProjector(reach=Reach(keep_recent=0)).compress(again.window, 0.0).tokens_after
        <= again.floor
    )
