"""The laws of the window: a comonad, a store, a functor, and honest running sums.

The names and statements are those of Haskell's ``Control.Comonad`` and
``Control.Comonad.Store``; seed 004 Appendix A asks for them. Every law takes a store
(or a window) at any focus, so run them on your own by passing it in.
"""

from collections.abc import Callable, Sequence
from typing import Any

from polycontext.linearity.law import agree, holds, law
from polycontext.window.context_window import ContextWindow
from polycontext.window.providers import WireFormat
from polycontext.window.store import StoreComonad
from polycontext.window.tokens import TokenCounter
from polycontext.window.turn import Turn

_COMONAD = "Uustalu and Vene, Comonadic Notions of Computation; seed 004 Appendix A"
_STORE = "Control.Comonad.Store; seed 004 §2.1"

AnyStore = StoreComonad[Any]
View = Callable[[AnyStore], Any]


def _extract(store: AnyStore) -> Any:
    return store.extract()


def _values(store: AnyStore) -> list[Any]:
    return [store.peek(position) for position in range(store.last + 1)]


@law(_COMONAD)
def duplicate_then_extract_is_identity(store: AnyStore) -> None:
    """Left identity: ``store.duplicate().extract() == store``."""
    agree(store.duplicate().extract(), store, store=store)


@law(_COMONAD)
def duplicate_then_map_extract_is_identity(store: AnyStore) -> None:
    """Right identity: ``store.duplicate().map(extract)`` has the values of the store at every position, and its focus."""
    again = store.duplicate().map(_extract)
    agree((_values(again), again.pos), (_values(store), store.pos), store=store)


@law(_COMONAD)
def duplicate_is_associative(store: AnyStore) -> None:
    """Associativity: ``store.duplicate().duplicate() == store.duplicate().map(duplicate)``."""
    agree(store.duplicate().duplicate(), store.duplicate().map(lambda s: s.duplicate()), store=store)


@law(_COMONAD)
def extend_extract_is_identity(store: AnyStore) -> None:
    """Left identity of extend: ``store.extend(extract)`` has the values of the store at every position."""
    agree(_values(store.extend(_extract)), _values(store), store=store)


@law(_COMONAD)
def extract_of_extend_is_the_function(store: AnyStore, view: View) -> None:
    """Right identity of extend: ``store.extend(view).extract() == view(store)``."""
    agree(store.extend(view).extract(), view(store), store=store, view=view)


@law(_COMONAD)
def extend_is_associative(store: AnyStore, view: View, other_view: View) -> None:
    """Associativity of extend: ``store.extend(f).extend(g) == store.extend(lambda s: g(s.extend(f)))``."""
    agree(
        store.extend(view).extend(other_view),
        store.extend(lambda s: other_view(s.extend(view))),
        store=store,
        view=view,
        other_view=other_view,
    )


@law(_COMONAD)
def extend_is_map_after_duplicate(store: AnyStore, view: View) -> None:
    """Both presentations agree: ``store.extend(f) == store.duplicate().map(f)``."""
    agree(store.extend(view), store.duplicate().map(view), store=store, view=view)


@law("the functor laws")
def map_keeps_identity(store: AnyStore) -> None:
    """Functor identity: ``store.map(identity)`` has the values and the focus of the store."""
    same = store.map(lambda value: value)
    agree((_values(same), same.pos), (_values(store), store.pos), store=store)


@law("the functor laws")
def map_keeps_composition(store: AnyStore) -> None:
    """Functor composition: ``store.map(f).map(g) == store.map(lambda a: g(f(a)))``, for f = repr, g = len."""
    agree(store.map(repr).map(len), store.map(lambda value: len(repr(value))), store=store)


@law(_STORE)
def seek_reaches_every_position(store: AnyStore, position: int) -> None:
    """Store law: ``store.seek(p).pos == p``, and ``store.seek(p).extract() == store.peek(p)``."""
    moved = store.seek(position)
    agree((moved.pos, moved.extract()), (position, store.peek(position)), store=store, position=position)


@law(_STORE)
def seek_to_the_focus_changes_nothing(store: AnyStore) -> None:
    """Store law: ``store.seek(store.pos) == store``."""
    agree(store.seek(store.pos), store, store=store)


@law(_STORE)
def the_last_seek_wins(store: AnyStore, position: int, other_position: int) -> None:
    """Store law: ``store.seek(p).seek(q) == store.seek(q)``."""
    inputs = {"store": store, "position": position, "other_position": other_position}
    agree(store.seek(position).seek(other_position), store.seek(other_position), **inputs)


@law(_STORE)
def relative_moves_are_moves(store: AnyStore, position: int) -> None:
    """Store law: ``seeks``, ``peeks`` and ``experiment`` with a constant are ``seek`` and ``peek``."""
    found = (store.seeks(lambda _: position), store.peeks(lambda _: position), store.experiment(lambda _: [position]))
    agree(found, (store.seek(position), store.peek(position), [store.peek(position)]), store=store, position=position)


@law("design §5")
def append_shows_the_turn(window: ContextWindow, turn: Turn) -> None:
    """Append then extract shows the turn: same role, content and calls, with an id and a count."""
    shown = window.append(turn).extract()
    holds(shown is not None and bool(shown.resource_id) and shown.tokens is not None, "an admitted turn", shown, window=window, turn=turn)
    agree((shown.role, shown.content, shown.tool_calls) if shown else None, (turn.role, turn.content, turn.tool_calls), turn=turn)


@law("design §5")
def append_keeps_what_was_there(window: ContextWindow, turn: Turn) -> None:
    """Append adds one turn behind the others, and the window appended to never changes."""
    before = window.all_turns()
    after = window.append(turn)
    agree(after.all_turns()[:-1], before, window=window, turn=turn)
    agree((len(after), window.all_turns(), after.pos), (len(before) + 1, before, len(after)), window=window, turn=turn)


@law("design §5")
def sums_equal_recounting(window: ContextWindow) -> None:
    """Running sums are exact: at every position tokens are the sum of the turns before it, and pressure is their share."""
    counts = [turn.tokens or 0 for turn in window.all_turns()]
    for position in range(len(window) + 1):
        here = window.seek(position)
        recounted = sum(counts[:position])
        agree((here.tokens, here.pressure), (recounted, recounted / window.max_tokens), window=window, position=position)


@law("design §3")
def atoms_partition_the_turns(window: ContextWindow) -> None:
    """Every turn is in exactly one atom, in order; a result is in the atom of its call."""
    atoms = window.atoms()
    agree(tuple(turn for atom in atoms for turn in atom.turns), window.all_turns(), window=window)
    for atom in atoms:
        calls = {call.id for call in atom.turns[0].tool_calls}
        answered = [turn.tool_call_id for turn in atom.turns[1:]]
        holds(set(answered) <= calls and len(set(answered)) == len(answered), "one result a call of the atom", answered, window=window)
        holds(atom.is_open or set(answered) == calls, "a closed atom has all results", answered, window=window)


@law("design §5")
def counting_repeats(counter: TokenCounter, text: str) -> None:
    """A counter says the same of the same text, never less than nothing, and nothing of no text."""
    count = counter.count(text)
    agree(counter.count(text), count, text=text)
    holds(count >= 0 and counter.count("") == 0, "0 or more, 0 for no text", (count, counter.count("")), text=text)


@law("design §5")
def reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes it reads back: the same roles, texts and calls; and it passes the format's own check."""
    rendered = wire.render(turns)
    again = wire.parse(rendered.inline()).turns
    wire.check(rendered.messages, allow_open_tail=True, strict_first=False)
    said = [turn.text for turn in turns if turn.text]
    holds(all(any(text in other.text for other in again) for text in said), "every text is there", again, turns=turns)
