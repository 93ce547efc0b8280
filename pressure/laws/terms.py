"""What the laws of pressure share."""

from collections.abc import Mapping

from polycontext.linearity import ResourceClass
from polycontext.pressure.gist import source_ids
from polycontext.window import Atom, ContextWindow, Turn

GALOIS = "Ore, Galois Connexions; seed 004 §2.2"
PLANS = "design §6, Ladder"
PROJECTOR = "design §3 and §6"


def tokens_of(window: ContextWindow) -> int:
    """Return the tokens of the whole window."""
    return window.total_tokens


def said_atoms(window: ContextWindow) -> list[Atom]:
    """Return the atoms of the log that stand in `window`: a summary is in no log."""
    return [atom for atom in window.atoms() if not atom.turns[0].is_gist]


def class_of_atom(window: ContextWindow, atom: Atom) -> ResourceClass:
    """Return the highest class of an atom's turns."""
    return max(window.class_of(turn) for turn in atom.turns)


def held_turns(window: ContextWindow) -> Mapping[str, Turn]:
    """Return the turn that holds each id of the log: itself, or its gist."""
    return {source: turn for turn in window.all_turns() for source in source_ids(turn)}


def named_ids(window: ContextWindow) -> set[str]:
    """Return the ids of the log that are in `window`, as turns or in gists."""
    return set(held_turns(window))
