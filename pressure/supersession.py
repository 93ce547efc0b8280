"""Supersession: what a later call or attachment has the current text of; a line that says so is enough."""

from collections.abc import Sequence
from itertools import pairwise

from polycontext.linearity import ToolRule
from polycontext.linearity.classification import Yielding
from polycontext.window import ContextWindow, Role, TokenCounter, ToolCall, Turn, count_turn

from .gist import pointer_turn
from .reach import Columns, Kind, Reach, columns_of


def superseded(columns: Columns, rules: Sequence[ToolRule] = ()) -> list[int]:
    """Return the atoms of which a later call or attachment has the current text, oldest first; `rules` say what else replaces a call."""
    return sorted(_superseded_results(columns, rules) + _superseded_attachments(columns))


def superseded_ids(window: ContextWindow, reach: Reach) -> list[str]:
    """Return the ids of turns that `window` holds verbatim although a later turn has their current text; see `superseded`."""
    columns = columns_of(window, reach)
    cuttable = (columns.cuttable(atom) for atom in superseded(columns, reach.rules))
    return [columns.atoms.turns[place].resource_id for places in cuttable for place in places]


def _superseded_attachments(columns: Columns) -> list[int]:
    """Return the attachments whose source is attached again later."""
    latest = {attachment.source: atom for atom, attachment in columns.attachments.items()}
    return [
        atom
        for atom, attachment in columns.attachments.items()
        if attachment.source is not None and latest[attachment.source] > atom and _yields(columns, atom)
    ]


def _superseded_results(columns: Columns, rules: Sequence[ToolRule]) -> list[int]:
    """Return the atoms whose every call is made and answered again later: name and arguments alike, or what a rule says of the tool."""
    turns, bounds = columns.atoms.turns, columns.atoms.bounds
    replacing = {tool: rule for rule in rules if rule.yielding is Yielding.REPLACED for tool in rule.tools}
    keyed: list[tuple[int, list[tuple[str, ...]]]] = []
    latest: dict[tuple[str, ...], int] = {}
    for atom in [atom for atom, (start, stop) in enumerate(pairwise(bounds)) if stop - start > 1]:
        keys = [_key(call, replacing.get(call.name)) for call in turns[bounds[atom]].tool_calls]
        keyed.append((atom, keys))
        if bounds[atom + 1] - bounds[atom] > len(keys):
            for key in keys:
                latest[key] = atom
    return [atom for atom, keys in keyed if min([latest.get(key, 0) for key in keys]) > atom and _yields(columns, atom)]


def _key(call: ToolCall, rule: ToolRule | None) -> tuple[str, ...]:
    return (call.name, call.arguments) if rule is None else (call.name, *rule.replaces(call.arguments))


def _yields(columns: Columns, atom: int) -> bool:
    if atom >= columns.tail or columns.kinds[atom] is not Kind.REQUIRED:
        return False
    return not any(turn.is_gist for turn in columns.atoms.turns_of(atom))


def pointer_gain(counter: TokenCounter, turns: Sequence[Turn], costs: dict[str | None, int]) -> int:
    """Return what pointers in the place of `turns` save, where they are shorter; one costs the same for every result of a tool, noted in `costs`."""
    gain = 0
    for turn in turns:
        if turn.name not in costs or turn.role is not Role.TOOL:  # that of an attachment has its name
            costs[turn.name] = count_turn(counter, pointer_turn(turn, turn.resource_id))
        gain += max(0, (turn.tokens or 0) - costs[turn.name])
    return gain
