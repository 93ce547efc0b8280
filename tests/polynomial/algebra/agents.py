"""Small finite agents, small enough to check laws everywhere."""

from collections.abc import Hashable
from typing import Any

from polycontext.polynomial import PolyAgent

Agent = PolyAgent[Any, Any, Any]


def finite(table: dict[Hashable, dict[Hashable, tuple[Hashable, Hashable]]]) -> Agent:
    """Return the agent that a table of positions, inputs, next positions and outputs describes."""
    return PolyAgent(frozenset(table), lambda s: frozenset(table[s]), lambda s, a: table[s][a])


DOOR = finite(
    {
        "open": {"close": ("shut", 0)},
        "shut": {"open": ("open", 1), "lock": ("locked", 2)},
        "locked": {"unlock": ("shut", 1)},
    }
)
COUNTER = finite({n: {0: (n, "same"), 1: ((n + 1) % 3, "more")} for n in range(3)})
LAMP = finite({"off": {"more": ("on", True)}, "on": {"same": ("on", True), "more": ("off", False)}})
ECHO = finite({"only": {True: ("only", "T"), False: ("only", "F")}})
STUCK = finite({"end": {}})
UNIT = finite({(): {(): ((), ())}})
NOTHING = finite({})
SMALL = [DOOR, COUNTER, LAMP]
