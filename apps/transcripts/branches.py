"""Branches: which rows of a session file the user left, where rows name their parents.

An edited message begins a branch. The last row is on the branch that goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def abandoned(
    rows: Rows,
    own: str,
    parent: str,
    is_prompt: Callable[[Mapping[str, Any]], bool],
    leaf: str | None = None,
) -> set[str]:
    """Return the ids of the rows on branches that were left; `leaf` is the last row by default.

    Rows that stand beside each other need not be branches: parallel calls have one parent too. A
    branch is left if it begins with a message of the user, and so does the one that goes on.
    """
    by_id = {row[own]: row for row in rows if isinstance(row.get(own), str)}
    children: dict[str, list[str]] = {}
    for name, row in by_id.items():
        children.setdefault(_above(row, parent), []).append(name)
    active = line_to(leaf if leaf in by_id else next(reversed(by_id), None), by_id, parent)
    left = set[str]()
    for above, below in children.items():
        goes_on = [name for name in below if name in active]
        is_met = not above or above in active
        if is_met and goes_on and _begins(goes_on[0], by_id, children, is_prompt):
            others = (name for name in below if name not in active)
            waiting = [name for name in others if _begins(name, by_id, children, is_prompt)]
            while waiting:
                left.add(name := waiting.pop())
                waiting += children.get(name, ())
    return left


def line_to(last: str | None, by_id: Mapping[str, Any], parent: str) -> set[str]:
    """Return the ids of a row and of those above it."""
    line = set[str]()
    while last is not None and last in by_id and last not in line:
        line.add(last)
        last = _above(by_id[last], parent)
    return line


def _above(row: Mapping[str, Any], parent: str) -> str:
    """Return the id of the row above, "" for the first one."""
    # Behind a compaction Claude Code names the last row before it so.
    above = row.get(parent) or row.get("logicalParentUuid")
    return above if isinstance(above, str) else ""


def _begins(
    name: str,
    by_id: Mapping[str, Any],
    children: Mapping[str, Sequence[str]],
    is_prompt: Callable[[Mapping[str, Any]], bool],
) -> bool:
    """Return whether the first message of a branch is the user's; rows of the host come before."""
    seen = set[str]()
    while name not in seen:
        seen.add(name)
        if is_prompt(by_id[name]):
            return True
        below = children.get(name, ())
        if by_id[name].get("type") in ("user", "assistant", "tool_result") or len(below) != 1:
            return False
        name = below[0]
    return False
