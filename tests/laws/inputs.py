"""The inputs of the laws of this folder, beside those that ship with the package."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve
from hypothesis import strategies as st

from polycontext.base import Law
from polycontext.linearity import LinearityMap, ResourceClass, Tag, constraint_sentences
from polycontext.nodes import ComponentRenderer
from polycontext.polynomial import CONTEXT_OPERAD, ContextSession, Operation, project
from polycontext.pressure import (
    ContextProjector,
    ExtractiveSummariser,
    Fidelity,
    Plan,
    View,
    plan_at,
)
from polycontext.pressure.schedule import Schedule
from polycontext.testing import FAST, TARGETS, Move, conversations, filled, lived_windows
from polycontext.testing.display import Named
from polycontext.testing.hostile import KINDS, hostile_text
from polycontext.testing.law_inputs import Known, Strategies, inputs_of
from polycontext.testing.law_strategies import projectors
from polycontext.window import ContextWindow, Role, ToolCall, Turn
from polycontext.window.providers import Provider, get_format

# --- ledgers --------------------------------------------------------------

_SHORT_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
RESOURCE_CLASSES = st.sampled_from(ResourceClass)
IDS = st.sampled_from(["t1", "t2", "t3", "g1", "ab", "é", "日本", "0"]) | _SHORT_TEXTS.filter(bool)
TAGS = st.builds(
    Tag,
    RESOURCE_CLASSES,
    provenance=_SHORT_TEXTS,
    rationale=_SHORT_TEXTS,
    when=st.datetimes(timezones=st.just(UTC)),
)


@st.composite
def ledgers(draw: st.DrawFn, begun: LinearityMap | None = None) -> LinearityMap:
    """Draw a ledger with a history after `begun`: tags, promotions, drops, and a fork."""
    ledger = LinearityMap() if begun is None else begun
    for resource_id, tag in draw(st.dictionaries(IDS, TAGS, max_size=8)).items():
        if resource_id in ledger:
            continue
        ledger = ledger.tag(
            resource_id,
            tag.resource_class,
            provenance=tag.provenance,
            rationale=tag.rationale,
            when=tag.when,
        )
        if draw(st.booleans()):
            ledger.tag("another branch", ResourceClass.REQUIRED)
        if tag.resource_class is ResourceClass.DROPPABLE and draw(st.booleans()):
            ledger = ledger.drop(resource_id)
        if tag.resource_class < ResourceClass.PRESERVED and draw(st.booleans()):
            ledger = ledger.promote(
                resource_id, ResourceClass.PRESERVED, rationale=draw(_SHORT_TEXTS)
            )
    return ledger


def _known_ids(known: Known) -> st.SearchStrategy[str]:
    ids = list(known.get("ledger", ()))
    return st.sampled_from(ids) | IDS if ids else IDS


# --- views and plans ------------------------------------------------------


def views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    """Draw any view of these atoms."""
    return st.fixed_dictionaries(dict.fromkeys(log, st.sampled_from(Fidelity))).map(View)


def _views(known: Known) -> st.SearchStrategy[View]:
    """Draw a view over the log of the views before it, often one of them or a meet of two."""
    others = [value for value in known.values() if isinstance(value, View)]
    if not others:
        logs = st.integers(0, 4).map(lambda size: [f"t{number + 1}" for number in range(size)])
        return logs.flatmap(views_over)
    near = st.sampled_from(others).flatmap(
        lambda view: st.sampled_from([view, view.meet(others[0])])
    )
    return near | views_over(others[0].fidelities)


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


def _conversations() -> st.SearchStrategy[Sequence[Turn]]:
    """Draw the turns of a conversation that a format writes; a user turn comes first."""
    begun = st.builds(
        lambda head, moves: filled([*head, *moves]).all_turns(),
        _HEADS,
        conversations(max_atoms=14),
    )
    return begun | wire_turns(open_tail=True)


# --- laws ---


def _summarise(text: str) -> object:
    """Read `text` with the extractive summariser."""
    return ExtractiveSummariser().summarise([Turn(Role.ASSISTANT, text)], 200, counter=FAST)


_DRAWINGS: Mapping[str, Callable[[Known], st.SearchStrategy[Any]]] = {
    "operation": lambda _: OPERATIONS,
    "operations": lambda _: st.lists(OPERATIONS, min_size=1, max_size=5),
    "tasks": lambda _: TASKS,
    "workers": lambda _: st.lists(WORKERS, min_size=1, max_size=4),
    "answerer": lambda _: WORKERS,
    "project": lambda _: st.just(project),
    "ledger": lambda _: ledgers(),
    "resource_id": _known_ids,
    "other_id": _known_ids,
    "resource_class": lambda _: RESOURCE_CLASSES,
    "other_class": lambda _: RESOURCE_CLASSES,
    "requests": lambda known: st.lists(st.tuples(_known_ids(known), RESOURCE_CLASSES), max_size=6),
    "wire": lambda _: st.sampled_from([get_format(provider) for provider in Provider]),
    "first_view": _views,
    "second_view": _views,
    "third_view": _views,
    "ceiling": _views,
    "ladder": lambda _: _of_a_window(lambda projector, window, _: projector.ladder(window)),
    "plan": lambda _: plans(),
    "result": lambda _: _of_a_window(lambda *given: given[0].compress(*given[1:])),
    "offline_summariser": lambda _: st.just(ExtractiveSummariser()),
    "choices": lambda _: CHOICES,
    "schedule": lambda _: st.sampled_from([Schedule(120.0), Schedule(240.0, boundaries=["look"])]),
    "renderer": lambda _: st.just(ComponentRenderer()),
    "reader": lambda _: st.sampled_from([_summarise, constraint_sentences]),
    "hostile": lambda _: st.sampled_from([*KINDS]).map(lambda kind: partial(hostile_text, kind)),
    "characters": lambda _: st.just(1_000),
}
PARAMETERS: Final = MappingProxyType(_DRAWINGS)
"""The drawing of each parameter that no shipped law has, in the order in which they are drawn."""


@st.composite
def all_inputs_of(draw: st.DrawFn, law: Law, bound: Strategies) -> dict[str, Any]:
    """Draw all the inputs of a law together; parameters in `bound` are drawn from there."""
    known: dict[str, Any] = {}
    for name in [each for each in PARAMETERS if each in law.parameters]:
        known[name] = draw(PARAMETERS[name](known))
    drawn = {name: st.just(value) for name, value in known.items()}
    if "wire" in known:
        drawn["turns"] = _conversations()
    return draw(inputs_of(law, {**bound, **drawn}))
