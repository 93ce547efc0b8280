"""The laws of the window: a comonad, a store, a functor, honest sums, atoms, counters and formats.

The names and statements are those of Haskell's ``Control.Comonad`` and
``Control.Comonad.Store``; seed 004 Appendix A asks for them. A store law takes a store
or a window at any focus; two stores count as the same when they show the same values at
every position, however deep, and have the same focus. A `position` is one of the store's
(``0..last``), a `turn` may come next in the window (``window.check_order(turn)`` accepts
it), unless the law says "any". Run them on your own by passing it in.
"""

from polycontext.window.laws.counters_and_formats import (
    a_turn_costs_its_text_and_framing,
    counting_repeats,
    reading_undoes_writing,
    what_is_written_is_valid,
    what_was_read_is_written_back_unchanged,
)
from polycontext.window.laws.stores import (
    duplicate_is_associative,
    duplicate_is_extend_by_identity,
    duplicate_shows_every_focus,
    duplicate_then_extract_is_identity,
    duplicate_then_map_extract_is_identity,
    experiment_peeks_at_each_position,
    extend_extract_is_identity,
    extend_is_associative,
    extend_is_map_after_duplicate,
    extract_is_peek_at_the_focus,
    extract_of_extend_is_the_function,
    map_is_extend_after_extract,
    map_keeps_composition,
    map_keeps_identity,
    positions_outside_are_refused,
    relative_moves_start_at_the_focus,
    seek_moves_the_focus_alone,
    seek_reaches_every_position,
    seek_to_the_focus_changes_nothing,
    the_last_seek_wins,
    what_extend_returns_is_a_sequence,
)
from polycontext.window.laws.windows import (
    a_turn_is_counted_once,
    append_ignores_the_focus,
    append_keeps_what_was_there,
    append_shows_the_turn,
    atoms_are_never_split,
    atoms_partition_the_turns,
    calls_are_answered_before_anything_else,
    clearing_keeps_the_ledger,
    every_turn_has_an_id_of_its_own_and_a_class,
    forks_share_nothing_but_the_past,
    splicing_cuts_the_run_alone,
    sums_equal_recounting,
)

__all__ = [
    "a_turn_costs_its_text_and_framing",
    "a_turn_is_counted_once",
    "append_ignores_the_focus",
    "append_keeps_what_was_there",
    "append_shows_the_turn",
    "atoms_are_never_split",
    "atoms_partition_the_turns",
    "calls_are_answered_before_anything_else",
    "clearing_keeps_the_ledger",
    "counting_repeats",
    "duplicate_is_associative",
    "duplicate_is_extend_by_identity",
    "duplicate_shows_every_focus",
    "duplicate_then_extract_is_identity",
    "duplicate_then_map_extract_is_identity",
    "every_turn_has_an_id_of_its_own_and_a_class",
    "experiment_peeks_at_each_position",
    "extend_extract_is_identity",
    "extend_is_associative",
    "extend_is_map_after_duplicate",
    "extract_is_peek_at_the_focus",
    "extract_of_extend_is_the_function",
    "forks_share_nothing_but_the_past",
    "map_is_extend_after_extract",
    "map_keeps_composition",
    "map_keeps_identity",
    "positions_outside_are_refused",
    "reading_undoes_writing",
    "relative_moves_start_at_the_focus",
    "seek_moves_the_focus_alone",
    "seek_reaches_every_position",
    "seek_to_the_focus_changes_nothing",
    "splicing_cuts_the_run_alone",
    "sums_equal_recounting",
    "the_last_seek_wins",
    "what_extend_returns_is_a_sequence",
    "what_is_written_is_valid",
    "what_was_read_is_written_back_unchanged",
]
