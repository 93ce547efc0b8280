"""The tokens of a window by class, role and fidelity (docs/terminal.md).

Together they are the number that the machine's guard checks.
"""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.pressure import Fidelity
from polycontext.pressure.threshold import tokens_at
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role


@frozen
class Portion:
    """The tokens of the turns of one class, fidelity and role in a window."""

    resource_class: ResourceClass
    fidelity: Fidelity
    turns: int
    tokens: int
    role: Role

    def as_json(self) -> dict[str, Any]:
        """Return the portion as JSON data."""
        return {
            "class": self.resource_class.name,
            "role": str(self.role),
            "fidelity": self.fidelity.name,
            "turns": self.turns,
            "tokens": self.tokens,
        }


@frozen
class Waffle:
    """The parts of a request's room in tokens, without overlaps.

    `portions` are the contents of the window, which has room for `max_tokens`. `pressured_above` is
    the most that they may be without pressure. `reserve`, which is kept free for the reply, and
    `tools`, the definitions of tools, were subtracted before.

    Laws: `used` is the sum of its parts and the number that the guard checks; all parts together
    are `total`.
    """

    portions: Sequence[Portion]
    max_tokens: int
    pressured_above: int
    reserve: int
    tools: int

    @property
    def used(self) -> int:
        """Return the tokens in the window."""
        return sum(portion.tokens for portion in self.portions)

    @property
    def free(self) -> int:
        """Return the tokens for which the window still has room, 0 if it is over its budget."""
        return max(0, self.max_tokens - self.used)

    @property
    def total(self) -> int:
        """Return the tokens that a request and its reply may use together.

        It is more if the window is over its budget.
        """
        return self.used + self.free + self.reserve + self.tools

    @property
    def is_pressured(self) -> bool:
        """Return whether the guard considers the window pressured."""
        return self.used > self.pressured_above

    def cells(self, count: int) -> Sequence[int]:
        """Return the cells of each portion, then of the free room, the reserve and the tools.

        They are `count` cells in total.
        """
        tokens = (portion.tokens for portion in self.portions)
        return cells([*tokens, self.free, self.reserve, self.tools], count)

    def as_json(self) -> dict[str, Any]:
        """Return the waffle as JSON data."""
        return {
            "tokens": self.used,
            "max_tokens": self.max_tokens,
            "pressured_above": self.pressured_above,
            "free": self.free,
            "reserve": self.reserve,
            "tools": self.tools,
            "window": [portion.as_json() for portion in self.portions],
        }


def waffle(session: ContextSession) -> Waffle:
    """Return the parts of a session's window, and the room that is left; O(turns).

    >>> from polycontext import ContextSession
    >>> session = ContextSession(max_tokens=1000, reserve=200)
    >>> _ = session.add_system("Answer in German."), session.add_user_turn("Where is my parcel?")
    >>> filled = waffle(session)
    >>> (
    ...     [(portion.role.value, portion.tokens) for portion in filled.portions],
    ...     filled.used,
    ...     filled.free,
    ...     filled.total,
    ... )
    ([('system', 8), ('user', 9)], 17, 783, 1000)
    """
    window, most = session.window, session.window.max_tokens
    return Waffle(
        portions(window),
        most,
        min(tokens_at(session.policy.mark(window), most), most - REQUEST_OVERHEAD),
        session.usage.reserve,
        session.usage.tool_tokens,
    )


def portions(window: ContextWindow) -> list[Portion]:
    """Return the window's tokens by class, role and fidelity, the highest class first.

    Law: their tokens together are those of the window.
    """
    found: dict[tuple[ResourceClass, Role, Fidelity], tuple[int, int]] = {}
    for turn in window.all_turns():
        fidelity = Fidelity.GIST if turn.is_gist else Fidelity.VERBATIM
        kind = (window.class_of(turn), turn.role, fidelity)
        turns, tokens = found.get(kind, (0, 0))
        found[kind] = turns + 1, tokens + (turn.tokens or 0)
    order = sorted(found, key=lambda kind: (-kind[0], [*Role].index(kind[1]), -kind[2]))
    return [Portion(kind[0], kind[2], *found[kind], kind[1]) for kind in order]


def cells(tokens: Sequence[int], count: int) -> list[int]:
    """Share `count` cells out by tokens.

    Every amount that is not 0 has at least one cell, and together they are `count`, if that
    suffices.

    >>> cells([10, 1, 0, 989], 40)
    [1, 1, 0, 38]
    """
    total = sum(tokens) or 1
    places = [max(1, each * count // total) if each else 0 for each in tokens]
    largest = max(range(len(tokens)), key=lambda index: places[index])
    places[largest] = max(1, places[largest] + count - sum(places))
    return places
