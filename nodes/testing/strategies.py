"""Conversations, windows and reaches as Hypothesis strategies, for your own property tests; needs the extra `laws`.

Each is biased towards the edges where context code breaks: empty conversations, one
turn, open atoms, ids of calls that are used again, equal timestamps, hostile and
multilingual text, budgets far too small, windows that were compressed many times.
`for_parameter` finds the strategy for a parameter of a law by its name.

    from hypothesis import given
    from polycontext.nodes.testing.strategies import windows

    @given(windows())
    def test_my_summary_never_grows(window): ...
"""

from polycontext.nodes.extras import require

require("hypothesis", extra="laws", purpose="generated conversations")

from polycontext.nodes.testing.conversations import (  # noqa: E402 - the line above says what to install where Hypothesis is missing
    ACKNOWLEDGEMENTS,
    ANY_TEXT,
    ARGUMENTS,
    BUDGETS,
    CALL_IDS,
    CLASSES,
    CONSTRAINTS,
    EMPTY_RESULTS,
    FAST,
    GAPS,
    HOSTILE_TEXTS,
    PROSE,
    START,
    TARGETS,
    TEXTS,
    TOOLS,
    Head,
    Move,
    atoms,
    calling_turns,
    conversations,
    filled,
    lived_windows,
    lives,
    plain_turns,
    reaches,
    texts,
    windows,
)
from polycontext.nodes.testing.law_inputs import for_parameter  # noqa: E402
from polycontext.nodes.testing.machines import agents, lenses, machine_inputs, sessions  # noqa: E402

__all__ = [
    "ACKNOWLEDGEMENTS",
    "ANY_TEXT",
    "ARGUMENTS",
    "BUDGETS",
    "CALL_IDS",
    "CLASSES",
    "CONSTRAINTS",
    "EMPTY_RESULTS",
    "FAST",
    "GAPS",
    "HOSTILE_TEXTS",
    "PROSE",
    "START",
    "TARGETS",
    "TEXTS",
    "TOOLS",
    "Head",
    "Move",
    "agents",
    "atoms",
    "calling_turns",
    "conversations",
    "filled",
    "for_parameter",
    "lenses",
    "lived_windows",
    "lives",
    "machine_inputs",
    "plain_turns",
    "reaches",
    "sessions",
    "texts",
    "windows",
]
