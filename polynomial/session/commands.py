"""What a caller asks of a session: one or more inputs of the machine that are one commit. A command carries its time and ids."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import Fulfilment
from polycontext.window import ContextItem, Turn

from ..inputs import ContextInput
from ..journal.conversation import Conversation

Change = Callable[[Any], Sequence[Mapping[str, Any]] | None]
Oversize = Literal["truncate", "error"]


@frozen
class Add:
    """Take a turn in; where the session is automatic, make room first. What the user says and does not fit is truncated in the view, or an error."""

    turn: Turn
    resource_class: ResourceClass | None = None
    oversize: Oversize = "truncate"


@frozen
class Attach:
    """Attach a context item once, under a fresh id where its own one named another item here."""

    item: ContextItem
    source: str | None = None
    resource_class: ResourceClass | None = None


@frozen
class Compress:
    """Compress to a target pressure, by default to 40 % of the free room at most."""

    target: float | None = None
    query: str | None = None


@frozen
class Take:
    """Take an input as it is: what clears, resizes or promotes, or an event that a subclass of the machine adds."""

    input: ContextInput


@frozen
class Commit:
    """Put in what was made of a plan, written while the conversation went on; where an answer is no good nothing happens, or an extract stands with `fallback`."""

    fulfilment: Fulfilment
    fallback: bool = False


@frozen
class Recall:
    """Bring atoms back from the log."""

    resource_ids: tuple[str, ...]


@frozen
class Rewind:
    """Go back to where the conversation stood once."""

    target: Conversation


@frozen
class Patch:
    """Change a document that accompanies the conversation: `change` is told what it is, None where there is none, and returns a JSON Patch, or None.

    It is asked again where another writer was first, of what that one has left.
    """

    name: str
    change: Change


@frozen
class Together:
    """Do several things as one: all of them or none."""

    commands: tuple["Command", ...]


Command = Add | Attach | Compress | Take | Commit | Recall | Rewind | Patch | Together
"""What a session can be asked for."""


class Companion(Protocol):
    """Stand for whatever is saved with a session, in the same commit: a memory, a shared context."""

    def to_data(self) -> Mapping[str, Any]:
        """Return it as JSON data, in which `to_data` of two equal companions is equal."""
        ...


@frozen
class Asked:
    """Hold a command with its moment (the core reads no clock), and the key under which it happens once, however often it is asked.

    `sent` is the number of the epoch in which a model was last handed the conversation, if one was: what it answers is bound to that.
    `ready` was written in the background: it is put in where room is needed.
    """

    command: Command
    at: datetime
    key: str | None = None
    sent: int | None = None
    ready: Fulfilment | None = None
