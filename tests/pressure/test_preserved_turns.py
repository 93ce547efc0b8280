"""No preserved turn is lost or changed by any number of compressions."""

from polycontext.linearity import ResourceClass
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import HEAD, extended, ids, opened, talk, user, words


def preserved(window: ContextWindow) -> list[Turn]:
    """Return the turns of every atom that holds a PRESERVED turn, in order."""
    pinned = [
        atom
        for atom in window.atoms()
        if any(window.class_of(turn) is ResourceClass.PRESERVED for turn in atom.turns)
    ]
    return [turn for atom in pinned for turn in atom.turns]


# --- regressions of a published original ------------------------------------


def test_regression_the_map_is_not_lost_at_the_first_compression() -> None:
    """The ledger still names every turn after a compression, unlike in a published original."""
    window = extended(opened(1_000), [*talk(10), user("thanks!"), *talk(6, first=10)])
    done = HEAD.compress(window, 0.3)
    assert done.gisted
    assert done.dropped == ("t13",)
    assert all(
        done.window.linearity.get(turn.resource_id) is window.class_of(turn)
        for turn in window.all_turns()
    )
    assert done.window.linearity.stats().drops == 1


def test_regression_the_second_compression_does_not_empty_the_window() -> None:
    """The second compression keeps preserved turns, unlike in a published original."""
    window = extended(opened(1_000), talk(16))
    once = HEAD.compress(window, 0.3).window
    twice = HEAD.compress(extended(once, talk(10, first=16)), 0.3)
    assert twice.gisted
    standing = twice.window.all_turns()
    assert standing[:2] == window.all_turns()[:2]
    assert len(standing) > 3
    assert {source for turn in standing for source in turn.sources} >= {
        f"t{n}" for n in range(3, 17)
    }


def test_regression_user_turns_can_yield() -> None:
    """Only the task is pinned, so user turns can yield, unlike in a published original."""
    window = extended(opened(1_000), [user(words(n)) for n in range(14)])
    done = HEAD.compress(window, 0.3)
    assert done.reached
    assert done.kept[:2] == ("t1", "t2")


def test_constraints_beyond_their_share_are_in_the_gist_and_whole() -> None:
    """They are pinned up to their share only; all others are rules that the gist states."""
    turns = [
        Turn(Role.USER, f"From now on never use rule {n} in the chapter on {words(n, 6)}.")
        for n in range(60)
    ]
    window = extended(opened(1_000), turns)
    assert window.pressure > 1.0
    done = HEAD.compress(window, 0.7)
    assert set(ids(preserved(window))) <= set(done.kept)
    assert len(done.kept) < 20
    said = "\n".join(turn.text for turn in done.window.all_turns())
    assert all(turn.text in said for turn in turns)
