"""Log-structured gists: their text stays bounded, and no source is ever lost or stood for twice."""

from collections import Counter
from collections.abc import Iterator

import pytest

from polycontext.linearity import ResourceClass
from polycontext.nodes.testing import Head
from polycontext.pressure import ContextProjector, GistKind, Reach, Summariser, pressure_of
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import HEAD, assistant, calls, extended, gist_tokens, ids, opened, result, talk, user, words


def busy(rounds: int, *, pins: bool = True) -> Iterator[list[Turn]]:
    """Return atoms of an agent at work: talk, chitchat, calls made again, parallel results, now and then a pinned turn."""
    for n in range(rounds):
        yield [user(words(n, 6))]
        yield [calls("read", "run", arguments=f'{{"n": {n % 5}}}'), result(1, words(n + 1, 10)), result(0, words(n + 2, 14))]
        yield [assistant(words(n + 3, 12))]
        if n % 4 == 0:
            yield [user("thanks!")]
        if pins and n % 25 == 24:
            yield [Turn(Role.SYSTEM, f"Phase {n} begins.")]


def lived(
    window: ContextWindow, atoms: Iterator[list[Turn]], summariser: Summariser
) -> Iterator[tuple[ContextWindow, list[str], list[str]]]:
    """Drive atoms through automatic compression; yield after each the window, the ids of the log and the dropped ones."""
    projector = ContextProjector(summariser)
    log, dropped = ids(window.all_turns()), list[str]()
    for atom in atoms:
        for turn in atom:
            window = window.append(turn)
            log.append(window.all_turns()[-1].resource_id)
        if pressure_of(window) > 0.7:
            done = projector.commit(window, projector.fulfil(projector.plan_between(window, 0.4, 0.7)))
            window = done.window
            dropped.extend(done.dropped)
        yield window, log, dropped


@pytest.mark.parametrize("summariser", [Head(), ExtractiveSummariser()], ids=["head", "extractive"])
def test_sources_are_never_lost(summariser: Summariser) -> None:
    """After every step: each turn of the log stands word for word, in exactly one standing gist, or was dropped."""
    log, last = list[str](), opened(2_000)
    for window, log, dropped in lived(opened(2_000), busy(70), summariser):
        last = window
        standing = Counter(i for turn in window.all_turns() for i in turn.sources or (turn.resource_id,))
        assert set(standing.values()) <= {1}
        assert sorted([*standing, *dropped]) == sorted(log)
    assert len(log) > 300
    assert any(turn.level > 0 for turn in last.all_turns())


@pytest.mark.parametrize("summariser", [Head(), ExtractiveSummariser()], ids=["head", "extractive"])
@pytest.mark.parametrize("max_tokens", [2_000, 6_000])
def test_the_text_of_gists_is_bounded(summariser: Summariser, max_tokens: int) -> None:
    """However long the conversation, gists that may fold keep to their share (0.2) of the window."""
    compressions = 0
    for window, _, _ in lived(opened(max_tokens), busy(120, pins=False), summariser):
        compressions += window.turns_since_compression == 0
        assert gist_tokens(window) <= 0.2 * max_tokens
        assert pressure_of(window) <= 1.0
    assert compressions >= 4


def test_only_dropped_turns_are_droppable() -> None:
    """What left without a gist was DROPPABLE, every one of them."""
    *_, (window, _, dropped) = lived(opened(2_000), busy(60), Head())
    assert dropped
    assert {window.linearity.get(i) for i in dropped} == {ResourceClass.DROPPABLE}


def test_preserved_turns_stand_between_gists() -> None:
    """A block never swallows a pinned turn: all of them stand, in order, after many folds."""
    *_, (window, _, _) = lived(opened(2_000), busy(80), Head())
    assert [turn.text for turn in window.all_turns() if turn.role is Role.SYSTEM][1:] == [f"Phase {n} begins." for n in (24, 49, 74)]


def folded(count: int, fan_in: int = 4) -> ContextWindow:
    """Return a window after `count` compressions of one block each, roomy enough that only their number makes gists fold."""
    projector = ContextProjector(Head(), Reach(keep_recent=2, fan_in=fan_in, gist_share=0.9))
    window = opened(20_000)
    for number in range(count):
        window = extended(window, talk(10, first=10 * number))
        window = projector.commit(window, projector.fulfil(projector.plan_within(window, window.tokens - 300))).window
    return window


def levels(window: ContextWindow) -> list[int]:
    """Return the levels of the standing gists, in order."""
    return [turn.level for turn in window.all_turns() if turn.is_gist]


def test_more_than_fan_in_gists_side_by_side_fold_into_one_of_the_next_level() -> None:
    """Up to four stay as they are; the next compression turns more into one, older levels first."""
    assert levels(folded(4)) == [0, 0, 0, 0]
    assert levels(folded(5)) == [0, 0, 0, 0, 0]
    assert levels(folded(6)) == [1, 0]
    assert levels(folded(4, fan_in=2)) == [1, 0]
    assert max(levels(folded(40))) >= 2
    assert len(levels(folded(40))) <= 3 * 5


def test_a_fold_stands_for_the_union_of_its_sources() -> None:
    """The sources of a fold are those of the gists it replaces, in order, and its text is shorter than theirs."""
    before, after = folded(5), folded(6)
    old = [turn for turn in before.all_turns() if turn.is_gist]
    fold = next(turn for turn in after.all_turns() if turn.level == 1)
    assert fold.sources == tuple(source for gist in old for source in gist.sources)
    assert (fold.tokens or 0) <= sum(gist.tokens or 0 for gist in old) // 2
    assert fold.text.startswith(f"[Summary of {len(fold.sources)} earlier messages]")


def test_gists_that_do_not_fold_are_untouched() -> None:
    """Between folds the gists before the newest keep their bytes, so a provider's cache holds them."""
    before, after = folded(3), folded(4)
    gists = [turn for turn in before.all_turns() if turn.is_gist]
    assert [turn for turn in after.all_turns() if turn.is_gist][: len(gists)] == gists
    assert after.all_turns()[: 2 + len(gists)] == before.all_turns()[: 2 + len(gists)]


def test_a_pinned_turn_keeps_gists_apart() -> None:
    """Gists on either side of a preserved turn do not fold into one, since order would be lost."""
    window = extended(opened(3_000), [*talk(6), Turn(Role.SYSTEM, "Mind the budget."), *talk(6, first=6), user("Well?")])
    done = ContextProjector(Head(), Reach(keep_recent=1, fan_in=2)).compress(window, 0.05)
    again = ContextProjector(Head(), Reach(keep_recent=1, fan_in=2)).compress(done.window, 0.0)
    kinds = ["gist" if turn.is_gist else turn.role.value for turn in again.window.all_turns()]
    assert kinds == ["system", "user", "gist", "system", "gist", "user"]
    assert all(job.kind is not GistKind.FOLD for job in again.plan.jobs)


def test_a_window_of_gists_alone_can_still_fold() -> None:
    """Where nothing else is left to yield, gists that stand side by side fold, as far as that saves anything."""
    window = folded(4)
    done = ContextProjector(Head(), Reach(keep_recent=0)).compress(HEAD.compress(window, 0.0).window, 0.0)
    assert done.tokens_after < window.tokens
    assert {job.kind for job in done.plan.jobs} <= {GistKind.FOLD, GistKind.BLOCK}
