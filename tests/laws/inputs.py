"""The inputs of the laws of this folder, beside those that ship with the package."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from attrs import evolve, frozen
from hypothesis import strategies as st
from statemachine import State

from polycontext.agents import AgentMachine
from polycontext.base import Law
from polycontext.nodes import ComponentRenderer
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    ContextMachine,
    ContextSession,
    project,
)
from polycontext.polynomial.algebra.operad import Operation
from polycontext.polynomial.machine import Region
from polycontext.pressure import (
    ContextProjector,
    ExtractiveSummariser,
    Plan,
)
from polycontext.pressure.plan import plan_at
from polycontext.pressure.schedule import Schedule
from polycontext.testing import FAST, conversations, filled, windows
from polycontext.testing.law_inputs import Known, Strategies, drawings, for_parameter, inputs_of
from polycontext.testing.law_strategies import projectors
from polycontext.testing.strategies import (
    CALL_IDS,
    TARGETS,
    TEXTS,
    Move,
    calling_turns,
    lived_windows,
    plain_turns,
)
from polycontext.window import ContextWindow, Role, Store, ToolCall, Turn
from polycontext.window.providers import Provider, get_format
from polycontext.window.store import StoreComonad
from tests.sessions import sessions


@frozen(repr=False)
class Named:
    """A function with a name that a test can show."""

    name: str
    function: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        """Apply the function."""
        return self.function(value)

    def __repr__(self) -> str:
        return self.name


# --- stores ---------------------------------------------------------------

READINGS = (
    Named("pos", lambda s: s.pos),
    Named("extract", lambda s: s.extract()),
    Named("peek the first", lambda s: s.peek(0)),
    Named("peek the one before", lambda s: s.peek(max(0, s.pos - 1))),
    Named("peek as far from the end", lambda s: s.peeks(lambda pos: s.last - pos)),
    Named("positions up to the last", lambda s: s.last - s.pos),
    Named("all values so far", lambda s: s.experiment(lambda pos: range(pos + 1))),
    Named(
        "focus and all values",
        lambda s: (s.pos, tuple(s.peek(position) for position in range(s.last + 1))),
    ),
    Named("length of the text of the focus", lambda s: len(repr(s.extract()))),
)
"""Functions of a whole store that depend on focus, values and size in different ways."""


@st.composite
def number_stores(draw: st.DrawFn) -> Store[int]:
    """Draw a store of up to six numbers, with any focus."""
    values = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
    return Store(values.__getitem__, len(values) - 1, draw(st.integers(0, len(values) - 1)))


def stores() -> st.SearchStrategy[StoreComonad[Any]]:
    """Draw a store of numbers, a window, or a store extended from either, with any focus."""
    plain: st.SearchStrategy[StoreComonad[Any]] = number_stores() | windows(max_atoms=4)
    return plain | st.builds(
        lambda store, view: store.extend(view), plain, st.sampled_from(READINGS)
    )


def _positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position of the store or window, often the first or the last one."""
    store = known.get("store", known.get("window"))
    last = 5 if store is None else store.last
    return st.integers(0, last) | st.sampled_from([0, last])


def _any_positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position that may lie out of bounds, often just outside."""
    last = known["store"].last if "store" in known else 5
    return _positions(known) | st.sampled_from([-1, last + 1]) | st.integers(-9, 99)


# --- turns ---

_TURNS = plain_turns() | calling_turns()


def _next_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window accepts next: a result while calls are open, else any other.

    Some have an id and a token count.
    """
    waiting = known["window"].open_calls if "window" in known else ()
    turns = (
        st.builds(Turn, st.just(Role.TOOL), TEXTS, tool_call_id=st.sampled_from(waiting))
        if waiting
        else _TURNS
    )
    return (
        turns
        | turns.map(lambda turn: turn.admitted("", 7))
        | turns.map(lambda turn: turn.admitted("an id of its own", 7))
    )


def _any_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window may refuse."""
    results = st.builds(Turn, st.just(Role.TOOL), TEXTS, tool_call_id=st.sampled_from(CALL_IDS))
    return _TURNS | results | _next_turns(known)


# --- plans ------------------------------------------------------


def _of_a_window(
    make: Callable[[ContextProjector, ContextWindow, float], Any],
) -> st.SearchStrategy[Any]:
    return st.builds(make, projectors(), lived_windows(), TARGETS)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw any plan of a ladder, often the harshest one, with any allowance for its gists."""
    ladder = draw(projectors()).ladder(draw(lived_windows()))
    last = len(ladder.tokens) - 1
    return plan_at(ladder, draw(st.just(last) | st.integers(0, last)), draw(st.integers(0, 5_000)))


# --- machines -------------------------------------------------------------


class Answering(Region):
    """A region in which a question is answered once."""

    asked = State("ASKED", value="ASKED", initial=True)
    answered = State("ANSWERED", value="ANSWERED")
    user_turn = asked.from_(asked, answered)
    assistant_turn = asked.to(answered)


class Tidying(Region):
    """A region in which the view is tidied before it is compressed."""

    untidy = State("UNTIDY", value="UNTIDY", initial=True)
    tidy = State("TIDY", value="TIDY")
    sweep = untidy.to(tidy)
    user_turn = untidy.from_(untidy, tidy)
    compress = tidy.to(tidy)


class Polite(ContextMachine):
    """A machine that answers each question once."""

    regions: ClassVar[Mapping[str, Any]] = {"answering": Answering}


class Tidy(ContextMachine):
    """A machine that is tidied before it is compressed."""

    regions: ClassVar[Mapping[str, Any]] = {"tidying": Tidying}


MACHINES = st.sampled_from([ContextMachine, Polite, Tidy, AgentMachine])
EMPTY_WINDOWS = st.sampled_from([60, 120, 200, 400, 1_000, 4_000]).map(
    lambda size: ContextWindow(size, counter=FAST)
)
"""Windows that a few turns fill; otherwise a machine would hardly ever be PRESSURED."""


# --- operations ---


def _answers(name: str, among: frozenset[Role]) -> Named:
    """Return the worker that answers with what is said to it."""

    def work(session: ContextSession) -> None:
        said = (turn.text for turn in session.log() if turn.role in among)
        session.add_assistant_turn(f"{name}: {' / '.join(said)}")

    return Named(name, work)


CHOICES = st.lists(st.integers(0, 8), max_size=8)
"""The direction that a run takes at each step, as an index."""

WORKERS = st.sampled_from("abc").map(lambda name: _answers(name, frozenset({Role.USER})))
TASKS = st.dictionaries(
    st.sampled_from(["hotel", "train", "museum"]),
    st.sampled_from(["Look.", "Ask.", "Book."]),
    min_size=1,
    max_size=2,
)
OPERATIONS: st.SearchStrategy[Operation] = st.just(CONTEXT_OPERAD.identity) | st.builds(
    CONTEXT_OPERAD.delegate, TASKS, WORKERS
)


# --- turns for message formats --------------------------------------------

_WIRE_TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", " ", "\n", "done ", "<|endoftext|>", "日本", "Book UA100."]),
)
_WIRE_CALL_IDS = st.sampled_from(
    ["call_1", "call_2", "toolu_01A", "f:1", "f_1", "functions.eval:301", "é"]
)
_WIRE_ARGUMENTS = st.one_of(
    st.sampled_from(
        [
            "{}",
            "",
            "not json",
            "[1]",
            "null",
            '{"x": NaN}',
            '{"x": 1e999}',
            '{"s": "\\ud800"}',
            "[" * 2000,
        ]
    ),
    st.dictionaries(st.text(max_size=3), st.integers() | _WIRE_TEXTS, max_size=3).map(json.dumps),
)


@st.composite
def _wire_calls(draw: st.DrawFn) -> list[Turn]:
    """Draw an assistant turn with calls, and their results in any order."""
    ids = draw(st.lists(_WIRE_CALL_IDS, min_size=1, max_size=3, unique=True))
    names = st.sampled_from(["search", "book", "n" * 250])
    calls = [ToolCall(call_id, draw(names), draw(_WIRE_ARGUMENTS)) for call_id in ids]
    results = [
        Turn(Role.TOOL, draw(_WIRE_TEXTS), tool_call_id=call_id)
        for call_id in draw(st.permutations(ids))
    ]
    return [Turn(Role.ASSISTANT, draw(st.none() | _WIRE_TEXTS), tool_calls=tuple(calls)), *results]


@st.composite
def wire_turns(draw: st.DrawFn, *, open_tail: bool = False) -> list[Turn]:
    """Draw turns that no provider accepts as they are, the last calls open with `open_tail`."""
    words = st.builds(
        lambda role, text: [Turn(role, text)],
        st.sampled_from(["user", "assistant", "system"]),
        _WIRE_TEXTS,
    )
    head = [Turn("system", text) for text in draw(st.lists(_WIRE_TEXTS, max_size=2))]
    body = draw(st.lists(words | _wire_calls(), max_size=6))
    tail = draw(_wire_calls()) if open_tail else []
    kept = draw(st.integers(1, len(tail))) if tail else 0
    turns = [
        *head,
        Turn("user", draw(_WIRE_TEXTS)),
        *(turn for atom in body for turn in atom),
        *tail[:kept],
    ]
    return [evolve(turn, resource_id=f"t{index}") for index, turn in enumerate(turns)]


_TASK: Sequence[Move] = [(Turn(Role.USER, "Book a night train to Vienna."), None)]
_HEADS: st.SearchStrategy[Sequence[Move]] = st.sampled_from(
    [_TASK, [(Turn(Role.SYSTEM, "You are an agent."), None), *_TASK]]
)


def _conversations(known: Known) -> st.SearchStrategy[Sequence[Turn]]:
    """Draw the turns of a conversation; for a message format, a user turn comes first."""
    if "wire" not in known:
        return for_parameter("turns", known)
    begun = st.builds(
        lambda head, moves: filled([*head, *moves]).all_turns(),
        _HEADS,
        conversations(max_atoms=14),
    )
    return begun | wire_turns(open_tail=True)


# --- laws ---


_DRAWINGS: Mapping[str, Callable[[Known], st.SearchStrategy[Any]] | st.SearchStrategy[Any]] = {
    "session": sessions(),
    "operad": st.just(CONTEXT_OPERAD),
    "product_class other_machine_class third_machine_class": MACHINES,
    "empty_window": EMPTY_WINDOWS,
    "operation": OPERATIONS,
    "operations": st.lists(OPERATIONS, min_size=1, max_size=5),
    "tasks": TASKS,
    "workers": st.lists(WORKERS, min_size=1, max_size=4),
    "answerer": WORKERS,
    "project": st.just(project),
    "wire": st.sampled_from([get_format(provider) for provider in Provider]),
    "store": stores(),
    "view other_view": st.sampled_from(READINGS),
    "position other_position": _positions,
    "positions": lambda known: st.lists(_positions(known), max_size=4),
    "place": _any_positions,
    "turn": _next_turns,
    "any_turn": _any_turns,
    "turns": _conversations,
    "ladder": _of_a_window(lambda projector, window, _: projector.ladder(window)),
    "plan": plans(),
    "result": _of_a_window(lambda *given: given[0].compress(*given[1:])),
    "offline_summariser": st.just(ExtractiveSummariser()),
    "choices": CHOICES,
    "schedule": st.sampled_from([Schedule(120.0), Schedule(240.0, boundaries=["look"])]),
    "renderer": st.just(ComponentRenderer()),
}
PARAMETERS: Final = drawings(_DRAWINGS)
"""The drawing of each parameter of the laws of this folder that needs another than the shipped."""


@st.composite
def all_inputs_of(draw: st.DrawFn, law: Law, bound: Strategies) -> dict[str, Any]:
    """Draw all the inputs of a law together; parameters in `bound` are drawn from there.

    Those that ship are drawn first. A law that ships gets no others.
    """
    drawings = PARAMETERS if law.check.__module__.startswith("tests.") else {}
    own = [name for name in drawings if name in law.parameters]
    others = tuple(name for name in law.parameters if name not in own)
    known: dict[str, Any] = draw(inputs_of(evolve(law, parameters=others), bound))
    for name in own:
        known[name] = draw(drawings[name](known))
    return known
