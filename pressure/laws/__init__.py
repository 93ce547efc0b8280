"""The laws of pressure: an order with meets, a Galois connection, a chain of plans, and compressions that lose nothing preserved.

Who brings an object of their own passes it in. `projector` is anything with ``compress(window, target)``
whose result has a ``window``; `summariser` anything with the method of `Summariser`. What takes a
`planner`, a `ladder`, a `plan` or a `result` is about plans and asks for those of `ContextProjector`.
Views are passed as `first_view`, `second_view`, `third_view` and `ceiling`, all over one log.
"""

from polycontext.pressure.laws.plans import (
    ceilings_fall_along_the_chain,
    chain_falls_strictly,
    compressions_do_what_their_plans_say,
    every_plan_is_the_gentlest_for_its_promise,
    harsher_targets_raise_no_ceiling,
    planning_repeats,
    plans_and_pressures_are_adjoint,
    plans_respect_the_class_floors,
    plans_touch_no_turn_twice,
    promises_are_kept,
    reports_tell_what_happened,
)
from polycontext.pressure.laws.projectors import (
    Compressed,
    Compressor,
    atoms_are_never_split,
    compressing_again_changes_nothing,
    compressing_never_adds_tokens,
    fidelities_only_fall,
    gists_are_shorter_than_their_sources,
    ledger_survives_compression,
    open_atom_and_last_user_turn_never_yield,
    order_is_kept,
    preserved_turns_stay_byte_identical,
    sources_are_never_lost,
    what_stands_is_unchanged,
)
from polycontext.pressure.laws.summarisers import (
    offline_summaries_repeat,
    offline_summaries_say_something,
    summaries_are_storable_text,
    summaries_keep_to_their_allowance,
)
from polycontext.pressure.laws.views import (
    compress_undoes_expand,
    compressing_is_deflationary,
    compressing_is_idempotent,
    compressing_is_monotone,
    expand_and_compress_are_adjoint,
    meet_is_associative,
    meet_is_commutative,
    meet_is_idempotent,
    meet_is_the_greatest_lower_bound,
    view_order_is_antisymmetric,
    view_order_is_reflexive,
    view_order_is_transitive,
)

__all__ = [
    "Compressed",
    "Compressor",
    "atoms_are_never_split",
    "ceilings_fall_along_the_chain",
    "chain_falls_strictly",
    "compress_undoes_expand",
    "compressing_again_changes_nothing",
    "compressing_is_deflationary",
    "compressing_is_idempotent",
    "compressing_is_monotone",
    "compressing_never_adds_tokens",
    "compressions_do_what_their_plans_say",
    "every_plan_is_the_gentlest_for_its_promise",
    "expand_and_compress_are_adjoint",
    "fidelities_only_fall",
    "gists_are_shorter_than_their_sources",
    "harsher_targets_raise_no_ceiling",
    "ledger_survives_compression",
    "meet_is_associative",
    "meet_is_commutative",
    "meet_is_idempotent",
    "meet_is_the_greatest_lower_bound",
    "offline_summaries_repeat",
    "offline_summaries_say_something",
    "open_atom_and_last_user_turn_never_yield",
    "order_is_kept",
    "planning_repeats",
    "plans_and_pressures_are_adjoint",
    "plans_respect_the_class_floors",
    "plans_touch_no_turn_twice",
    "preserved_turns_stay_byte_identical",
    "promises_are_kept",
    "reports_tell_what_happened",
    "sources_are_never_lost",
    "summaries_are_storable_text",
    "summaries_keep_to_their_allowance",
    "view_order_is_antisymmetric",
    "view_order_is_reflexive",
    "view_order_is_transitive",
    "what_stands_is_unchanged",
]
