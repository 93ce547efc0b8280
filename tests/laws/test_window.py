"""The laws of the window hold for stores of any kind, for windows at any focus, for every counter and every format."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window import ContextWindow, EstimatingCounter, TiktokenCounter, TokenCounter, Turn, calibrate, laws
from polycontext.window.providers import WireFormat, get_format
from tests.laws.stores import ANY_TURN, VIEWS, AnyStore, View, continued, placed, small_stores, small_tests, small_views, stores
from tests.strategies import ANY_TEXT, HOSTILE_TEXTS, lived_windows, windows
from tests.window.providers.wire_conversations import conversations as wire_conversations

POSITIONS = st.sampled_from([-1, 0, 1]) | st.integers(-9, 99)
WINDOWS = windows() | lived_windows()
COUNTERS = st.sampled_from([EstimatingCounter(), TiktokenCounter("o200k_base"), calibrate(EstimatingCounter(), 80, 100)])
FORMATS = st.sampled_from([get_format("openai"), get_format("anthropic")])


@given(stores())
def test_duplicate_then_extract_is_identity(store: AnyStore) -> None:
    """``extract . duplicate = id``."""
    laws.duplicate_then_extract_is_identity(store)


@given(stores())
def test_duplicate_then_map_extract_is_identity(store: AnyStore) -> None:
    """``fmap extract . duplicate = id``."""
    laws.duplicate_then_map_extract_is_identity(store)


@given(stores())
def test_duplicate_is_associative(store: AnyStore) -> None:
    """``duplicate . duplicate = fmap duplicate . duplicate``."""
    laws.duplicate_is_associative(store)


@given(placed())
def test_duplicate_shows_every_focus(place: tuple[AnyStore, int, int]) -> None:
    """A snapshot is the store, focused there."""
    store, position, _ = place
    laws.duplicate_shows_every_focus(store, position)


@given(stores())
def test_extend_extract_is_identity(store: AnyStore) -> None:
    """``extend extract = id``."""
    laws.extend_extract_is_identity(store)


@given(stores(), VIEWS)
def test_extract_of_extend_is_the_function(store: AnyStore, view: View) -> None:
    """``extract . extend f = f``."""
    laws.extract_of_extend_is_the_function(store, view)


@given(stores(), VIEWS, VIEWS)
def test_extend_is_associative(store: AnyStore, view: View, other_view: View) -> None:
    """``extend g . extend f = extend (g . extend f)``."""
    laws.extend_is_associative(store, view, other_view)


@given(stores(), VIEWS)
def test_extend_is_map_after_duplicate(store: AnyStore, view: View) -> None:
    """``extend f = fmap f . duplicate``."""
    laws.extend_is_map_after_duplicate(store, view)


@given(stores())
def test_duplicate_is_extend_by_identity(store: AnyStore) -> None:
    """``duplicate = extend id``."""
    laws.duplicate_is_extend_by_identity(store)


@given(stores())
def test_map_is_extend_after_extract(store: AnyStore) -> None:
    """``fmap f = extend (f . extract)``."""
    laws.map_is_extend_after_extract(store)


@given(stores())
def test_map_keeps_identity(store: AnyStore) -> None:
    """``fmap id = id``."""
    laws.map_keeps_identity(store)


@given(stores())
def test_map_keeps_composition(store: AnyStore) -> None:
    """``fmap (g . f) = fmap g . fmap f``."""
    laws.map_keeps_composition(store)


@given(stores())
def test_extract_is_peek_at_the_focus(store: AnyStore) -> None:
    """``extract s = peek (pos s) s``."""
    laws.extract_is_peek_at_the_focus(store)


@given(placed())
def test_seek_reaches_every_position(place: tuple[AnyStore, int, int]) -> None:
    """``pos (seek p s) = p`` and ``extract (seek p s) = peek p s``."""
    store, position, _ = place
    laws.seek_reaches_every_position(store, position)


@given(stores())
def test_seek_to_the_focus_changes_nothing(store: AnyStore) -> None:
    """``seek (pos s) s = s``."""
    laws.seek_to_the_focus_changes_nothing(store)


@given(placed())
def test_the_last_seek_wins(place: tuple[AnyStore, int, int]) -> None:
    """``seek q . seek p = seek q``."""
    laws.the_last_seek_wins(*place)


@given(placed())
def test_seek_moves_the_focus_alone(place: tuple[AnyStore, int, int]) -> None:
    """Seeking is reading elsewhere."""
    store, position, _ = place
    laws.seek_moves_the_focus_alone(store, position)


@given(stores(), st.integers(0, 9))
def test_relative_moves_start_at_the_focus(store: AnyStore, position: int) -> None:
    """``seeks f s = seek (f (pos s)) s`` and ``peeks f s = peek (f (pos s)) s``."""
    laws.relative_moves_start_at_the_focus(store, position)


@given(placed())
def test_experiment_peeks_at_each_position(place: tuple[AnyStore, int, int]) -> None:
    """``experiment f s = fmap (flip peek s) (f (pos s))``, for none, one and several positions."""
    store, position, other_position = place
    for positions in ([], [position], [position, other_position, position]):
        laws.experiment_peeks_at_each_position(store, positions)


@given(stores(), POSITIONS)
def test_positions_outside_are_refused(store: AnyStore, position: int) -> None:
    """Nothing is before 0 or behind the last."""
    laws.positions_outside_are_refused(store, position)
    laws.positions_outside_are_refused(store, store.last + 1)


@given(stores())
def test_what_extend_returns_is_a_sequence(store: AnyStore) -> None:
    """What the comonad's operations return can be listed, measured and indexed."""
    laws.what_extend_returns_is_a_sequence(store)


@pytest.mark.parametrize("last", [0, 1, 2])
def test_every_small_store_obeys(last: int) -> None:
    """All functions from ``0..last`` to two letters, all focuses, all positions: every law that takes no view."""
    alone: list[Callable[[AnyStore], None]] = [
        *(laws.duplicate_then_extract_is_identity, laws.duplicate_then_map_extract_is_identity, laws.duplicate_is_associative),
        *(laws.extend_extract_is_identity, laws.duplicate_is_extend_by_identity, laws.map_is_extend_after_extract),
        *(laws.map_keeps_identity, laws.map_keeps_composition, laws.extract_is_peek_at_the_focus),
        *(laws.seek_to_the_focus_changes_nothing, laws.what_extend_returns_is_a_sequence),
    ]
    moving: list[Callable[[AnyStore, int], None]] = [
        *(laws.duplicate_shows_every_focus, laws.seek_reaches_every_position, laws.seek_moves_the_focus_alone),
        *(laws.relative_moves_start_at_the_focus, laws.positions_outside_are_refused),
    ]
    for store in small_stores(last):
        for law in alone:
            law(store)
        for position in range(last + 1):
            for move in moving:
                move(store, position)
            for other_position in range(last + 1):
                laws.the_last_seek_wins(store, position, other_position)
                laws.experiment_peeks_at_each_position(store, [position, other_position])


@pytest.mark.parametrize("last", [0, 1])
def test_every_view_of_every_small_store_obeys(last: int) -> None:
    """All views of all stores of one and of two positions, and behind them all views that matter: every law of `extend`."""
    for view in small_views(last):
        for store in small_stores(last):
            laws.extract_of_extend_is_the_function(store, view)
            laws.extend_is_map_after_duplicate(store, view)
            for other_view in small_tests(last):
                laws.extend_is_associative(store, view, other_view)


@given(continued())
def test_append_shows_the_turn(case: tuple[ContextWindow, Turn, Turn]) -> None:
    """What was appended is in focus, as it was said."""
    window, turn, _ = case
    laws.append_shows_the_turn(window, turn)


@given(continued())
def test_append_keeps_what_was_there(case: tuple[ContextWindow, Turn, Turn]) -> None:
    """One more turn, and the old window as it was."""
    window, turn, _ = case
    laws.append_keeps_what_was_there(window, turn)


@given(continued(), st.data())
def test_append_ignores_the_focus(case: tuple[ContextWindow, Turn, Turn], data: st.DataObject) -> None:
    """A window that looks back goes on at its end."""
    window, turn, _ = case
    laws.append_ignores_the_focus(window, turn, data.draw(st.integers(0, len(window))))


@given(continued())
def test_forks_share_nothing_but_the_past(case: tuple[ContextWindow, Turn, Turn]) -> None:
    """Two futures of one window never meet."""
    laws.forks_share_nothing_but_the_past(*case)


@given(windows(max_atoms=6), ANY_TURN)
def test_calls_are_answered_before_anything_else(window: ContextWindow, turn: Turn) -> None:
    """Results come when calls wait for them, everything else when none does."""
    laws.calls_are_answered_before_anything_else(window, turn)


@given(WINDOWS)
def test_every_turn_has_an_id_of_its_own_and_a_class(window: ContextWindow) -> None:
    """Also after compressions, gists and reused call ids."""
    laws.every_turn_has_an_id_of_its_own_and_a_class(window)


@given(WINDOWS)
def test_sums_equal_recounting(window: ContextWindow) -> None:
    """Tokens and pressure at every position are what counting again gives."""
    laws.sums_equal_recounting(window)


@given(continued())
def test_a_turn_is_counted_once(case: tuple[ContextWindow, Turn, Turn]) -> None:
    """A turn is counted when it comes in, and never again."""
    window, turn, _ = case
    laws.a_turn_is_counted_once(window, turn)


@given(WINDOWS)
def test_atoms_partition_the_turns(window: ContextWindow) -> None:
    """Atoms side by side are the window."""
    laws.atoms_partition_the_turns(window)


@given(WINDOWS)
def test_atoms_are_never_split(window: ContextWindow) -> None:
    """Calls and results stay together."""
    laws.atoms_are_never_split(window)


@given(WINDOWS, st.integers(0, 40))
def test_splicing_cuts_the_run_alone(window: ContextWindow, position: int) -> None:
    """One atom goes, everything else stays."""
    laws.splicing_cuts_the_run_alone(window, position)


@given(WINDOWS)
def test_clearing_keeps_the_ledger(window: ContextWindow) -> None:
    """The conversation goes, what is known of it stays."""
    laws.clearing_keeps_the_ledger(window)


@given(COUNTERS, ANY_TEXT | st.sampled_from(HOSTILE_TEXTS))
def test_counting_repeats(counter: TokenCounter, text: str) -> None:
    """Counts are facts."""
    laws.counting_repeats(counter, text)


@given(COUNTERS, ANY_TURN)
def test_a_turn_costs_its_text_and_framing(counter: TokenCounter, turn: Turn) -> None:
    """Nothing that is sent is free."""
    laws.a_turn_costs_its_text_and_framing(counter, turn)


@given(FORMATS, wire_conversations(open_tail=True))
def test_what_is_written_is_valid(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """Whatever the ids, arguments and texts, the provider takes it."""
    laws.what_is_written_is_valid(wire, turns)


@given(FORMATS, wire_conversations(open_tail=True))
def test_reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """No word and no call is lost between two formats of one conversation."""
    laws.reading_undoes_writing(wire, turns)


@given(FORMATS, wire_conversations(open_tail=True))
def test_what_was_read_is_written_back_unchanged(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """An original is an original."""
    laws.what_was_read_is_written_back_unchanged(wire, turns)
