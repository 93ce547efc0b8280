"""What the window refuses, and what to do about it."""

from attrs import define

from polycontext.linearity import CallerError, CollaboratorError


@define(slots=False, eq=False)
class InvalidTurnError(CallerError, ValueError):
    """Refuse a turn that no provider or store could take."""

    field: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"turn field {self.field!r}: {self.problem}. Use {self.legal}."


@define(slots=False, eq=False)
class InvalidMessagesError(CallerError, ValueError):
    """Refuse a message list that breaks a rule of its provider.

    `index` is the place in the list (None for the list as a whole), `rule` a
    short stable name such as ``orphan-result``, `wording` what the provider itself
    says to it, where that is known.
    """

    provider: str
    index: int | None
    rule: str
    problem: str
    legal: str
    wording: str = ""

    def __str__(self) -> str:
        where = "messages break" if self.index is None else f"messages[{self.index}] breaks"
        return f"{where} the {self.provider} rule {self.rule}: {self.problem}. Use {self.legal}."


@define(slots=False, eq=False)
class OrderError(CallerError, ValueError):
    """Refuse a turn that comes at the wrong moment of a tool call."""

    role: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.role} turn refused: {self.problem}. Add {self.legal}."


@define(slots=False, eq=False)
class PositionError(CallerError, IndexError):
    """Refuse a position outside of a store or text, or one inside of a pill, where nothing can be inserted."""

    position: int
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"position {self.position!r} {self.problem}. Use {self.legal}."


@define(slots=False, eq=False)
class PluginError(CollaboratorError, RuntimeError):
    """Report that a function which a caller registered failed: a resolver of pills, a formatter of items.

    `what` it is, on what (`name`), and how it failed; what it raised is the error's cause.
    """

    what: str
    name: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.what}, on {self.name!r}: {self.problem}. Use {self.legal}."
