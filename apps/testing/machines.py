"""Agents, lenses, operations, inputs and sessions as Hypothesis strategies, for the laws of the machine and of its readers.

Finite agents share few positions, inputs and outputs, so that they can be compared
everywhere, and so that what one puts out another often takes.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from polycontext.linearity import PolycontextError, ResourceClass
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    ContextInput,
    ContextPolicy,
    ContextSession,
    InputKind,
    Lens,
    Operation,
    PolyAgent,
    coproduct,
    parallel,
    product,
    sequential,
)
from polycontext.pressure import AdaptiveThreshold, ContextProjector, ExtractiveSummariser, FixedThreshold, Signals
from polycontext.window import ContextWindow, ToolCall, Turn

from .dialogue import (
    BUDGETS,
    CLASSES,
    FAST,
    PROSE,
    TARGETS,
    TEXTS,
    Head,
    Move,
    conversations,
    filled,
    reaches,
    with_parts,
)
from .display import Named

NUMBERS = st.integers(0, 2)
"""Positions, inputs and outputs of finite agents."""


AnyAgent = PolyAgent[Any, Any, Any]
AnyLens = Lens[Any, Any, Any, Any]


def agent_of(rows: Mapping[int, Mapping[int, tuple[int, int]]]) -> AnyAgent:
    """Return the finite agent of a table: for each position and input the next position and the output."""
    return PolyAgent(frozenset(rows), lambda position: frozenset(rows[position]), lambda position, input: rows[position][input])


@st.composite
def agents(draw: st.DrawFn) -> AnyAgent:
    """Draw a finite agent of one to three positions, some of them dead ends."""
    size = draw(st.integers(1, 3))
    steps = st.tuples(st.integers(0, size - 1), NUMBERS)
    rows = {position: draw(st.dictionaries(NUMBERS, steps, max_size=3)) for position in range(size)}
    return agent_of(rows)


COMBINATORS = st.sampled_from([parallel, coproduct, product, sequential])


def composites() -> st.SearchStrategy[AnyAgent]:
    """Draw a finite agent, or two combined."""
    return agents() | st.builds(lambda combine, first, second: combine(first, second), COMBINATORS, agents(), agents())


def relabelling(labels: Mapping[Any, Any]) -> Named:
    """Return the function that looks a label up; what is not in the table stays."""
    return Named(f"relabel {labels}", lambda value: labels.get(value, value))


def lenses() -> st.SearchStrategy[AnyLens]:
    """Draw a lens over numbers: outputs relabelled, some inputs renamed, others shut out."""
    labels = st.dictionaries(NUMBERS, NUMBERS, max_size=3).map(relabelling)
    return st.builds(Lens, labels, labels, st.frozensets(NUMBERS, max_size=3) | st.just(frozenset(range(3))))


CHOICES = st.lists(st.integers(0, 8), max_size=8)
"""Which of the directions a run takes, step by step."""

OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.just(CONTEXT_OPERAD.identity()),
    st.just(CONTEXT_OPERAD.operation("merge")),
    st.sampled_from([Turn("user", "hello"), Turn("assistant", "hi"), Turn("user", "mine", resource_id="t2")]).map(
        lambda turn: CONTEXT_OPERAD.operation("append", turn)
    ),
    TARGETS.map(lambda target: CONTEXT_OPERAD.operation("compress", target, ContextProjector(Head()))),
    BUDGETS.map(lambda budget: CONTEXT_OPERAD.operation("empty", budget)),
)


def small_windows() -> st.SearchStrategy[ContextWindow]:
    """Draw a window of a few turns, compressed once or never; its last calls may be open."""
    made = st.builds(filled, conversations(max_atoms=4), st.sampled_from([200, 1_000]))
    squeezed = made.map(lambda window: ContextProjector(Head()).compress(window, 0.1).window)
    return made | made | squeezed


POLICIES = st.builds(
    ContextPolicy,
    st.builds(ContextProjector, st.sampled_from([Head(), ExtractiveSummariser()]), reaches()),
    st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.5, 0.2), FixedThreshold(0.7, 0.4), FixedThreshold(1.0)]),
    st.integers(0, 3),
    st.sampled_from([Signals(), Signals(error_rate=1.0), Signals(progress=1.0)]),
)

_CALLS = st.sampled_from([("call_1",), ("call_1", "call_2")]).map(lambda ids: [ToolCall(i, "search", '{"q": "night train"}') for i in ids])


def _turn_inputs() -> st.SearchStrategy[ContextInput]:
    kinds = st.sampled_from([InputKind.USER_TURN, InputKind.USER_TURN, InputKind.ASSISTANT_TURN, InputKind.SYSTEM])
    plain = st.builds(ContextInput, kinds, TEXTS, CLASSES)
    calling = st.builds(ContextInput.assistant_turn, st.none() | PROSE, _CALLS)
    answers = st.builds(ContextInput.tool_turn, PROSE, st.sampled_from(["call_1", "call_2", "unknown"]))
    thinking = with_parts(Turn("assistant", "Let me look.")) | with_parts(Turn("user", "What is this?"))
    carrying = thinking.map(ContextInput.of_turn)
    named = st.just(ContextInput.of_turn(Turn("user", "mine", resource_id="t1")))
    return st.one_of(plain, plain, plain, calling, answers, answers, carrying, named)


def machine_inputs() -> st.SearchStrategy[list[ContextInput]]:
    """Draw inputs for the machine, legal or not: turns of all kinds, compressions also to impossible targets, promotions, clearings."""
    targets = TARGETS | st.sampled_from([-0.1, 5.0])
    promotions = st.builds(ContextInput.promote, st.sampled_from(["t1", "t2", "unknown"]), st.sampled_from(ResourceClass))
    others = targets.map(ContextInput.compress) | st.just(ContextInput.clear()) | promotions
    more = st.one_of(_turn_inputs(), _turn_inputs(), _turn_inputs(), others)
    first = st.builds(ContextInput.user_turn, PROSE)
    return st.lists(more, max_size=14) | st.builds(lambda one, rest: [one, *rest], first, st.lists(more, max_size=14))


@st.composite
def sessions(draw: st.DrawFn, max_atoms: int = 10) -> ContextSession:
    """Draw a session with a life: turns of all kinds, and between them compressions, recalls, promotions, clearings, signals."""
    threshold = draw(st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.6, 0.3)]))
    budget, auto, cooldown = draw(st.sampled_from([200, 500, 2_000])), draw(st.booleans()), draw(st.integers(0, 3))
    session = ContextSession(budget, counter=FAST, auto=auto, threshold=threshold, cooldown=cooldown)
    secrets = st.sampled_from(["Undisclosed instructions.", "Confidential."])
    head: list[Move] = [(Turn("system", draw(secrets)), None)] if draw(st.booleans()) else []
    task: list[Move] = [(Turn("user", draw(PROSE)), None)]
    moves = [*head, *task, *draw(conversations(max_atoms=max_atoms))] if draw(st.integers(0, 9)) else head
    for turn, resource_class in moves:
        with suppress(PolycontextError):
            session.add(turn, resource_class)
        if draw(st.integers(0, 9)) == 0:
            act = draw(st.sampled_from(_whatever_else(session)))
            with suppress(PolycontextError):
                act()
    return session


def _whatever_else(session: ContextSession) -> list[Callable[[], object]]:
    ids = [turn.resource_id for turn in session.log()] or ["t1"]
    return [
        lambda: session.compress(0.1),
        session.compress,
        lambda: session.recall(ids[:1]),
        lambda: session.recall(ids[-3:]),
        lambda: session.promote(ids[-1], ResourceClass.PRESERVED, rationale="asked for"),
        lambda: session.background.signal(Signals(progress=0.5, looping=True)),
        lambda: session.documents.patch("notes", lambda notes: _noting(notes, f"{len(ids)} turns")),
        session.clear,
    ]


def _noting(notes: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    begun: list[Mapping[str, Any]] = [{"op": "add", "path": "", "value": {}}] if notes is None else []
    return [*begun, {"op": "add", "path": f"/{name}", "value": True}]
