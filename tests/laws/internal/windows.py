"""The laws of the context window: appending, exact sums and atoms.

A `turn` may come next in the window (``window.check_order(turn)`` accepts it), `any_turn` need not.
"""

from polycontext.base.law import agree, holds, law
from polycontext.window.context_window import ContextWindow
from polycontext.window.errors import OrderError
from polycontext.window.turn import Role, Turn
from tests.laws.outcomes import refusal_of


def _reading(window: ContextWindow) -> tuple[object, ...]:
    """Return everything that a window shows to its readers."""
    return (
        window.pos,
        window.tokens,
        window.all_turns(),
        window.open_calls,
        dict(window.linearity.items()),
        window.serial,
    )


@law("docs/window.md")
def append_shows_the_turn(window: ContextWindow, turn: Turn) -> None:
    """Append then extract returns the turn, with an id and a token count added if it had none."""
    shown = window.append(turn).extract()
    holds(
        shown is not None and bool(shown.resource_id) and shown.tokens is not None,
        "an admitted turn",
        shown,
    )
    if shown is not None:
        expected = turn.admitted(turn.resource_id or shown.resource_id, shown.tokens or 0)
        agree(shown, expected)


@law("docs/window.md")
def calls_are_answered_before_anything_else(window: ContextWindow, any_turn: Turn) -> None:
    """Any turn with a free id is accepted exactly if it fits the open calls.

    It fits if it answers an open call, or if no call is open and it is not a result.
    """
    before = _reading(window)
    waiting = window.open_calls
    fits = any_turn.tool_call_id in waiting if any_turn.role is Role.TOOL else not waiting
    agree(refusal_of(window.append, any_turn), None if fits else OrderError)
    agree(_reading(window), before)


@law("docs/window.md")
def sums_equal_recounting(window: ContextWindow) -> None:
    """At every position, tokens are the exact sum of the turns up to it.

    Pressure is this sum divided by the budget.
    """
    counts = [turn.tokens or 0 for turn in window.all_turns()]
    recounted = [sum(counts[:position]) for position in range(len(window) + 1)]
    agree(list(window.extend(lambda w: w.tokens)), recounted)
    agree(
        list(window.extend(lambda w: w.pressure)), [each / window.max_tokens for each in recounted]
    )


@law('docs/window.md, "Turns and atoms"')
def atoms_partition_the_turns(window: ContextWindow) -> None:
    """Every turn is in exactly one atom, in order, and atoms sum the tokens of their turns."""
    atoms, turns = window.atoms(), window.all_turns()
    agree(tuple(turn for atom in atoms for turn in atom.turns), turns)
    agree([atom.turns for atom in atoms], [turns[atom.start : atom.stop] for atom in atoms])
    agree(
        [atom.tokens for atom in atoms],
        [sum(turn.tokens or 0 for turn in atom.turns) for atom in atoms],
    )


@law('docs/window.md, "Turns and atoms"')
def atoms_are_never_split(window: ContextWindow) -> None:
    """A result is in the atom of its call.

    Only the last atom may be open, which it is while any of its calls has no result.
    """
    atoms = window.atoms()
    for atom in atoms:
        head, *results = atom.turns
        calls, answered = (
            [call.id for call in head.tool_calls],
            [turn.tool_call_id for turn in results],
        )
        holds(head.role is not Role.TOOL, "an atom that begins with no result", head)
        holds(
            set(answered) <= set(calls) and len(set(answered)) == len(answered),
            "one result a call",
            answered,
            calls=calls,
        )
        agree(atom.is_open, len(answered) < len(calls), atom=atom)
    agree([atom.is_open for atom in atoms[:-1]], [False] * (len(atoms) - 1))
