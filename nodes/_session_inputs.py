"""Machines, their inputs, and sessions with a history, as Hypothesis strategies."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from polycontext.linearity import PolycontextError, ResourceClass
from polycontext.nodes import _strategies as drawn
from polycontext.nodes.props import ComponentRenderer
from polycontext.polynomial import ContextInput, ContextMachine, ContextPolicy, ContextSession, TableMachine, project
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Signals
from polycontext.window import Role, Turn

POLICIES = st.builds(
    ContextPolicy,
    st.builds(ContextProjector, reach=drawn.reaches()),
    st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.5, 0.2), FixedThreshold(1.0)]),
    st.integers(0, 3),
    st.sampled_from([Signals(), Signals(error_rate=1.0), Signals(progress=1.0)]),
)
CLASSES = st.none() | st.sampled_from(ResourceClass)
RESULTS = st.builds(ContextInput.tool_turn, drawn.TEXTS, st.sampled_from(drawn.CALL_IDS))
COMPRESSIONS = st.builds(ContextInput.compress, drawn.TARGETS)
INPUTS = st.one_of(
    st.builds(ContextInput.of_turn, drawn.plain_turns(), CLASSES),
    st.builds(ContextInput.of_turn, drawn.plain_turns() | drawn.calling_turns(), CLASSES),
    RESULTS,
    COMPRESSIONS,
    st.builds(ContextInput.clear),
)


@st.composite
def inputs(draw: st.DrawFn) -> list[ContextInput]:
    """Draw what comes into a machine: a legal conversation with compressions in it, or anything at all."""
    if draw(st.booleans()):
        return draw(st.lists(INPUTS, max_size=10))
    legal = [ContextInput.of_turn(turn, resource_class) for turn, resource_class in draw(drawn.conversations(max_atoms=6))]
    for place in draw(st.lists(st.integers(0, max(len(legal), 1)), max_size=3)):
        legal.insert(place, draw(COMPRESSIONS))
    return legal


@st.composite
def sessions(draw: st.DrawFn) -> ContextSession:
    """Draw a session that was told a conversation and compressed, recalled, promoted or cleared in between; what it refuses is left out."""
    session = ContextSession(
        draw(st.sampled_from([60, 300, 1_000, 8_000])),
        auto=draw(st.booleans()),
        engine="table",
        counter=drawn.FAST,
        projector=ContextProjector(reach=draw(drawn.reaches())),
        clock=lambda: drawn.START,
    )
    task: Sequence[drawn.Move] = [(Turn(Role.USER, "Book a night train to Vienna."), None)] if draw(st.booleans()) else []
    for turn, resource_class in [*task, *draw(drawn.conversations(max_atoms=8))]:
        _attempt(lambda: session.add(turn, resource_class))  # noqa: B023 - called at once
        if draw(st.integers(0, 4)) == 0:
            _act(session, *draw(ACTIONS))
    return session


ACTIONS = st.tuples(st.sampled_from(["compress", "recall", "promote", "clear"]), st.integers(0, 20))


def _act(session: ContextSession, what: str, number: int) -> None:
    log = session.log()
    one = log[number % len(log)].resource_id if log else "t1"
    match what:
        case "compress":
            _attempt(lambda: session.compress(number / 20))
        case "recall":
            _attempt(lambda: session.recall([one]))
        case "promote":
            _attempt(lambda: session.promote(one, ResourceClass.PRESERVED))
        case _:
            _attempt(session.clear)


def _attempt(act: Callable[[], object]) -> None:
    try:
        act()
    except PolycontextError:
        return


Drawing = Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]


def _always(strategy: st.SearchStrategy[Any]) -> Drawing:
    return lambda known: strategy


SESSION_PARAMETERS: Final[Mapping[str, Drawing]] = {
    "machine": _always(st.sampled_from([ContextMachine, TableMachine])),
    "other_machine": _always(st.sampled_from([TableMachine, ContextMachine])),
    "max_tokens": _always(st.sampled_from([60, 200, 1_000, 8_000])),
    "policy": _always(POLICIES),
    "inputs": _always(inputs()),
    "session": _always(sessions()),
    "project": _always(st.just(project)),
    "renderer": _always(st.just(ComponentRenderer())),
}
"""How to draw what laws of machines, sessions, projections and readers take."""
