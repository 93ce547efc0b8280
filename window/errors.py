"""Errors of the window."""

from attrs import define

from polycontext.base import CallerError, CollaboratorError, advised


@define(slots=False, eq=False)
class InvalidTurnError(CallerError, ValueError):
    """Raised for a turn that no provider or store could accept."""

    field: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"turn field {self.field!r}: {self.problem}", f"Use {self.legal}")


@define(slots=False, eq=False)
class InvalidMessagesError(CallerError, ValueError):
    """Raised for a message list that breaks a rule of its provider.

    `index` is the position in the list (None for the list as a whole). `rule` is a short stable
    name such as ``orphan-result``. `wording` is the provider's own error message, if known; OpenAI
    adds `param` and `code` to it.
    """

    provider: str
    index: int | None
    rule: str
    problem: str
    legal: str
    wording: str = ""
    param: str | None = None
    code: str | None = None

    def __str__(self) -> str:
        where = "messages break" if self.index is None else f"messages[{self.index}] breaks"
        return advised(
            f"{where} the {self.provider} rule {self.rule}: {self.problem}", f"Use {self.legal}"
        )


@define(slots=False, eq=False)
class OrderError(CallerError, ValueError):
    """Raised for a turn that does not fit the current state of a tool call."""

    role: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"{self.role} turn refused: {self.problem}", f"Add {self.legal}")


@define(slots=False, eq=False)
class PositionError(CallerError, IndexError):
    """Raised for a position outside a store or text, or inside a pill."""

    position: int
    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"position {self.position!r} {self.problem}", f"Use {self.legal}")


@define(slots=False, eq=False)
class PluginError(CollaboratorError, RuntimeError):
    """Raised when a registered function, such as a pill resolver or an item formatter, fails.

    `what` names the function, `name` its argument and `problem` the failure. The exception that it
    raised is the `__cause__`.
    """

    what: str
    name: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"{self.what} failed on {self.name!r}: {self.problem}", f"Use {self.legal}")
