"""What a law quantifies over: for every name that a law's parameter may have, how to draw a value.

Some values make sense beside others only (a position of that store, views over one log),
so a strategy is made knowing what was drawn before it, and a law's inputs are
drawn together, in the order of `PARAMETERS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from attrs import define, frozen
from hypothesis import strategies as st

from polycontext.linearity import CallerError, LinearityMap, ResourceClass, Tag, default_classifier
from polycontext.linearity.law import Law
from polycontext.nodes import _strategies as drawn
from polycontext.nodes._agent_inputs import AGENT_PARAMETERS
from polycontext.nodes._session_inputs import SESSION_PARAMETERS
from polycontext.pressure import ContextProjector, ExtractiveSummariser, Fidelity, View
from polycontext.window import ContextWindow, Role, Store, TiktokenCounter, Turn
from polycontext.window.providers import Provider, get_format
from polycontext.window.store import StoreComonad

Known = Mapping[str, Any]
Drawing = Callable[[Known], st.SearchStrategy[Any]]

NOTHING: Final[Known] = MappingProxyType({})


@define(slots=False, eq=False)
class UnknownParameterError(CallerError, KeyError):
    """Refuse the name of a parameter that no strategy is known for."""

    parameter: str
    legal: tuple[str, ...]

    def __str__(self) -> str:
        near = get_close_matches(self.parameter, self.legal)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"legal: {', '.join(self.legal)}"
        return f"no strategy for a parameter {self.parameter!r}; {hint}"


@frozen(repr=False)
class Named:
    """Be a function that a counterexample can show by name."""

    name: str
    function: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        """Apply the function."""
        return self.function(value)

    def __repr__(self) -> str:
        return self.name


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

IDS = st.sampled_from(["t1", "t2", "t3", "g1", "é", "日本"])
MOMENTS = st.sampled_from([drawn.START, drawn.START.replace(year=1970), drawn.START.replace(year=9999)])
CLASSES = st.sampled_from(ResourceClass)
RATIONALES = st.sampled_from(["", "the user came back to it", "日本"])
TAGS = st.builds(Tag, CLASSES, provenance=RATIONALES, rationale=RATIONALES, when=MOMENTS)
FACTS = st.dictionaries(st.sampled_from(["gist", "first_user", "has_calls", "has_parts", "answers_question"]), st.booleans())
NUMBERS = st.fixed_dictionaries({}, optional={key: st.sampled_from([0, 1, 50, 10_000]) for key in ("constraint_tokens", "tokens")})
METADATA = st.tuples(FACTS, NUMBERS).map(lambda pair: pair[0] | pair[1])
FIDELITIES = st.sampled_from(Fidelity)


@st.composite
def ledgers(draw: st.DrawFn, empty: LinearityMap | None = None) -> LinearityMap:
    """Draw a ledger with a history: tags, promotions, drops, and a fork in the middle of them; `empty` is where it begins."""
    ledger = LinearityMap() if empty is None else empty
    for resource_id, tag in draw(st.dictionaries(IDS, TAGS, max_size=6)).items():
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


_FUNCTIONS: Sequence[Callable[[int], Any]] = (
    Named("the position", lambda position: position),
    Named("the same everywhere", lambda position: "same"),
    Named("squares", lambda position: position * position),
    Named("None at 0", lambda position: position or None),
)


def projectors() -> st.SearchStrategy[ContextProjector]:
    """Draw a projector that reaches anywhere, over a quick summariser or the default one."""
    return st.builds(ContextProjector, st.sampled_from([drawn.Head(), ExtractiveSummariser()]), drawn.reaches())


def _positions(known: Known) -> st.SearchStrategy[int]:
    store = known.get("store", known.get("window"))
    return st.integers(0, 5 if store is None else store.last)


_TURNS = drawn.plain_turns() | drawn.calling_turns()


def _views(known: Known) -> st.SearchStrategy[View]:
    """Draw a view over the log of the views before it, half of the time above or below one of them."""
    others = [value for value in known.values() if isinstance(value, View)]
    if not others:
        logs = st.integers(0, 4).map(lambda size: [f"t{number + 1}" for number in range(size)])
        return logs.flatmap(_views_over)
    near = st.sampled_from(others).flatmap(lambda view: st.sampled_from([view, view.meet(others[0])]))
    return near | _views_over(others[0].fidelities)


def _views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    return st.fixed_dictionaries(dict.fromkeys(log, FIDELITIES)).map(View)


def _known_ids(known: Known) -> st.SearchStrategy[str]:
    ids = list(known.get("ledger", ()))
    return st.sampled_from(ids) | IDS if ids else IDS


def _any_positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position that may lie outside."""
    return _positions(known) | st.integers(-3, 20)


def _next_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window accepts next: a result while calls are open, anything else while none is."""
    waiting = known["window"].open_calls if "window" in known else ()
    if not waiting:
        return _TURNS
    return st.builds(Turn, st.just(Role.TOOL), drawn.TEXTS, tool_call_id=st.sampled_from(waiting))


def _any_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window may have to refuse."""
    results = st.builds(Turn, st.just(Role.TOOL), drawn.PROSE, tool_call_id=st.sampled_from(drawn.CALL_IDS))
    return _TURNS | results | _next_turns(known)


def _conversations(known: Known) -> st.SearchStrategy[tuple[Turn, ...]]:
    """Draw the turns of a conversation as a window has them, with ids and counts.

    For a message format the user begins; for a summariser there is something to read.
    """
    begun: list[drawn.Move] = [(Turn(Role.USER, "Book a night train to Vienna."), None)] if "wire" in known else []
    turns = drawn.conversations(max_atoms=6).map(lambda moves: drawn.filled([*begun, *moves]).all_turns())
    return turns.filter(bool) if "allowance" in known else turns


_TURNS = drawn.plain_turns() | drawn.calling_turns()


def _views(known: Known) -> st.SearchStrategy[View]:
    """Draw a view over the log of the views before it, half of the time above or below one of them."""
    others = [value for value in known.values() if isinstance(value, View)]
    if not others:
        logs = st.integers(0, 4).map(lambda size: [f"t{number + 1}" for number in range(size)])
        return logs.flatmap(_views_over)
    near = st.sampled_from(others).flatmap(lambda view: st.sampled_from([view, view.meet(others[0])]))
    return near | _views_over(others[0].fidelities)


def _views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    return st.fixed_dictionaries(dict.fromkeys(log, FIDELITIES)).map(View)


def _known_ids(known: Known) -> st.SearchStrategy[str]:
    ids = list(known.get("ledger", ()))
    return st.sampled_from(ids) | IDS if ids else IDS


def _any_positions(known: Known) -> st.SearchStrategy[int]:
    """Draw a position that may lie outside."""
    return _positions(known) | st.integers(-3, 20)


def _next_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window accepts next: a result while calls are open, anything else while none is."""
    waiting = known["window"].open_calls if "window" in known else ()
    if not waiting:
        return _TURNS
    return st.builds(Turn, st.just(Role.TOOL), drawn.TEXTS, tool_call_id=st.sampled_from(waiting))


def _any_turns(known: Known) -> st.SearchStrategy[Turn]:
    """Draw a turn that the window may have to refuse."""
    results = st.builds(Turn, st.just(Role.TOOL), drawn.PROSE, tool_call_id=st.sampled_from(drawn.CALL_IDS))
    return _TURNS | results | _next_turns(known)


def _conversations(known: Known) -> st.SearchStrategy[tuple[Turn, ...]]:
    """Draw the turns of a conversation as a window has them, with ids and counts; for a message format the user begins."""
    task: list[drawn.Move] = [(Turn(Role.USER, "Book a night train to Vienna."), None)] if "wire" in known else []
    return drawn.conversations(max_atoms=6).map(lambda moves: drawn.filled([*task, *moves]).all_turns())


def _always(strategy: st.SearchStrategy[Any]) -> Drawing:
    return lambda known: strategy


def _from_window(make: Callable[[ContextProjector, ContextWindow, float], Any]) -> Drawing:
    return _always(st.builds(make, projectors(), drawn.lived_windows(), drawn.TARGETS))


def _counters(_: Known) -> st.SearchStrategy[Any]:
    return st.sampled_from([drawn.FAST, TiktokenCounter("o200k_base")])


PARAMETERS: Final[Mapping[str, Drawing]] = MappingProxyType(
    {
        "store": _always(stores()),
        "window": _always(drawn.lived_windows()),
        "ledger": _always(ledgers()),
        "view": _always(st.sampled_from(READINGS)),
        "other_view": _always(st.sampled_from(READINGS)),
        "position": _positions,
        "other_position": _positions,
        "positions": lambda known: st.lists(_positions(known), max_size=4),
        "turn": _next_turns,
        "other_turn": _next_turns,
        "counter": _counters,
        "text": _always(drawn.TEXTS),
        "wire": _always(st.sampled_from([get_format(provider) for provider in Provider])),
        "summariser": _always(st.just(ExtractiveSummariser())),
        "offline_summariser": _always(st.just(ExtractiveSummariser())),
        "allowance": _always(st.sampled_from([1, 5, 40, 200]) | st.integers(1, 400)),
        "turns": _conversations,
        "resource_id": _known_ids,
        "other_id": _known_ids,
        "resource_class": _always(CLASSES),
        "other_class": _always(CLASSES),
        "requests": lambda known: st.lists(st.tuples(_known_ids(known), CLASSES), max_size=6),
        "classifier": _always(st.just(default_classifier)),
        "role": _always(st.sampled_from([*(role.value for role in Role), "other"])),
        "content": _always(drawn.TEXTS | st.sampled_from([*drawn.CONSTRAINTS, *drawn.ACKNOWLEDGEMENTS])),
        "metadata": _always(METADATA),
        "first_view": _views,
        "second_view": _views,
        "third_view": _views,
        "ceiling": _views,
        "projector": _always(projectors()),
        "planner": _always(projectors()),
        "ladder": _from_window(lambda projector, window, _: projector.ladder(window)),
        "plan": _from_window(lambda projector, window, target: projector.plan_for(window, target)),
        "result": _from_window(lambda projector, window, target: projector.compress(window, target)),
        "target": _always(drawn.TARGETS),
        "other_target": _always(drawn.TARGETS),
        "targets": _always(st.lists(drawn.TARGETS, min_size=1, max_size=4)),
    **AGENT_PARAMETERS,
    **SESSION_PARAMETERS,
    }
)
"""How to draw each parameter that a law may have, in the order in which they are drawn."""


WIDER: Final[Mapping[str, Mapping[str, Drawing]]] = MappingProxyType(
    {
        "positions_outside_are_refused": {"position": _any_positions},
        "calls_are_answered_before_anything_else": {"turn": _any_turns},
    }
)
"""Laws that say "any" of what the others take within bounds: by name of law and parameter."""


def for_parameter(name: str, known: Known = NOTHING) -> st.SearchStrategy[Any]:
    """Return the strategy for a law's parameter `name`; `known` are inputs that were drawn before it.

    Raises:
        UnknownParameterError: no law has such a parameter.

    >>> for_parameter("position", {"store": Store(str, last=2)})
    integers(min_value=0, max_value=2)
    """
    if name not in PARAMETERS:
        raise UnknownParameterError(name, tuple(PARAMETERS))
    return PARAMETERS[name](known)


@st.composite
def inputs_of(draw: st.DrawFn, law: Law, bound: Mapping[str, st.SearchStrategy[Any]] = NOTHING) -> dict[str, Any]:
    """Draw all that `law` takes, together; the parameters in `bound` from there."""
    wider = WIDER.get(law.name, {})
    known: dict[str, Any] = {}
    for name in sorted(law.parameters, key=_place):
        usual = wider[name](known) if name in wider else for_parameter(name, known)
        known[name] = draw(bound.get(name, usual))
    return known


def _place(name: str) -> int:
    """Return when a parameter is drawn; an unknown one last, where drawing it says what is wrong."""
    return list(PARAMETERS).index(name) if name in PARAMETERS else len(PARAMETERS)
