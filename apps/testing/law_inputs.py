"""The inputs of laws: how to draw a value for each name that a law's parameter may have.

Some values only make sense together with others (a position of that store, views over one log). A
strategy is therefore made from the values drawn before it, and a law's inputs are drawn together,
in the order of `PARAMETERS`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hypothesis import strategies as st

from polycontext.agents import AgentMemory, Recollection
from polycontext.agents.forms import read_answer
from polycontext.base import Law, UnknownNameError, similar
from polycontext.linearity import default_classifier
from polycontext.nodes.builders import build_context
from polycontext.polynomial import (
    ContextMachine,
    ContextSession,
)
from polycontext.polynomial.policies import Policy
from polycontext.pressure import ExtractiveSummariser
from polycontext.window import ContextWindow, Role, TiktokenCounter, Turn
from polycontext.window.tokens.counter import calibrate

from .agent_strategies import (
    FORMS,
    MOMENTS,
    NODES,
    agent_sessions,
    answers_to,
)
from .law_strategies import (
    POLICIES,
    machine_inputs,
    projectors,
)
from .strategies import (
    ACKNOWLEDGEMENTS,
    CALL_IDS,
    CONSTRAINTS,
    FAST,
    HOSTILE_TEXTS,
    TARGETS,
    TEXTS,
    calling_turns,
    conversations,
    filled,
    lived_windows,
    plain_turns,
    windows,
)

Known = Mapping[str, Any]
Drawing = Callable[[Known], st.SearchStrategy[Any]]
Drawings = Mapping[str, Drawing]
Strategies = Mapping[str, st.SearchStrategy[Any]]

NOTHING: Final[Known] = MappingProxyType({})


def drawings(given: Mapping[str, Drawing | st.SearchStrategy[Any]]) -> Drawings:
    """Return the drawing of each name; a plain strategy ignores the values drawn before it."""
    return MappingProxyType(
        {
            name: (lambda _, each=each: each) if isinstance(each, st.SearchStrategy) else each
            for names, each in given.items()
            for name in names.split()
        }
    )


def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


# --- texts ---------------------------------------------------------------

_FACTS = st.dictionaries(
    st.sampled_from(["gist", "first_user", "has_calls", "has_parts", "answers_question"]),
    st.booleans(),
)
_NUMBERS = st.fixed_dictionaries(
    {},
    optional={key: st.sampled_from([0, 1, 50, 10_000]) for key in ("constraint_tokens", "tokens")},
)
_WORDS = (
    *("never", "must", "mind", "always", "from now on", "don't", "know", "please", "x", "e.g. "),
    *(
        "```",
        "~~~",
        "\n",
        ". ",
        "? ",
        ":\n",
        "- ",
        "1. ",
        "    ",
        "’",
        '"',
        "`",
        "\t",
        "\r",
        "\u2028",
    ),
    *("必须", "。", "必ず", "しも"),
)
_PIECES = st.lists(st.sampled_from(_WORDS), max_size=25)
"""Parts of sentences that state a constraint, or look as if they did."""
_SAID = st.sampled_from(CONSTRAINTS) | st.sampled_from(ACKNOWLEDGEMENTS)
_CONTENTS = _SAID | TEXTS | _PIECES.map(" ".join) | _PIECES.map("".join)


# --- windows --------------------------------------------------------------


def focused_anywhere(window: ContextWindow) -> st.SearchStrategy[ContextWindow]:
    """Draw the window as it is, or with the focus elsewhere."""
    return st.just(window) | st.integers(0, len(window)).map(window.seek)


_LIVED = lived_windows().flatmap(focused_anywhere)
_ANY = windows() | windows(max_atoms=6) | _LIVED  # lived windows are slow to draw
# Sizes that a few turns fill; otherwise a machine would hardly ever be PRESSURED.
_EMPTY = st.sampled_from([60, 120, 200, 400, 1_000, 4_000]).map(
    lambda size: ContextWindow(size, counter=FAST)
)


def _windows(known: Known) -> st.SearchStrategy[ContextWindow]:
    """Draw any window.

    Compression gets a window with a history, and a machine an empty one.
    """
    if "policy" in known:
        return _EMPTY
    return _LIVED if "projector" in known else _ANY


_RESULTS = st.builds(Turn, st.just(Role.TOOL), TEXTS, tool_call_id=st.sampled_from(CALL_IDS))
_TURNS = plain_turns() | calling_turns() | _RESULTS
_HOSTILE = st.lists(st.sampled_from(HOSTILE_TEXTS), min_size=1, max_size=3)


def _conversations(known: Known) -> st.SearchStrategy[Sequence[Turn]]:
    """Draw the turns of a conversation as a window holds them, with ids and token counts.

    For a summariser, there is always text to read.
    """
    turns = conversations(max_atoms=6).map(lambda moves: filled(moves).all_turns())
    if "allowance" in known:
        return turns.filter(bool) | _HOSTILE.map(
            lambda texts: filled([(Turn(Role.USER, text), None) for text in texts]).all_turns()
        )
    return turns


# --- machines -------------------------------------------------------------


def _recollect(session: ContextSession) -> AgentMemory:
    """Return the memory of a session."""
    return Recollection(session).memory


_DRAWINGS: Final[Mapping[str, Drawing | st.SearchStrategy[Any]]] = {
    # machines and operations, before the values they are applied to
    "machine": _one_of(ContextMachine),
    "policy": POLICIES,
    "projector": projectors(),
    # linearity
    "classifier": _one_of(default_classifier),
    "role": _one_of(*(role.value for role in Role), "other"),
    "content": _CONTENTS,
    "metadata": st.builds(lambda facts, numbers: facts | numbers, _FACTS, _NUMBERS),
    # window
    "window": _windows,
    "turn": _TURNS,
    "counter": lambda _: st.sampled_from(
        [FAST, TiktokenCounter("o200k_base"), calibrate(FAST, 80, 100)]
    ),
    "text": TEXTS,
    # pressure
    "target other_target": TARGETS,
    "targets": st.lists(TARGETS, min_size=1, max_size=6),
    "summariser": _one_of(ExtractiveSummariser()),
    # 1 comes first, so that a counterexample shrinks to it: an allowance of 0 is a special case.
    "allowance": st.sampled_from([1, 0, 7, 40, 41, 200, 400]) | st.integers(0, 2_000),
    "turns": _conversations,
    # polynomial and nodes
    "inputs": machine_inputs(),
    "machine_class": _one_of(ContextMachine),
    "machine_policy": _one_of(Policy("assistant_turn", "user_turn")),
    "max_tokens": _one_of(60, 150, 300, 1_000, 100_000),
    # agents
    "agent_session": agent_sessions(),
    "revision": lambda known: st.integers(0, known["agent_session"].history.revision),
    "recollect": _one_of(_recollect),
    "node": NODES,
    "now": MOMENTS,
    "build": _one_of(build_context),
    "form": FORMS,
    "answer": lambda known: answers_to(known["form"]),
    "read": _one_of(read_answer),
}
PARAMETERS: Final = drawings(_DRAWINGS)
"""The drawing of each parameter that a law may have, in the order in which they are drawn."""

_PLACES = {name: place for place, name in enumerate(PARAMETERS)}


def for_parameter(name: str, known: Known = NOTHING) -> st.SearchStrategy[Any]:
    """Return the strategy for a law's parameter `name`, given the inputs drawn before it.

    Raises:
        UnknownNameError: no law has such a parameter.

    >>> for_parameter("revision", {"agent_session": ContextSession(1000)})
    integers(min_value=0, max_value=0)
    """
    if name not in PARAMETERS:
        raise UnknownNameError(
            "parameter of a law",
            name,
            tuple(PARAMETERS),
            similar(name, PARAMETERS),
        )
    return PARAMETERS[name](known)


@st.composite
def inputs_of(draw: st.DrawFn, law: Law, bound: Strategies = NOTHING) -> dict[str, Any]:
    """Draw all the inputs of `law` together; parameters in `bound` are drawn from there.

    Raises:
        UnknownNameError: a parameter is neither bound nor known.
    """
    known: dict[str, Any] = {}
    for name in sorted(law.parameters, key=lambda name: _PLACES.get(name, len(_PLACES))):
        known[name] = draw(bound[name] if name in bound else for_parameter(name, known))
    return known
