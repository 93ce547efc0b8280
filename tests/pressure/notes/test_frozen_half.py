"""The frozen first half of a gist stays for some compressions, and the rest is chosen again."""

from itertools import pairwise, takewhile
from typing import Any

import pytest

from polycontext import ContextSession, ExtractiveSummariser
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST


def told(step: int) -> str:
    """Return a report that no other step has."""
    return (
        f"Step {step} moved part-{step * 7919 % 9973} to shelf {chr(65 + step % 26)}{step}, order "
        f"{step * 104729 % 99991}, all checked."
    )


def gists_of(frozen: int, steps: int = 160) -> list[str]:
    """Return the gists of a session one after the other."""
    projector = ContextProjector(ExtractiveSummariser(frozen=frozen))
    session = ContextSession(700, projector=projector, counter=FAST)
    session.add_user_turn("Sort the store room.")
    gists: list[str] = []
    for step in range(steps):
        session.add_assistant_turn(told(step))
        gist = next((turn.text for turn in session.window.all_turns() if turn.is_gist), None)
        if gist is not None and gist not in gists[-1:]:
            gists.append(gist)
    return gists


def shares(gists: list[str]) -> list[float]:
    """Return which part of each gist stood at the head of the one before."""
    same = (
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*pair, strict=False)))
        for pair in pairwise(gists)
    )
    return [length / len(after) for length, after in zip(same, gists[1:], strict=True)]


def test_half_of_a_gist_stays_and_every_so_often_all_is_chosen_anew() -> None:
    """With three frozen compressions of four, three of four gists keep the former first lines."""
    frozen, free = shares(gists_of(3)), shares(gists_of(0))
    assert len(frozen) >= 8
    kept = [share > 0.35 for share in frozen]
    assert all(kept[place] or place % 4 == 3 for place in range(len(kept)))
    assert sum(frozen) / len(frozen) > sum(free) / len(free) + 0.1


def test_nothing_is_told_twice() -> None:
    """No line of the frozen half is chosen again behind it."""
    for gist in gists_of(3):
        lines = gist.splitlines()
        assert len(lines) == len(set(lines))


@pytest.mark.parametrize("frozen", [-1, 1.5, None])
def test_only_a_number_of_compressions_will_do(frozen: Any) -> None:
    """A negative number, a share and nothing are refused."""
    with pytest.raises((ValueError, TypeError)):
        ExtractiveSummariser(frozen=frozen)
