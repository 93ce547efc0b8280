"""What laws of ledgers and windows take: stores, conversations, ids, classes, counters, formats."""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, ResourceClass, Tag, default_classifier
from polycontext.nodes.testing import conversations as drawn
from polycontext.nodes.testing.drawing import Drawings, Known, Named, always, one_of
from polycontext.window import Role, Store, TiktokenCounter, Turn
from polycontext.window.providers import Provider, get_format
from polycontext.window.store import StoreComonad

READINGS = (
    Named("pos", lambda s: s.pos),
    Named("extract", lambda s: s.extract()),
    Named("peek the first", lambda s: s.peek(0)),
    Named("peek the one before", lambda s: s.peek(max(0, s.pos - 1))),
    Named("positions up to the last", lambda s: s.last - s.pos),
    Named("all values", lambda s: tuple(s.peek(position) for position in range(s.last + 1))),
    Named("length of the text of the focus", lambda s: len(repr(s.extract()))),
)
"""Functions of a whole store, which depend on focus, values and size in different ways."""

_FUNCTIONS = (
    Named("the position", lambda position: position),
    Named("the same everywhere", lambda position: "same"),
    Named("squares", lambda position: position * position),
    Named("None at 0", lambda position: position or None),
)

IDS = st.sampled_from(["t1", "t2", "t3", "g1", "é", "日本"])
MOMENTS = st.sampled_from([drawn.START, drawn.START.replace(year=1970), drawn.START.replace(year=9999)])
CLASSES = st.sampled_from(ResourceClass)
RATIONALES = st.sampled_from(["", "the user came back to it", "日本"])
TAGS = st.builds(Tag, CLASSES, provenance=RATIONALES, rationale=RATIONALES, when=MOMENTS)
FACTS = st.dictionaries(st.sampled_from(["gist", "first_user", "has_calls", "has_parts", "answers_question"]), st.booleans())
NUMBERS = st.fixed_dictionaries({}, optional={key: st.sampled_from([0, 1, 50, 10_000]) for key in ("constraint_tokens", "tokens")})
METADATA = st.tuples(FACTS, NUMBERS).map(lambda pair: pair[0] | pair[1])
TURNS = drawn.plain_turns() | drawn.calling_turns()
TASK: Sequence[drawn.Move] = [(Turn(Role.USER, "Book a night train to Vienna."), None)]


@st.composite
def ledgers(draw: st.DrawFn, begun: LinearityMap | None = None) -> LinearityMap:
    """Draw a ledger with a history: tags, promotions, drops, and a fork in the middle of them, behind what has `begun`."""
    ledger = LinearityMap() if begun is None else begun
    for resource_id, tag in draw(st.dictionaries(IDS, TAGS, max_size=6)).items():
        if resource_id in ledger:
            continue
        ledger = ledger.tag(resource_id, tag.resource_class, provenance=tag.provenance, rationale=tag.rationale, when=tag.when)
        if draw(st.booleans()):
            ledger.tag("another branch", ResourceClass.REQUIRED)
        if tag.resource_class is ResourceClass.DROPPABLE and draw(st.booleans()):
            ledger = ledger.drop(resource_id)
        if tag.resource_class < ResourceClass.PRESERVED and draw(st.booleans()):
            ledger = ledger.promote(resource_id, ResourceClass.PRESERVED, rationale=draw(RATIONALES))
    return ledger


def stores() -> st.SearchStrategy[StoreComonad[Any]]:
    """Draw a window, a store of numbers, or a store made of another; focused anywhere."""
    plain = st.integers(0, 5).flatmap(lambda last: st.builds(Store, st.sampled_from(_FUNCTIONS), st.just(last), st.integers(0, last)))
    made = st.builds(lambda store, view: store.extend(view), plain | drawn.windows(max_atoms=4), st.sampled_from(READINGS))
    return plain | drawn.windows(max_atoms=6) | made


def positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position of the store or window."""
    store = known.get("store", known.get("window"))
    return st.integers(0, 5 if store is None else store.last)


def any_positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position that may lie outside."""
    return positions(known) | st.integers(-3, 20)


def next_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window accepts next: a result while calls are open, anything else while none is."""
    waiting = known["window"].open_calls if "window" in known else ()
    if not waiting:
        return TURNS
    return st.builds(Turn, st.just(Role.TOOL), drawn.TEXTS, tool_call_id=st.sampled_from(waiting))


def any_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window may have to refuse."""
    results = st.builds(Turn, st.just(Role.TOOL), drawn.PROSE, tool_call_id=st.sampled_from(drawn.CALL_IDS))
    return TURNS | results | next_turns(known)


def conversations(known: Known) -> st.SearchStrategy[tuple[Turn, ...]]:
    """Draw the turns of a conversation as a window has them, with ids and counts.

    For a message format the user begins; for a summariser there is something to read.
    """
    begun = TASK if "wire" in known else []
    turns = drawn.conversations(max_atoms=6).map(lambda moves: drawn.filled([*begun, *moves]).all_turns())
    return turns.filter(bool) if "allowance" in known else turns


def _known_ids(known: Known) -> st.SearchStrategy[str]:
    ids = list(known.get("ledger", ()))
    return st.sampled_from(ids) | IDS if ids else IDS


def _requests(known: Known) -> st.SearchStrategy[list[tuple[str, ResourceClass]]]:
    return st.lists(st.tuples(_known_ids(known), CLASSES), max_size=6)


def _counters(_: Known) -> st.SearchStrategy[Any]:
    """Draw a counter; the vocabulary is loaded when one is asked for."""
    return st.sampled_from([drawn.FAST, TiktokenCounter("o200k_base")])


WINDOW_PARAMETERS: Final[Drawings] = {
    "store": always(stores()),
    "window": always(drawn.lived_windows()),
    "other_window": always(drawn.windows(max_atoms=4)),
    "third_window": always(drawn.windows(max_atoms=4)),
    "ledger": always(ledgers()),
    "view": one_of(*READINGS),
    "other_view": one_of(*READINGS),
    "position": positions,
    "other_position": positions,
    "positions": lambda known: st.lists(positions(known), max_size=4),
    "turn": next_turns,
    "other_turn": next_turns,
    "counter": _counters,
    "text": always(drawn.TEXTS),
    "wire": one_of(*(get_format(provider) for provider in Provider)),
    "resource_id": _known_ids,
    "other_id": _known_ids,
    "resource_class": always(CLASSES),
    "other_class": always(CLASSES),
    "requests": _requests,
    "classifier": one_of(default_classifier),
    "role": one_of(*(role.value for role in Role), "other"),
    "content": always(drawn.TEXTS | st.sampled_from([*drawn.CONSTRAINTS, *drawn.ACKNOWLEDGEMENTS])),
    "metadata": always(METADATA),
}
"""How to draw what laws of linearity and window take."""
