"""The inputs and outputs of the machine."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

import orjson
from attrs import field, frozen

from polycontext.base import (
    InvalidDataError,
    InvalidOptionError,
    UnknownNameError,
    guided,
    must_be,
    safe_repr,
)
from polycontext.base.json_data import freeze, thaw
from polycontext.linearity import UNIX_EPOCH, ResourceClass
from polycontext.pressure import CompressionResult, Edit, Fulfilment, Rejection, pressure_of
from polycontext.pressure.gist import truncated_ids
from polycontext.window import ContextWindow, Epoch, Role, ToolCall, Turn
from polycontext.window.items.attachment import shown_text

from .state import State


class InputKind(StrEnum):
    """The directions of the polynomial: the kinds of input."""

    __hash__ = str.__hash__

    USER_TURN = "user_turn"
    ASSISTANT_TURN = "assistant_turn"
    TOOL_TURN = "tool_turn"
    SYSTEM = "system"
    COMPRESS = "compress"
    CLEAR = "clear"
    RECALL = "recall"
    REFILL = "refill"
    PROMOTE = "promote"
    RESIZE = "resize"
    REWIND = "rewind"
    UNDO = "undo"
    FORGET = "forget"


Kind = InputKind | str
"""The name of an event: a built-in kind, or an event that a subclass of the machine adds."""

_KINDS: dict[str, Kind] = {kind.value: kind for kind in InputKind}


def kind_of(name: str) -> Kind:
    """Return the event of that name, as an `InputKind` if it is a built-in one."""
    return _KINDS.get(name, name)


_ROLES: Mapping[Kind, Role] = {
    InputKind.USER_TURN: Role.USER,
    InputKind.ASSISTANT_TURN: Role.ASSISTANT,
    InputKind.TOOL_TURN: Role.TOOL,
    InputKind.SYSTEM: Role.SYSTEM,
}
KIND_OF_ROLE = {role: kind for kind, role in _ROLES.items()}


def class_of(value: object) -> ResourceClass:
    """Return a resource class from a class, a name in any case, or a number.

    Raises:
        UnknownNameError: there is no such class. The message names the legal ones.
    """
    names = ResourceClass.__members__
    if isinstance(value, str) and value.strip().upper() in names:
        return names[value.strip().upper()]
    try:
        return ResourceClass(value)  # type: ignore[arg-type]
    except ValueError:
        said = value if isinstance(value, str) else safe_repr(value)
        raise UnknownNameError("resource class", said, tuple(names)) from None


@frozen
class Promotion:
    """A request to raise a turn's class, with the reason."""

    resource_id: str = field(validator=must_be(str, "the id of a turn, such as 't5'"))
    resource_class: ResourceClass = field(converter=class_of)
    rationale: str = field(default="", validator=must_be(str, "a text"))
    at: datetime = UNIX_EPOCH


@frozen
class Standing:
    """The payload of ``rewind``, ``undo`` and ``forget``: the window to restore.

    `states` are those of the regions then, that of the context first, if known.
    """

    window: ContextWindow
    states: tuple[State, ...] = ()


@frozen
class Arguments:
    """The JSON arguments of an event that a subclass of the machine adds."""

    args: tuple[Any, ...] = field(default=(), converter=freeze)
    kwargs: Mapping[str, Any] = field(factory=dict, converter=freeze)

    @property
    def text(self) -> str:
        """Return the arguments as JSON text."""
        return orjson.dumps([self.args, self.kwargs], default=thaw).decode()

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Parse what `text` returned; raise `InvalidDataError` for any other text."""
        with suppress(ValueError):
            args, kwargs = orjson.loads(text)
            if isinstance(args, list) and isinstance(kwargs, dict):
                return cls(args, kwargs)
        raise InvalidDataError(
            ".arguments",
            f"{text!r:.60} are not arguments",
            "[[by position], {by name}] as JSON text",
        )


_PAYLOADS: Mapping[Kind, tuple[Any, str]] = {
    InputKind.COMPRESS: ((int, float, Fulfilment), "a target pressure, or a fulfilled plan"),
    **dict.fromkeys(
        (InputKind.RECALL, InputKind.REFILL), (Edit, "the edit that brings turns back")
    ),
    InputKind.PROMOTE: (Promotion, "a promotion"),
    InputKind.RESIZE: (int, "a whole number of tokens, at least 1"),
    InputKind.REWIND: (Standing, "the window that stands afterwards"),
    InputKind.UNDO: (Standing, "the window that stands afterwards"),
    InputKind.FORGET: (Standing, "the window that stands afterwards"),
    InputKind.CLEAR: (type(None), "no payload"),
}

Payload = Turn | str | int | float | Fulfilment | Edit | Promotion | Standing | Arguments | None


@guided
@frozen
class ContextInput:
    """One input: a direction of the polynomial and its payload (docs/machine.md).

    Payloads by kind:

    - turn kinds: a `Turn`, or text if the turn needs nothing else
    - ``compress``: a target pressure or a fulfilled plan
    - ``recall`` and ``refill``: the edit that brings turns back
    - ``promote``: a `Promotion`
    - ``resize``: the budget in tokens; ``clear``: none
    - ``rewind``, ``undo`` and ``forget``: the window to restore, as a `Standing`
    - events that a subclass of the machine adds: their `Arguments`

    `resource_class` overrides the classifier.

    Raises:
        InvalidOptionError: the payload does not fit the kind.

    >>> ContextInput.user_turn("hello").kind
    <InputKind.USER_TURN: 'user_turn'>
    """

    kind: Kind = field(converter=kind_of)
    payload: Payload = None
    resource_class: ResourceClass | None = None

    def __attrs_post_init__(self) -> None:
        payload, role = self.payload, _ROLES.get(self.kind)
        if role is not None:
            kinds, legal = Turn if role is Role.TOOL else (Turn, str), f"a turn of role {role}"
        else:
            kinds, legal = _PAYLOADS.get(self.kind, (Arguments, "arguments that are JSON data"))
        fits = isinstance(payload, kinds) and not isinstance(payload, bool)
        if (
            not fits
            or (isinstance(payload, Turn) and payload.role is not role)
            or (self.kind is InputKind.RESIZE and payload < 1)  # type: ignore[operator]
        ):
            raise InvalidOptionError(f"payload of input {self.kind}", payload, legal)

    @property
    def turn(self) -> Turn:
        """Return the turn of a turn kind.

        Raises:
            InvalidOptionError: an input of this kind brings no message.
        """
        if isinstance(self.payload, Turn):
            return self.payload
        if self.kind not in _ROLES:
            legal = f"step.input.turn only if step.input.kind is one of {', '.join(_ROLES)}"
            raise InvalidOptionError("input.kind", str(self.kind), legal)
        return Turn(_ROLES[self.kind], str(self.payload))

    @classmethod
    def of_turn(cls, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Return the input that adds `turn`."""
        return cls(KIND_OF_ROLE[turn.role], turn, resource_class)

    @classmethod
    def user_turn(cls, content: str | Turn, resource_class: ResourceClass | None = None) -> Self:
        """Return an input that adds a user turn."""
        return cls(InputKind.USER_TURN, content, resource_class)

    @classmethod
    def assistant_turn(
        cls,
        content: str | Turn | None,
        tool_calls: Iterable[ToolCall] = (),
        resource_class: ResourceClass | None = None,
    ) -> Self:
        """Return an input that adds an assistant turn with its tool calls."""
        if not isinstance(content, Turn):
            content = Turn(Role.ASSISTANT, content, tool_calls=tuple(tool_calls))
        return cls(InputKind.ASSISTANT_TURN, content, resource_class)

    @classmethod
    def tool_turn(
        cls,
        content: str | Turn,
        tool_call_id: str = "",
        resource_class: ResourceClass | None = None,
    ) -> Self:
        """Return an input that adds the result of one tool call."""
        if not isinstance(content, Turn):
            content = Turn(Role.TOOL, content, tool_call_id=tool_call_id)
        return cls(InputKind.TOOL_TURN, content, resource_class)

    @classmethod
    def system(cls, content: str | Turn, resource_class: ResourceClass | None = None) -> Self:
        """Return an input that adds a system turn."""
        return cls(InputKind.SYSTEM, content, resource_class)

    @classmethod
    def compress(cls, target: float | Fulfilment = 0.7) -> Self:
        """Return an input that compresses to a target pressure or by a fulfilled plan."""
        return cls(InputKind.COMPRESS, target)

    @classmethod
    def clear(cls) -> Self:
        """Return an input that clears the view; the log keeps every turn."""
        return cls(InputKind.CLEAR)

    @classmethod
    def recall(cls, edit: Edit) -> Self:
        """Return an input that brings turns back by `edit`; see ``ContextSession.recall``."""
        return cls(InputKind.RECALL, edit)

    @classmethod
    def refill(cls, edit: Edit) -> Self:
        """Return an input that fills free room by `edit`; see ``session.history.refill``."""
        return cls(InputKind.REFILL, edit)

    @classmethod
    def promote(
        cls,
        resource_id: str,
        resource_class: ResourceClass | str,
        rationale: str = "",
        at: datetime = UNIX_EPOCH,
    ) -> Self:
        """Return an input that raises the class of a turn."""
        return cls(InputKind.PROMOTE, Promotion(resource_id, resource_class, rationale, at))

    @classmethod
    def resize(cls, max_tokens: int) -> Self:
        """Return an input that changes the budget, in tokens."""
        return cls(InputKind.RESIZE, max_tokens)

    @classmethod
    def rewind(cls, window: ContextWindow, *states: State) -> Self:
        """Return an input that restores an earlier window and the states of the regions then."""
        return cls(InputKind.REWIND, Standing(window, states))

    @classmethod
    def undo(cls, window: ContextWindow) -> Self:
        """Return an input that takes a compression back and restores `window`."""
        return cls(InputKind.UNDO, Standing(window))

    @classmethod
    def forget(cls, window: ContextWindow) -> Self:
        """Return an input that replaces the window after words were erased."""
        return cls(InputKind.FORGET, Standing(window))

    @classmethod
    def named(cls, event: str, /, *args: Any, **kwargs: Any) -> Self:
        """Return the input for an event by name; a subclass's own events take any JSON data.

        Raises:
            InvalidOptionError: the arguments do not fit the event.

        >>> ContextInput.named("compress", 0.5) == ContextInput.compress(0.5)
        True
        """
        kind = kind_of(event)
        if "step" in kwargs:
            raise InvalidOptionError("step", kwargs["step"], "another name")
        if not isinstance(kind, InputKind):
            return cls(kind, Arguments(args, kwargs))
        made: Self = getattr(cls, kind)(*args, **kwargs)
        return made


@guided
@frozen
class ContextOutput:
    """The result of an input: the new window and state, and what changed along the way.

    `compression` is the compression that the input caused, if any. `repaired` lists the ids of
    turns that were added automatically, such as an opening line if the assistant spoke first. If a
    fulfilment was rejected, `refused` says what was rejected and why, and nothing has changed.
    `answering` is the text so far of a streamed answer (`ContextSession.answer`), or None.
    `regions` are the states of the machine's other regions, by name.
    """

    window: ContextWindow
    state: State
    compression: CompressionResult | None = None
    repaired: tuple[str, ...] = ()
    refused: tuple[Rejection, ...] = ()
    answering: str | None = None
    regions: Mapping[str, State] = field(factory=dict)

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens."""
        return pressure_of(self.window)

    @property
    def truncated(self) -> tuple[str, ...]:
        """Return the ids of the turns that the view shows truncated; the log has them whole."""
        return truncated_ids(self.window.all_turns())

    @property
    def epoch(self) -> Epoch:
        """Return the epoch: its number, and what the change that began it removed."""
        return self.window.epoch

    @property
    def compressed(self) -> bool:
        """Return whether this input compressed the window."""
        return self.compression is not None

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """Return the messages to show to readers: what user and assistant say in the view.

        They omit system text, tool calls and results, and show attachments and gists as
        `shown_text` does. ``ContextSession.messages`` returns the messages to send to a model.
        """
        turns = (turn for turn in self.window.all_turns() if turn.role in _SHOWN)
        said = (
            ("summary" if turn.is_gist else turn.role.value, shown_text(turn)) for turn in turns
        )
        return tuple({"role": role, "content": text} for role, text in said if text)


_SHOWN = frozenset({Role.USER, Role.ASSISTANT})
