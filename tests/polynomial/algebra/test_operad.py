"""The operad of windows: arities, composition, and the laws of merging."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import CONTEXT_OPERAD, Operad, Operation
from polycontext.testing import FAST, Move, conversations, filled
from polycontext.window import ContextWindow, Turn
from tests.polynomial.conversations import WORDS, chat, words

APPEND = CONTEXT_OPERAD.operation("append", Turn("user", "hello"))
REPLY = CONTEXT_OPERAD.operation("append", Turn("assistant", "hi"))
COMPRESS = CONTEXT_OPERAD.operation("compress", 0.0)
MERGE = CONTEXT_OPERAD.operation("merge")
EMPTY = CONTEXT_OPERAD.operation("empty", 1000)
ID = CONTEXT_OPERAD.identity()


def window_of(*turns: Turn) -> ContextWindow:
    """Return a window with these turns."""
    window = ContextWindow(1000, counter=WORDS)
    for turn in turns:
        window = window.append(turn)
    return window


ONE, TWO, THREE = window_of(*chat(3)), window_of(*chat(2, 5)), window_of(Turn("user", "last"))


def shown(window: ContextWindow) -> list[tuple[str, str | None, ResourceClass]]:
    """Return what a window says, with classes, whatever its ids."""
    return [(turn.role, turn.content, window.class_of(turn)) for turn in window.all_turns()]


def test_the_operations_and_their_arities() -> None:
    """empty/0, append/1, compress/1, merge/2, and what is made has the arity that is announced."""
    assert CONTEXT_OPERAD.arities == {"empty": 0, "append": 1, "compress": 1, "merge": 2}
    assert [(op.name, op.arity) for op in (EMPTY, APPEND, COMPRESS, MERGE)] == list(
        CONTEXT_OPERAD.arities.items()
    )
    assert (ID.name, ID.arity) == ("id", 1)
    assert Operad({"forget": lambda: ID}, {"forget": 1}).arities == {"forget": 1}


def test_operations_do_what_they_are_called() -> None:
    """`empty`, `append`, `compress` and `merge` do what their names say."""
    assert (len(EMPTY()), EMPTY().max_tokens) == (0, 1000)
    assert APPEND(ONE).extract() == ONE.append(Turn("user", "hello")).extract()
    long = window_of(*chat(20))
    assert COMPRESS(long).tokens < long.tokens
    assert shown(MERGE(ONE, TWO)) == shown(ONE) + shown(TWO)


@pytest.mark.parametrize("operation", [EMPTY, APPEND, COMPRESS, MERGE, ID], ids=lambda op: op.name)
def test_wrong_numbers_of_places_are_refused(operation: Operation) -> None:
    """Calling or composing with another number than the arity is refused, naming both."""
    with pytest.raises(InvalidOptionError) as caught:
        operation(*[ONE] * (operation.arity + 1))
    assert (caught.value.value, caught.value.legal) == (
        operation.arity + 1,
        f"exactly {operation.arity}",
    )
    with pytest.raises(
        InvalidOptionError, match=f"= {operation.arity + 1}. Use exactly {operation.arity}"
    ):
        operation.compose(*[ID] * (operation.arity + 1))


def test_unknown_operations_are_refused() -> None:
    """The error names the legal ones."""
    with pytest.raises(UnknownNameError, match=r"'split'. Use empty, append, compress, merge"):
        CONTEXT_OPERAD.operation("split")


def test_arities_add_up_under_composition() -> None:
    """Composing puts results into places: the arity is the sum of the inner ones."""
    assert MERGE.compose(MERGE, APPEND).arity == 3
    assert MERGE.compose(EMPTY, ID).arity == 1
    assert EMPTY.compose().arity == 0
    assert MERGE.compose(MERGE, MERGE).compose(EMPTY, APPEND, MERGE, EMPTY).arity == 3


def test_composition_applies_the_inner_operations_first() -> None:
    """Each inner operation takes its share of the windows, in order."""
    composed = MERGE.compose(APPEND, REPLY)
    assert composed(ONE, TWO) == MERGE(APPEND(ONE), REPLY(TWO))
    assert MERGE.compose(MERGE, REPLY)(ONE, TWO, THREE) == MERGE(MERGE(ONE, TWO), REPLY(THREE))


@pytest.mark.parametrize("operation", [EMPTY, APPEND, COMPRESS, MERGE], ids=lambda op: op.name)
def test_identity_law(operation: Operation) -> None:
    """Composing with identities on either side changes nothing."""
    windows = [ONE, TWO][: operation.arity]
    assert ID.compose(operation)(*windows) == operation(*windows)
    assert operation.compose(*[ID] * operation.arity)(*windows) == operation(*windows)


def test_associativity_of_composition() -> None:
    """Composing inside first or outside first is the same operation."""
    left = MERGE.compose(APPEND, MERGE).compose(COMPRESS, REPLY, ID)
    right = MERGE.compose(APPEND.compose(COMPRESS), MERGE.compose(REPLY, ID))
    assert left.arity == right.arity == 3
    assert left(ONE, TWO, THREE) == right(ONE, TWO, THREE)


@given(conversations(max_atoms=6))
def test_the_empty_window_is_the_unit_of_merging(moves: list[Move]) -> None:
    """Merging with the empty window of the same kind, on either side, is the identity."""
    window, empty = filled(moves), ContextWindow(1000, counter=FAST)
    assert MERGE(window, empty) == window
    assert shown(MERGE(empty, window)) == shown(window)


@given(st.lists(conversations(max_atoms=4), min_size=3, max_size=3))
def test_merging_is_associative(three: list[list[Move]]) -> None:
    """(a · b) · c equals a · (b · c), classes included, unless an inner window has open calls."""
    a, b, c = (closed(filled(moves)) for moves in three)
    assert (
        shown(MERGE(MERGE(a, b), c))
        == shown(MERGE(a, MERGE(b, c)))
        == [*shown(a), *shown(b), *shown(c)]
    )


def closed(window: ContextWindow) -> ContextWindow:
    """Answer all open calls."""
    for call in window.open_calls:
        window = window.append(Turn("tool", "done", tool_call_id=call))
    return window


def test_merging_keeps_classes_and_makes_ids_unique() -> None:
    """Merging keeps a promoted turn PRESERVED, renames clashing ids, and leaves a usable window."""
    second = TWO.promote("t2", ResourceClass.PRESERVED)
    merged = MERGE(ONE, second)
    assert [merged.class_of(turn) for turn in merged.all_turns()][-1] is ResourceClass.PRESERVED
    assert len({turn.resource_id for turn in merged.all_turns()}) == 5
    for turn in chat(6):
        merged = merged.append(turn)
    assert len(merged) == 11


def test_a_merge_keeps_the_first_windows_budget() -> None:
    """Budget, counter and classifier are the first one's, even where it is empty."""
    small = ContextWindow(50, counter=WORDS)
    assert MERGE(small, ONE).max_tokens == 50
    assert MERGE(ONE, ContextWindow(50, counter=WORDS)).max_tokens == 1000
    other = ContextWindow(500, counter=FAST)
    assert MERGE(other, ONE).tokens == sum(
        other.append(Turn(turn.role, turn.content)).tokens for turn in ONE.all_turns()
    )
    assert MERGE(small, ONE).all_turns() == ONE.all_turns()


def test_a_compressed_window_can_be_merged() -> None:
    """Gists are merged like other turns, and what follows gets ids of its own."""
    merged = MERGE(window_of(Turn("user", "task")), COMPRESS(window_of(*chat(20))))
    for number in range(30):
        merged = merged.append(Turn("user", words(3, f"m{number}_")))
    assert len({turn.resource_id for turn in merged.all_turns()}) == len(merged)
