"""Hypothesis strategies for the subjects of laws, from ledgers and stores to sessions."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC
from typing import Any, ClassVar

from attrs import evolve
from hypothesis import strategies as st
from statemachine import State

from polycontext.agents import AgentMachine
from polycontext.base import PolycontextError
from polycontext.linearity import LinearityMap, ResourceClass, Tag
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    ContextInput,
    ContextMachine,
    ContextPolicy,
    ContextSession,
    InputKind,
    Operation,
)
from polycontext.polynomial.machine import Region
from polycontext.pressure import (
    AdaptiveThreshold,
    ContextProjector,
    ExtractiveSummariser,
    Fidelity,
    FixedThreshold,
    Plan,
    Signals,
    View,
    plan_at,
)
from polycontext.window import Role, Store, StoreComonad, ToolCall, Turn

from .display import Named
from .strategies import (
    CLASSES,
    FAST,
    PROSE,
    TARGETS,
    TEXTS,
    Head,
    Move,
    conversations,
    lived_windows,
    reaches,
    windows,
    with_parts,
)

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


# --- views and plans ------------------------------------------------------


def views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    """Draw any view of these atoms."""
    return st.fixed_dictionaries(dict.fromkeys(log, st.sampled_from(Fidelity))).map(View)


def projectors() -> st.SearchStrategy[ContextProjector]:
    """Draw a projector with any reach, over a fast summariser or the default one."""
    return st.builds(ContextProjector, st.sampled_from([Head(), ExtractiveSummariser()]), reaches())


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


POLICIES = st.builds(
    ContextPolicy,
    st.builds(ContextProjector, st.sampled_from([Head(), ExtractiveSummariser()]), reaches()),
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


@st.composite
def sessions(draw: st.DrawFn, max_atoms: int = 10) -> ContextSession:
    """Draw a session with turns, compressions, recalls, promotions, patches, clears and signals."""
    threshold = draw(st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.6, 0.3)]))
    budget, auto, cooldown = (
        draw(st.sampled_from([200, 500, 2_000])),
        draw(st.booleans()),
        draw(st.integers(0, 3)),
    )
    session = ContextSession(
        budget, counter=FAST, auto=auto, threshold=threshold, cooldown=cooldown
    )
    secrets = st.sampled_from(["Undisclosed instructions.", "Confidential."])
    head: list[Move] = [(Turn("system", draw(secrets)), None)] if draw(st.booleans()) else []
    task: list[Move] = [(Turn("user", draw(PROSE)), None)]
    moves = (
        [*head, *task, *draw(conversations(max_atoms=max_atoms))]
        if draw(st.integers(0, 9))
        else head
    )
    for turn, resource_class in moves:
        with suppress(PolycontextError):
            session.add(turn, resource_class)
        if draw(st.integers(0, 9)) == 0:
            act = draw(st.sampled_from(_other_actions(session)))
            with suppress(PolycontextError):
                act()
    return session


def _other_actions(session: ContextSession) -> list[Callable[[], object]]:
    ids = [turn.resource_id for turn in session.log()] or ["t1"]
    return [
        lambda: session.compress(0.1),
        session.compress,
        lambda: session.recall(ids[:1]),
        lambda: session.recall(ids[-3:]),
        lambda: session.promote(ids[-1], ResourceClass.PRESERVED, rationale="asked for"),
        lambda: session.background.signal(Signals(progress=0.5, looping=True)),
        lambda: session.documents.patch(
            "notes", lambda notes: _note_patch(notes, f"{len(ids)} turns")
        ),
        session.clear,
    ]


def _note_patch(notes: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    begun: list[Mapping[str, Any]] = (
        [{"op": "add", "path": "", "value": {}}] if notes is None else []
    )
    return [*begun, {"op": "add", "path": f"/{name}", "value": True}]


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
