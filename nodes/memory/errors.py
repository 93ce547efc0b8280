"""What the memory of a conversation refuses."""

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class ClosedTurnError(CallerError, ValueError):
    """Refuse to close a turn that is not newer than the last closed one."""

    turn_num: int
    last_closed: int

    def __str__(self) -> str:
        return f"turn {self.turn_num} cannot be closed after turn {self.last_closed}; legal: a turn from {self.last_closed + 1}"


@define(slots=False, eq=False)
class MemoryFormatError(CallerError, ValueError):
    """Refuse text that is no saved memory; `path` names the place, such as ``$.recent_turns[0].user``."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"saved memory, {self.path}: {self.problem}; legal: {self.legal}"
