"""What changes of an AgentContext refuse: to start elsewhere, to lose one of two writes, to replay a trail that does not lead here."""

from typing import Any

from attrs import define

from polycontext.linearity import CallerError
from polycontext.nodes.agent_context.errors import path_under


def shown(value: Any) -> str:
    """Return how a message shows a value: shortened."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004  a line of a terminal


@define(slots=False, eq=False)
class PatchOriginError(CallerError, ValueError):
    """Refuse to apply or join a patch where it does not start: at `path` it expects one value and found another."""

    path: str
    expected: Any
    found: Any

    def under(self, step: str) -> "PatchOriginError":
        """Put `step` before the path, while the error is on its way out, and return the same error."""
        self.path = path_under(step, self.path)
        return self

    def __str__(self) -> str:
        return f"{self.path}: the patch expects {shown(self.expected)}, found {shown(self.found)}; legal: the context that it was made from"


@define(slots=False, eq=False)
class MergeConflictError(CallerError, ValueError):
    """Refuse to merge two changes of one thing; `base`, `ours` and `theirs` are its values, None where there is none."""

    path: str
    base: Any
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return (
            f"{self.path}: changed from {shown(self.base)} to {shown(self.ours)} and to {shown(self.theirs)}; "
            "legal: one of the two, written again on the current context"
        )


@define(slots=False, eq=False)
class TrailError(CallerError, ValueError):
    """Refuse a trail whose diffs do not lead to the context that carries them: which one is at fault, and how."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; legal: a context whose audit.diffs lead to it, or one without diffs"
