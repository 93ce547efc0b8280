"""The laws of the context window: appending, exact sums, atoms and splices.

A `turn` may come next in the window (``window.check_order(turn)`` accepts it), `any_turn` need not.
"""

from polycontext.base.law import agree, holds, law
from polycontext.window.atoms import Splice
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
def append_keeps_what_was_there(window: ContextWindow, turn: Turn) -> None:
    """Append adds one turn at the end and focuses it; the original window does not change."""
    before = _reading(window)
    turns = window.all_turns()
    after = window.append(turn)
    agree((len(after), after.pos, after.all_turns()[:-1]), (len(turns) + 1, len(turns) + 1, turns))
    agree(_reading(window), before)


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
def every_turn_has_an_id_of_its_own_and_a_class(window: ContextWindow) -> None:
    """No two turns share an id, and the ledger holds the class of each."""
    ids = [turn.resource_id for turn in window.all_turns()]
    agree(len(set(ids)), len(ids), ids=ids)
    agree([each for each in ids if each not in window.linearity], [])


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


@law('docs/window.md, "Turns and atoms"')
def splicing_cuts_the_run_alone(window: ContextWindow, position: int) -> None:
    """Cutting an atom out leaves all other turns and the ledger unchanged.

    This is how the ledger survives a compression.
    """
    atoms = window.atoms()
    gone = atoms[position % len(atoms) :][:1] if atoms else ()
    cut = window.splice([Splice(atom.start, atom.stop) for atom in gone], compressed=True)
    left = tuple(turn for atom in atoms if atom not in gone for turn in atom.turns)
    agree((cut.all_turns(), cut.linearity), (left, window.linearity), gone=gone)
    agree(
        (cut.tokens, cut.turns_since_compression),
        (sum(turn.tokens or 0 for turn in left), 0),
        gone=gone,
    )


@law("docs/window.md")
def clearing_keeps_the_ledger(window: ContextWindow) -> None:
    """A cleared window has no turns and one position.

    The ledger and the count of ids stay, so that no id is issued twice.
    """
    empty = window.cleared()
    agree((len(empty), empty.pos, empty.tokens, empty.open_calls), (0, 0, 0, ()))
    agree((empty.linearity, empty.serial), (window.linearity, window.serial))
