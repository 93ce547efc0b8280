"""A summariser's offer is checked, and one that would not help is reported and replaced."""

import pytest
from hypothesis import given

from polycontext.pressure import CompressionResult, ContextProjector, GistKind, Reach, view_of
from polycontext.pressure.gist import is_summary
from polycontext.testing import FAST
from polycontext.testing.strategies import ANY_TEXT
from polycontext.window import ContextWindow
from tests.pressure.samples import (
    Says,
    calls,
    extended,
    hard_plan,
    ids,
    opened,
    result,
    talk,
    user,
    words,
)

BAD_OFFERS: dict[str, tuple[object, str]] = {
    "an empty text": ("", "is empty"),
    "white space": (" \n\t ", "is empty"),
    "a longer text than the sources": (words(0, 2_000), "its sources"),
    "a text beyond the allowance": (words(0, 40), "its allowance is"),
    "a failure": (RuntimeError("overloaded"), "RuntimeError: overloaded"),
    "a lone surrogate": ("fine\ud800", "cannot be stored"),
    "nothing": (None, "None, not text"),
    "bytes": (b"summary", "bytes, not text"),
    "a number": (7, "int, not text"),
    "a list": (["summary"], "list, not text"),
    "a falsy object": ([], "list, not text"),
}


def grown() -> ContextWindow:
    """Return a window whose harsh plan has a block and a digest."""
    return extended(
        opened(1_000), [*talk(8), user("Well?"), calls("read"), result(0, words(30, 80))]
    )


def hard(projector: ContextProjector) -> CompressionResult:
    """Compress the grown window by its harsh plan."""
    window = grown()
    return projector.commit(window, projector.fulfil(hard_plan(projector, window, 40)))


@pytest.mark.parametrize(("offer", "reason"), BAD_OFFERS.values(), ids=BAD_OFFERS.keys())
def test_a_bad_offer_is_replaced_by_the_extractive_gist(offer: object, reason: str) -> None:
    """A bad offer is reported with ids and reason, and replaced by the extractive gist."""
    summariser = Says(offer)
    done = hard(ContextProjector(summariser, Reach(keep_recent=3)))
    expected = hard(ContextProjector(reach=Reach(keep_recent=3)))
    assert expected.rejections == ()
    block, digest = done.plan.jobs
    assert (block.kind, digest.kind) == (GistKind.BLOCK, GistKind.DIGEST)
    (rejection,) = done.rejections
    assert summariser.asked == 1
    assert rejection.sources == tuple(ids(block.sources))
    assert reason in rejection.reason
    assert done.window == expected.window
    assert done.tokens_after <= done.plan.tokens_promised


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_is_no_bad_offer(error: type[BaseException]) -> None:
    """An exception that stops the program is passed on."""
    with pytest.raises(error):
        ContextProjector(Says(error())).compress(grown(), 0.4)


class Wordy:
    """A counter that counts a frame as so long that no gist fits, while `refuses` is set."""

    exact = False
    refuses = True

    def count(self, text: str) -> int:
        """Return the estimate, and a thousand more for whatever has a frame."""
        return FAST.count(text) + (1_000 if self.refuses and text.startswith("[") else 0)


def test_where_no_gist_could_be_made_none_is_planned() -> None:
    """If no gist can fit, none is planned: only DROPPABLE turns leave, and the report says so."""
    window = extended(
        ContextWindow(1_000, counter=Wordy()),
        [user("The task."), *talk(4), user("thanks!"), *talk(4, first=4)],
    )
    done = ContextProjector(reach=Reach(keep_recent=2)).compress(window, 0.1)
    assert not done.rejections
    assert not done.reached
    assert done.dropped == ("t6",)
    assert done.gisted == ()
    assert done.kept == tuple(i for i in ids(window.all_turns()) if i != "t6")
    assert done.first_changed == 5
    assert (
        done.tokens_after
        == done.window.tokens
        == done.floor
        == window.tokens - (window.all_turns()[5].tokens or 0)
    )


def grown_wordy() -> tuple[ContextWindow, Wordy]:
    """Return a window whose gists can be planned, and its counter, which can refuse them later."""
    counter = Wordy()
    counter.refuses = False
    return extended(ContextWindow(1_000, counter=counter), [user("The task."), *talk(8)]), counter


def test_where_even_the_extractive_gist_does_not_fit_the_sources_stay() -> None:
    """If all summaries are refused and nothing can be dropped, the window is unchanged."""
    window, counter = grown_wordy()
    projector = ContextProjector(reach=Reach(keep_recent=2))
    fulfilment = projector.fulfil(projector.plan_within(window, 100))
    counter.refuses = True
    done = projector.commit(window, fulfilment)
    assert done.rejections
    assert not done.reached
    assert done.window.all_turns() == window.all_turns()
    assert (done.first_changed, done.tokens_saved) == (None, 0)
    assert set(view_of(done.window, window.atoms()).fidelities.values()) == {2}


def test_ids_stay_unique_when_a_gist_was_refused() -> None:
    """A refused gist leaves no id behind that a later one could take a second time."""
    window, counter = grown_wordy()
    window = extended(window, [calls("read"), result(0, words(1, 80))])
    projector = ContextProjector(reach=Reach(keep_recent=2))
    fulfilment = projector.fulfil(hard_plan(projector, window, 50))
    counter.refuses = True
    refused = projector.commit(window, fulfilment).window
    counter.refuses = False
    once = projector.compress(refused, 0.2).window
    twice = projector.compress(extended(once, talk(8, first=20)), 0.1).window
    for after in (once, twice):
        assert len(set(ids(after.all_turns()))) == len(after.all_turns())
    assert list(once.linearity) == list(twice.linearity)[: len(once.linearity)]
    made = [i for i in twice.linearity if i.startswith("g")]
    assert (
        len(made)
        == len(set(made))
        == len(
            {
                i
                for each in (refused, once, twice)
                for i in ids(each.all_turns())
                if i.startswith("g")
            }
        )
    )


@given(ANY_TEXT)
def test_any_text_of_a_summariser_gives_a_legal_window(text: str) -> None:
    """Accepted or refused: the compressed window counts right and holds its promise."""
    window = grown()
    done = ContextProjector(Says(text)).compress(window, 0.4)
    assert (
        done.window.tokens
        == sum(turn.tokens or 0 for turn in done.window.all_turns())
        <= done.plan.tokens_promised
    )
    for turn in done.window.all_turns():
        if is_summary(turn) and not done.rejections:
            assert turn.text.partition("\n")[2].startswith("\n".join(text.strip().splitlines()))
