"""Hypothesis strategies for the subjects of laws: projectors, machines and their inputs."""

from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextInput,
    ContextPolicy,
    InputKind,
)
from polycontext.pressure import (
    AdaptiveThreshold,
    ContextProjector,
    ExtractiveSummariser,
    FixedThreshold,
    Signals,
)
from polycontext.window import ToolCall, Turn

from .strategies import (
    CLASSES,
    PROSE,
    TARGETS,
    TEXTS,
    Head,
    reaches,
    with_parts,
)

# --- projectors and machines -------------------------------------------------------------


def projectors() -> st.SearchStrategy[ContextProjector]:
    """Draw a projector with any reach, over a fast summariser or the default one."""
    return st.builds(ContextProjector, st.sampled_from([Head(), ExtractiveSummariser()]), reaches())


POLICIES = st.builds(
    ContextPolicy,
    projectors(),
    st.sampled_from(
        [
            AdaptiveThreshold(),
            FixedThreshold(0.5, 0.2),
            FixedThreshold(0.7, 0.4),
            FixedThreshold(1.0),
        ]
    ),
    st.integers(0, 3),
    st.sampled_from([Signals(), Signals(error_rate=1.0), Signals(progress=1.0)]),
)

_CALLS = st.sampled_from([("call_1",), ("call_1", "call_2")]).map(
    lambda ids: [ToolCall(i, "search", '{"q": "night train"}') for i in ids]
)


def _turn_inputs() -> st.SearchStrategy[ContextInput]:
    kinds = st.sampled_from(
        [InputKind.USER_TURN, InputKind.USER_TURN, InputKind.ASSISTANT_TURN, InputKind.SYSTEM]
    )
    plain = st.builds(ContextInput, kinds, TEXTS, CLASSES)
    calling = st.builds(ContextInput.assistant_turn, st.none() | PROSE, _CALLS)
    answers = st.builds(
        ContextInput.tool_turn, PROSE, st.sampled_from(["call_1", "call_2", "unknown"])
    )
    thinking = with_parts(Turn("assistant", "Let me look.")) | with_parts(
        Turn("user", "What is this?")
    )
    carrying = thinking.map(ContextInput.of_turn)
    named = st.just(ContextInput.of_turn(Turn("user", "mine", resource_id="t1")))
    return st.one_of(plain, plain, plain, calling, answers, answers, carrying, named)


def machine_inputs() -> st.SearchStrategy[list[ContextInput]]:
    """Draw inputs for the machine, legal or not: turns, compressions, promotions and clears."""
    targets = TARGETS | st.sampled_from([-0.1, 5.0])
    promotions = st.builds(
        ContextInput.promote,
        st.sampled_from(["t1", "t2", "unknown"]),
        st.sampled_from(ResourceClass),
    )
    others = targets.map(ContextInput.compress) | st.just(ContextInput.clear()) | promotions
    more = st.one_of(_turn_inputs(), _turn_inputs(), _turn_inputs(), others)
    first = st.builds(ContextInput.user_turn, PROSE)
    return st.lists(more, max_size=14) | st.builds(
        lambda one, rest: [one, *rest], first, st.lists(more, max_size=14)
    )
