"""What tests of conversations need: strategies for Hypothesis, a runner for the laws, and the contract of session stores; needs the extra `laws`.

Each strategy is biased towards the edges where context code breaks: empty conversations, one
turn, open atoms, ids of calls that are used again, equal timestamps, hostile and
multilingual text, budgets far too small, windows that were compressed many times.
`for_parameter` finds the strategy for a parameter of a law by its name.

    from hypothesis import given
    from polycontext.testing import windows

    @given(windows())
    def test_my_summary_never_grows(window): ...
"""

from polycontext.linearity.extras import require

# Before the imports below, so that who lacks Hypothesis is told what to install.
require("hypothesis", extra="laws", purpose="polycontext.testing")

# ruff: noqa: E402
from .law_inputs import for_parameter, inputs_of
from .law_runner import Counterexample, Verdict, all_laws, run_law
from .machines import agents, lenses, machine_inputs, sessions
from .store_contract import STORE_CHECKS
from .structures import ledgers, stores
from .talk import (
    ANY_TEXT,
    CLASSES,
    CONSTRAINTS,
    FAST,
    HOSTILE_TEXTS,
    PROSE,
    TARGETS,
    TEXTS,
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
    wire_turns,
)

__all__ = [
    "ANY_TEXT",
    "CLASSES",
    "CONSTRAINTS",
    "FAST",
    "HOSTILE_TEXTS",
    "PROSE",
    "STORE_CHECKS",
    "TARGETS",
    "TEXTS",
    "Counterexample",
    "Head",
    "Move",
    "Verdict",
    "agents",
    "all_laws",
    "atoms",
    "calling_turns",
    "conversations",
    "filled",
    "for_parameter",
    "inputs_of",
    "ledgers",
    "lenses",
    "lived_windows",
    "lives",
    "machine_inputs",
    "plain_turns",
    "reaches",
    "run_law",
    "sessions",
    "stores",
    "texts",
    "windows",
    "wire_turns",
]
