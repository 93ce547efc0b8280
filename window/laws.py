"""The laws of the window: a comonad, a store, a functor, honest sums, atoms, counters and formats.

The names and statements are those of Haskell's ``Control.Comonad`` and
``Control.Comonad.Store``; seed 004 Appendix A asks for them. A store law takes a store
or a window at any focus; two stores count as the same when they show the same values at
every position, however deep, and have the same focus. A `position` is one of the store's
(``0..last``), a `turn` may come next in the window (``window.check_order(turn)`` accepts
it), unless the law says "any". Run them on your own by passing it in.
"""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve

from polycontext.linearity import PolycontextError
from polycontext.linearity.law import agree, holds, law
from polycontext.window._wire_words import answered, called, missing, spoken
from polycontext.window.atoms import Atom
from polycontext.window.context_window import ContextWindow
from polycontext.window.errors import InvalidMessagesError, OrderError, PositionError
from polycontext.window.providers import Message, WireFormat
from polycontext.window.splice import Splice
from polycontext.window.store import StoreComonad
from polycontext.window.tokens import TURN_OVERHEAD, TokenCounter, count_turn
from polycontext.window.turn import Role, Turn

_COMONAD = "Uustalu and Vene, Comonadic Notions of Computation; seed 004 Appendix A"
_STORE = "Control.Comonad.Store; seed 004 §2.1"
_FUNCTOR = "the functor laws"

AnyStore = StoreComonad[Any]
View = Callable[[AnyStore], Any]


def _extract(store: AnyStore) -> Any:
    return store.extract()


def _shown(value: Any) -> Any:
    """Return what a store shows, all the way down: its focus and its values; any other value is itself."""
    if not isinstance(value, StoreComonad):
        return value
    return value.pos, [_shown(value.peek(position)) for position in range(value.last + 1)]


def _refusal(attempt: Callable[[], object]) -> type[PolycontextError] | None:
    """Return the kind of error that refuses `attempt`, None where it is accepted."""
    try:
        attempt()
    except PolycontextError as error:
        return type(error)
    return None


def _reading(window: ContextWindow) -> tuple[object, ...]:
    """Return what can be read of a window."""
    return window.pos, window.tokens, window.all_turns(), window.open_calls, dict(window.linearity.items()), window.serial


# --- a comonad ------------------------------------------------------------


@law(_COMONAD)
def duplicate_then_extract_is_identity(store: AnyStore) -> None:
    """Left identity: ``store.duplicate().extract()`` is `store`."""
    agree(_shown(store.duplicate().extract()), _shown(store), store=store)


@law(_COMONAD)
def duplicate_then_map_extract_is_identity(store: AnyStore) -> None:
    """Right identity: ``store.duplicate().map(extract)`` is `store`."""
    agree(_shown(store.duplicate().map(_extract)), _shown(store), store=store)


@law(_COMONAD)
def duplicate_is_associative(store: AnyStore) -> None:
    """Associativity: ``store.duplicate().duplicate()`` is ``store.duplicate().map(duplicate)``."""
    agree(_shown(store.duplicate().duplicate()), _shown(store.duplicate().map(lambda s: s.duplicate())), store=store)


@law(_COMONAD)
def duplicate_shows_every_focus(store: AnyStore, position: int) -> None:
    """What `duplicate` has at a position is the store focused there: ``store.duplicate().peek(p)`` is ``store.seek(p)``."""
    agree(_shown(store.duplicate().peek(position)), _shown(store.seek(position)), store=store, position=position)


@law(_COMONAD)
def extend_extract_is_identity(store: AnyStore) -> None:
    """Left identity of extend: ``store.extend(extract)`` is `store`."""
    agree(_shown(store.extend(_extract)), _shown(store), store=store)


@law(_COMONAD)
def extract_of_extend_is_the_function(store: AnyStore, view: View) -> None:
    """Right identity of extend: ``store.extend(f).extract()`` is ``f(store)``."""
    agree(store.extend(view).extract(), view(store), store=store, view=view)


@law(_COMONAD)
def extend_is_associative(store: AnyStore, view: View, other_view: View) -> None:
    """Associativity of extend: ``store.extend(f).extend(g)`` is ``store.extend(lambda s: g(s.extend(f)))``."""
    stepwise = store.extend(view).extend(other_view)
    at_once = store.extend(lambda s: other_view(s.extend(view)))
    agree(_shown(stepwise), _shown(at_once), store=store, view=view, other_view=other_view)


@law(_COMONAD)
def extend_is_map_after_duplicate(store: AnyStore, view: View) -> None:
    """Both presentations agree: ``store.extend(f)`` is ``store.duplicate().map(f)``."""
    agree(_shown(store.extend(view)), _shown(store.duplicate().map(view)), store=store, view=view)


@law(_COMONAD)
def duplicate_is_extend_by_identity(store: AnyStore) -> None:
    """Both presentations agree: ``store.duplicate()`` is ``store.extend(identity)``."""
    agree(_shown(store.duplicate()), _shown(store.extend(lambda s: s)), store=store)


@law(_COMONAD)
def map_is_extend_after_extract(store: AnyStore) -> None:
    """The functor is the comonad's own: ``store.map(f)`` is ``store.extend(lambda s: f(s.extract()))``, for f = repr."""
    agree(_shown(store.map(repr)), _shown(store.extend(lambda s: repr(s.extract()))), store=store)


@law(_FUNCTOR)
def map_keeps_identity(store: AnyStore) -> None:
    """Functor identity: ``store.map(identity)`` is `store`."""
    agree(_shown(store.map(lambda value: value)), _shown(store), store=store)


@law(_FUNCTOR)
def map_keeps_composition(store: AnyStore) -> None:
    """Functor composition: ``store.map(f).map(g)`` is ``store.map(lambda a: g(f(a)))``, for f = repr, g = len."""
    agree(_shown(store.map(repr).map(len)), _shown(store.map(lambda value: len(repr(value)))), store=store)


# --- a store --------------------------------------------------------------


@law(_STORE)
def extract_is_peek_at_the_focus(store: AnyStore) -> None:
    """Store law: ``store.extract()`` is ``store.peek(store.pos)``."""
    agree(store.extract(), store.peek(store.pos), store=store)


@law(_STORE)
def seek_reaches_every_position(store: AnyStore, position: int) -> None:
    """Store law: ``store.seek(p)`` is focused on p and shows ``store.peek(p)``."""
    moved = store.seek(position)
    agree((moved.pos, moved.extract()), (position, store.peek(position)), store=store, position=position)


@law(_STORE)
def seek_to_the_focus_changes_nothing(store: AnyStore) -> None:
    """Store law: ``store.seek(store.pos)`` is `store`."""
    agree(_shown(store.seek(store.pos)), _shown(store), store=store)


@law(_STORE)
def the_last_seek_wins(store: AnyStore, position: int, other_position: int) -> None:
    """Store law: ``store.seek(p).seek(q)`` is ``store.seek(q)``."""
    moved_twice = store.seek(position).seek(other_position)
    agree(_shown(moved_twice), _shown(store.seek(other_position)), store=store, position=position, other_position=other_position)


@law(_STORE)
def seek_moves_the_focus_alone(store: AnyStore, position: int) -> None:
    """Seeking changes no value, and the store that was moved from stays where it was."""
    before = _shown(store)
    agree(_shown(store.seek(position))[1], before[1], store=store, position=position)
    agree(_shown(store), before, store=store, position=position)


@law(_STORE)
def relative_moves_start_at_the_focus(store: AnyStore, position: int) -> None:
    """Store laws: ``seeks(f)`` is ``seek(f(pos))`` and ``peeks(f)`` is ``peek(f(pos))``, for f a step of p around the store."""

    def step(focus: int) -> int:
        return (focus + position) % (store.last + 1)

    moved, seen = store.seek(step(store.pos)), store.peek(step(store.pos))
    agree((_shown(store.seeks(step)), store.peeks(step)), (_shown(moved), seen), store=store, position=position)


@law(_STORE)
def experiment_peeks_at_each_position(store: AnyStore, positions: Sequence[int]) -> None:
    """Store law: ``store.experiment(f)`` is what `peek` gives at each position of ``f(store.pos)``, in order; the focus first here."""
    found = store.experiment(lambda focus: [focus, *positions])
    agree(found, [store.extract(), *(store.peek(position) for position in positions)], store=store, positions=positions)


@law(_STORE)
def positions_outside_are_refused(store: AnyStore, position: int) -> None:
    """Any position is one of ``0..last``, or `seek` and `peek` refuse it with a `PositionError`; none counts from the end."""
    expected = None if 0 <= position <= store.last else PositionError
    found = _refusal(lambda: store.seek(position)), _refusal(lambda: store.peek(position))
    agree(found, (expected, expected), store=store, position=position)


@law("design §5")
def what_extend_returns_is_a_sequence(store: AnyStore) -> None:
    """`map`, `extend` and `duplicate` return sequences: their length, items and order are those of the positions."""
    values = [store.peek(position) for position in range(store.last + 1)]
    for kind, found in (("map", store.map(lambda value: value)), ("extend", store.extend(_extract))):
        indexed = [found[index] for index in range(-len(values), 0)]
        agree((len(found), list(found), indexed), (len(values), values, values), kind=kind, store=store)
    agree([each.pos for each in store.duplicate()], list(range(len(values))), kind="duplicate", store=store)


# --- a conversation -------------------------------------------------------


@law("design §5")
def append_shows_the_turn(window: ContextWindow, turn: Turn) -> None:
    """Append then extract shows the turn: all that it says, with an id and a count where it had none."""
    shown = window.append(turn).extract()
    holds(shown is not None and bool(shown.resource_id) and shown.tokens is not None, "an admitted turn", shown, window=window, turn=turn)
    if shown is not None:
        expected = turn.admitted(turn.resource_id or shown.resource_id, shown.tokens or 0)
        agree(shown, expected, window=window, turn=turn)


@law("design §5")
def append_keeps_what_was_there(window: ContextWindow, turn: Turn) -> None:
    """Append adds one turn behind the others and focuses it, and the window appended to never changes."""
    before = _reading(window)
    turns = window.all_turns()
    after = window.append(turn)
    agree((len(after), after.pos, after.all_turns()[:-1]), (len(turns) + 1, len(turns) + 1, turns), window=window, turn=turn)
    agree(_reading(window), before, window=window, turn=turn)


@law("design §5")
def append_ignores_the_focus(window: ContextWindow, turn: Turn, position: int) -> None:
    """Appending goes to the end from wherever the focus is: ``window.seek(p).append(t)`` is ``window.append(t)``."""
    agree(_reading(window.seek(position).append(turn)), _reading(window.append(turn)), window=window, turn=turn, position=position)


@law("design §5")
def forks_share_nothing_but_the_past(window: ContextWindow, turn: Turn, other_turn: Turn) -> None:
    """Two windows appended to one window have its turns and their own one, whichever was made first."""
    left, right = window.append(turn), window.append(other_turn)
    again = window.append(turn)
    agree(_reading(left), _reading(again), window=window, turn=turn, other_turn=other_turn)
    agree((left.all_turns()[:-1], right.all_turns()[:-1]), (window.all_turns(),) * 2, window=window, turn=turn, other_turn=other_turn)
    said = [(each.role, each.text) for each in (left.all_turns()[-1], right.all_turns()[-1])]
    agree(said, [(turn.role, turn.text), (other_turn.role, other_turn.text)], window=window)


@law("design §5, §7")
def calls_are_answered_before_anything_else(window: ContextWindow, turn: Turn) -> None:
    """Any turn whose id is not taken comes in exactly if it answers an open call, or none is open and it answers none."""
    before = _reading(window)
    fits = turn.tool_call_id in window.open_calls if turn.role is Role.TOOL else not window.open_calls
    agree(_refusal(lambda: window.append(turn)), None if fits else OrderError, window=window, turn=turn)
    agree(_reading(window), before, window=window, turn=turn)


@law("design §5")
def every_turn_has_an_id_of_its_own_and_a_class(window: ContextWindow) -> None:
    """No two turns share an id, and the ledger knows the class of each."""
    ids = [turn.resource_id for turn in window.all_turns()]
    agree(len(set(ids)), len(ids), ids=ids)
    agree([each for each in ids if each not in window.linearity], [], window=window)


@law("design §5")
def sums_equal_recounting(window: ContextWindow) -> None:
    """Running sums are exact: at every position tokens are the sum of the turns up to it, and pressure is their share."""
    counts = [turn.tokens or 0 for turn in window.all_turns()]
    recounted = [sum(counts[:position]) for position in range(len(window) + 1)]
    agree(list(window.extend(lambda w: w.tokens)), recounted, window=window)
    agree(list(window.extend(lambda w: w.pressure)), [each / window.max_tokens for each in recounted], window=window)


@law("design §5")
def a_turn_is_counted_once(window: ContextWindow, turn: Turn) -> None:
    """Append gives a turn the count of the window's counter, or leaves the one it has; no other count changes."""
    after = window.append(turn).all_turns()
    expected = count_turn(window.counter, turn) if turn.tokens is None else turn.tokens
    counts = [each.tokens for each in window.all_turns()]
    agree([each.tokens for each in after], [*counts, expected], window=window, turn=turn)


@law("design §3")
def atoms_partition_the_turns(window: ContextWindow) -> None:
    """Every turn is in exactly one atom, in order, and atoms bill their turns."""
    atoms, turns = window.atoms(), window.all_turns()
    agree(tuple(turn for atom in atoms for turn in atom.turns), turns, window=window)
    agree([atom.turns for atom in atoms], [turns[atom.start : atom.stop] for atom in atoms], window=window)
    agree([atom.tokens for atom in atoms], [sum(turn.tokens or 0 for turn in atom.turns) for atom in atoms], window=window)


@law("design §3")
def atoms_are_never_split(window: ContextWindow) -> None:
    """A result is in the atom of its call; only the last atom may be open, namely while calls of it have no result."""
    atoms = window.atoms()
    for atom in atoms:
        head, *results = atom.turns
        calls, answered = [call.id for call in head.tool_calls], [turn.tool_call_id for turn in results]
        holds(head.role is not Role.TOOL, "an atom that begins with no result", head, window=window)
        holds(set(answered) <= set(calls) and len(set(answered)) == len(answered), "one result a call", answered, calls=calls)
        agree(atom.is_open, len(answered) < len(calls), atom=atom)
    agree([atom.is_open for atom in atoms[:-1]], [False] * (len(atoms) - 1), window=window)


@law("design §3")
def splicing_cuts_the_run_alone(window: ContextWindow, position: int) -> None:
    """Cutting out an atom leaves all other turns as they were, and the ledger whole: that is how it survives a compression."""
    atoms = window.atoms()
    gone: tuple[Atom, ...] = atoms[position % len(atoms) :][:1] if atoms else ()
    cut = window.splice([Splice(atom.start, atom.stop) for atom in gone], compressed=True)
    left = tuple(turn for atom in atoms if atom not in gone for turn in atom.turns)
    agree((cut.all_turns(), cut.linearity), (left, window.linearity), window=window, gone=gone)
    agree((cut.tokens, cut.turns_since_compression), (sum(turn.tokens or 0 for turn in left), 0), window=window, gone=gone)


@law("design §5, §7")
def clearing_keeps_the_ledger(window: ContextWindow) -> None:
    """A cleared window has no turns and one position; the ledger and the count of ids stay, so that no id returns."""
    empty = window.cleared()
    agree((len(empty), empty.pos, empty.tokens, empty.open_calls), (0, 0, 0, ()), window=window)
    agree((empty.linearity, empty.serial), (window.linearity, window.serial), window=window)


# --- counting and writing -------------------------------------------------


@law("design §5")
def counting_repeats(counter: TokenCounter, text: str) -> None:
    """A counter says the same of any text again, never less than nothing, and nothing of no text."""
    count = counter.count(text)
    agree(counter.count(text), count, text=text)
    holds(count >= 0 and counter.count("") == 0, "0 or more, 0 for no text", (count, counter.count("")), text=text)


@law("design §5")
def a_turn_costs_its_text_and_framing(counter: TokenCounter, turn: Turn) -> None:
    """Any turn costs at least what its content and its calls' arguments count, and the framing of a message around them."""
    texts = [turn.text, *(call.arguments for call in turn.tool_calls)]
    least = TURN_OVERHEAD + sum(counter.count(text) for text in texts if text)
    found = count_turn(counter, turn)
    holds(found >= least, f"at least {least}", found, turn=turn)


@law("design §5, §7")
def what_is_written_is_valid(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes passes its own check, for turns whose calls are paired and of which at least one is the user's."""
    messages = wire.render(turns).messages
    agree(_problem(wire, messages), None, provider=wire.provider, turns=turns, messages=messages)


def _problem(wire: WireFormat, messages: Sequence[Message]) -> str | None:
    try:
        wire.check(messages, allow_open_tail=True)
    except InvalidMessagesError as error:
        return str(error)
    return None


@law("design §5")
def reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes it reads back: texts in order (white space at their ends aside), calls in order, each with its result.

    A format may cut a tool's name short and may spell call ids anew; system texts may be taken apart from the others.
    """
    again = wire.parse(wire.render(turns).inline()).turns
    for system in (False, True):
        lost = missing(spoken(turns, system=system), spoken(again, system=system))
        agree(lost, [], provider=wire.provider, turns=turns, read=again)
    calls, read = called(turns), called(again)
    kept = len(calls) == len(read) and all(name and call.startswith(name) for call, name in zip(calls, read, strict=True))
    holds(kept, f"the calls {calls}", read, provider=wire.provider, turns=turns)
    agree(answered(again), answered(turns), provider=wire.provider, turns=turns, read=again)


@law("design §5")
def what_was_read_is_written_back_unchanged(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """A message list that was read is written back as it was when all its turns are kept, and reading it did not change it."""
    messages, untouched = wire.render(turns).inline(), wire.render(turns).inline()
    parsed = wire.parse(messages)
    kept = [evolve(turn, resource_id=f"t{index}") for index, turn in enumerate(parsed.turns)]
    positions = {turn.resource_id: index for index, turn in enumerate(kept)}
    agree((wire.rebuild(parsed, kept, positions).messages, messages), (untouched, untouched), provider=wire.provider, turns=turns)
