"""What a caller asks of a session: one or more inputs of the machine that are one commit. A command carries its time and ids."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.window import ContextItem, Turn

Oversize = Literal["error", "cut"]


@frozen
class Add:
    """Take a turn in; where the session is automatic, make room first. What the user says and does not fit is an error, or cut in the view."""

    turn: Turn
    resource_class: ResourceClass | None = None
    oversize: Oversize = "error"


@frozen
class Attach:
    """Attach a context item once; `ids` gives a fresh id where the item's own one named another item here."""

    item: ContextItem
    ids: Iterator[str]
    source: str | None = None
    resource_class: ResourceClass | None = None


@frozen
class Compress:
    """Compress to a target pressure, or as automatic compression does."""

    target: float | None = None
    query: str | None = None


@frozen
class Clear:
    """Forget the view."""


@frozen
class Recall:
    """Bring atoms back from the log."""

    resource_ids: tuple[str, ...]


@frozen
class Promote:
    """Raise the class of a turn."""

    resource_id: str
    resource_class: ResourceClass
    rationale: str = ""


@frozen
class Together:
    """Do several things as one: all of them or none."""

    commands: tuple["Command", ...]


Command = Add | Attach | Compress | Clear | Recall | Promote | Together
"""What a session can be asked for."""


@frozen
class Asked:
    """Hold a command with its moment (the core reads no clock), and the key under which it happens once, however often it is asked."""

    command: Command
    at: datetime
    key: str | None = None
