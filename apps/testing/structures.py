"""Ledgers, stores, views and plans as Hypothesis strategies: what the laws of the three lower rooms are about."""

from collections.abc import Iterable
from datetime import UTC
from typing import Any

from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, ResourceClass, Tag
from polycontext.pressure import ContextProjector, ExtractiveSummariser, Fidelity, Plan, View, plan_at
from polycontext.window import Store, StoreComonad

from .dialogue import Head, lived_windows, reaches, windows
from .display import Named

# --- ledgers --------------------------------------------------------------

_SHORT_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
RESOURCE_CLASSES = st.sampled_from(ResourceClass)
IDS = st.sampled_from(["t1", "t2", "t3", "g1", "ab", "é", "日本", "0"]) | _SHORT_TEXTS.filter(bool)
TAGS = st.builds(Tag, RESOURCE_CLASSES, provenance=_SHORT_TEXTS, rationale=_SHORT_TEXTS, when=st.datetimes(timezones=st.just(UTC)))


@st.composite
def ledgers(draw: st.DrawFn, begun: LinearityMap | None = None) -> LinearityMap:
    """Draw a ledger with a history: tags, promotions, drops, and a fork in the middle of them, behind what has `begun`."""
    ledger = LinearityMap() if begun is None else begun
    for resource_id, tag in draw(st.dictionaries(IDS, TAGS, max_size=8)).items():
        if resource_id in ledger:
            continue
        ledger = ledger.tag(resource_id, tag.resource_class, provenance=tag.provenance, rationale=tag.rationale, when=tag.when)
        if draw(st.booleans()):
            ledger.tag("another branch", ResourceClass.REQUIRED)
        if tag.resource_class is ResourceClass.DROPPABLE and draw(st.booleans()):
            ledger = ledger.drop(resource_id)
        if tag.resource_class < ResourceClass.PRESERVED and draw(st.booleans()):
            ledger = ledger.promote(resource_id, ResourceClass.PRESERVED, rationale=draw(_SHORT_TEXTS))
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
    Named("focus and all values", lambda s: (s.pos, tuple(s.peek(position) for position in range(s.last + 1)))),
    Named("length of the text of the focus", lambda s: len(repr(s.extract()))),
)
"""Functions of a whole store, which depend on focus, values and size in different ways."""


@st.composite
def number_stores(draw: st.DrawFn) -> Store[int]:
    """Draw a store of up to six numbers, focused anywhere."""
    values = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
    return Store(values.__getitem__, len(values) - 1, draw(st.integers(0, len(values) - 1)))


def stores() -> st.SearchStrategy[StoreComonad[Any]]:
    """Draw a store of numbers, a window, or a store made of another; focused anywhere."""
    plain: st.SearchStrategy[StoreComonad[Any]] = number_stores() | windows(max_atoms=4)
    return plain | st.builds(lambda store, view: store.extend(view), plain, st.sampled_from(READINGS))


# --- views and plans ------------------------------------------------------


def views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    """Draw any view of these atoms."""
    return st.fixed_dictionaries(dict.fromkeys(log, st.sampled_from(Fidelity))).map(View)


def projectors() -> st.SearchStrategy[ContextProjector]:
    """Draw a projector that reaches anywhere, over a quick summariser or the default one."""
    return st.builds(ContextProjector, st.sampled_from([Head(), ExtractiveSummariser()]), reaches())


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw any plan of a chain, the harshest one often, with any room for its gists."""
    ladder = draw(projectors()).ladder(draw(lived_windows()))
    last = len(ladder.tokens) - 1
    return plan_at(ladder, draw(st.just(last) | st.integers(0, last)), draw(st.integers(0, 5_000)))
