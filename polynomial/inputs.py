"""What comes into the machine and what goes out."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

import orjson
from attrs import field, frozen

from polycontext.linearity import UNIX_EPOCH, InvalidDataError, InvalidOptionError, ResourceClass
from polycontext.linearity.json_data import freeze, thaw
from polycontext.pressure import CompressionResult, Edit, Fulfilment, Rejection, pressure_of
from polycontext.window import ContextWindow, Epoch, InvalidTurnError, Role, ToolCall, Turn
from polycontext.window.items import attachment_of

from .state import State


class InputKind(StrEnum):
    """Name the directions: what can come in."""

    USER_TURN = "user_turn"
    ASSISTANT_TURN = "assistant_turn"
    TOOL_TURN = "tool_turn"
    SYSTEM = "system"
    COMPRESS = "compress"
    CLEAR = "clear"
    RECALL = "recall"
    PROMOTE = "promote"
    RESIZE = "resize"
    REWIND = "rewind"
    FORGET = "forget"


Kind = InputKind | str
"""The name of an event: one of ours, or of an event that a subclass adds."""

_KINDS: dict[str, Kind] = {kind.value: kind for kind in InputKind}


def kind_of(name: str) -> Kind:
    """Return the event of that name: ours where it is one of ours."""
    return _KINDS.get(name, name)


_ROLES: Mapping[Kind, Role] = {
    InputKind.USER_TURN: Role.USER,
    InputKind.ASSISTANT_TURN: Role.ASSISTANT,
    InputKind.TOOL_TURN: Role.TOOL,
    InputKind.SYSTEM: Role.SYSTEM,
}
KIND_OF_ROLE = {role: kind for kind, role in _ROLES.items()}


@frozen
class Promotion:
    """Ask that a turn's class is raised, and say why."""

    resource_id: str
    resource_class: ResourceClass
    rationale: str = ""
    at: datetime = UNIX_EPOCH


@frozen
class Standing:
    """Hold a window that stands again, or what is left of one.

    `state` is the state that the machine was in then.
    """

    window: ContextWindow
    state: State | None = None


@frozen
class Arguments:
    """Hold the JSON arguments that an event of a user's machine is sent with."""

    args: tuple[Any, ...] = field(default=(), converter=freeze)
    kwargs: Mapping[str, Any] = field(factory=dict, converter=freeze)

    @property
    def text(self) -> str:
        """Return them as JSON text."""
        return orjson.dumps([self.args, self.kwargs], default=thaw).decode()

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return what `text` was written from; raise `InvalidDataError` for another text."""
        with suppress(ValueError):
            args, kwargs = orjson.loads(text)
            if isinstance(args, list) and isinstance(kwargs, dict):
                return cls(args, kwargs)
        raise InvalidDataError(
            ".arguments",
            f"{text!r:.60} are no arguments",
            "[[by position], {by name}] as JSON text",
        )


_PAYLOADS: Mapping[Kind, tuple[Any, str]] = {
    InputKind.COMPRESS: ((int, float, Fulfilment), "a target pressure, or a fulfilled plan"),
    InputKind.RECALL: (Edit, "the edit that brings turns back"),
    InputKind.PROMOTE: (Promotion, "a promotion"),
    InputKind.RESIZE: (int, "a whole number of tokens, at least 1"),
    InputKind.REWIND: (Standing, "the window that stands afterwards"),
    InputKind.FORGET: (Standing, "the window that stands afterwards"),
    InputKind.CLEAR: (type(None), "no payload"),
}

Payload = Turn | str | int | float | Fulfilment | Edit | Promotion | Standing | Arguments | None


@frozen
class ContextInput:
    """Hold one input: a direction of the polynomial and what comes with it (docs/machine.md).

    Turn kinds carry a `Turn` (or text, for those that need nothing else), ``compress`` a target
    pressure or a fulfilled plan, ``recall`` the edit that brings turns back, ``promote`` a
    `Promotion`, ``clear`` nothing, ``resize`` the budget in tokens, ``rewind`` and ``forget`` the
    window that stands from then on; an event that a subclass of the machine adds carries its
    `Arguments`. `resource_class` overrides the classifier.

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
        """Return the turn of a turn kind."""
        if isinstance(self.payload, Turn):
            return self.payload
        return Turn(_ROLES[self.kind], str(self.payload))

    @classmethod
    def of_turn(cls, turn: Turn, resource_class: ResourceClass | None = None) -> Self:
        """Make the input that brings `turn`."""
        return cls(KIND_OF_ROLE[turn.role], turn, resource_class)

    @classmethod
    def user_turn(cls, content: str | Turn, resource_class: ResourceClass | None = None) -> Self:
        """Make a user turn."""
        return cls(InputKind.USER_TURN, content, resource_class)

    @classmethod
    def assistant_turn(
        cls,
        content: str | Turn | None,
        tool_calls: Iterable[ToolCall] = (),
        resource_class: ResourceClass | None = None,
    ) -> Self:
        """Make an assistant turn, with the calls it makes."""
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
        """Make the result of one call."""
        if not isinstance(content, Turn):
            content = Turn(Role.TOOL, content, tool_call_id=tool_call_id)
        return cls(InputKind.TOOL_TURN, content, resource_class)

    @classmethod
    def system(cls, content: str | Turn, resource_class: ResourceClass | None = None) -> Self:
        """Make a system turn."""
        return cls(InputKind.SYSTEM, content, resource_class)

    @classmethod
    def compress(cls, target: float | Fulfilment = 0.7) -> Self:
        """Ask for compression: to a target pressure, or by a fulfilled plan."""
        return cls(InputKind.COMPRESS, target)

    @classmethod
    def clear(cls) -> Self:
        """Ask to forget the view; the log keeps all."""
        return cls(InputKind.CLEAR)

    @classmethod
    def recall(cls, edit: Edit) -> Self:
        """Ask that turns come back into the view.

        `edit` says which and where (``ContextSession.recall`` makes it from ids).
        """
        return cls(InputKind.RECALL, edit)

    @classmethod
    def promote(
        cls,
        resource_id: str,
        resource_class: ResourceClass,
        rationale: str = "",
        at: datetime = UNIX_EPOCH,
    ) -> Self:
        """Ask that the class of a turn is raised."""
        return cls(InputKind.PROMOTE, Promotion(resource_id, resource_class, rationale, at))

    @classmethod
    def resize(cls, max_tokens: int) -> Self:
        """Give the window another budget, in tokens."""
        return cls(InputKind.RESIZE, max_tokens)

    @classmethod
    def rewind(cls, window: ContextWindow, state: State | None = None) -> Self:
        """Put back a window that stood before.

        `state` is the state that the machine was in then.
        """
        return cls(InputKind.REWIND, Standing(window, state))

    @classmethod
    def forget(cls, window: ContextWindow) -> Self:
        """Put in what is left of the window once words were erased."""
        return cls(InputKind.FORGET, Standing(window))

    @classmethod
    def named(cls, event: str, /, *args: Any, **kwargs: Any) -> Self:
        """Make the input of an event by its name.

        An event that a subclass of the machine adds takes any JSON data.

        Raises:
            InvalidOptionError: the arguments are not those of the event.

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


@frozen
class ContextOutput:
    """Hold what goes out: the window after the input, the state, what a compression did that came with it, and what was added.

    `repaired` are the ids of turns that intake put in, such as the line that opens where the
    assistant spoke first. `refused` says of a fulfilment that was no good what was refused, and
    why; nothing has happened then. `answering` is what has been said of the answer that is being
    streamed in, None where none is (`ContextSession.answer`).
    """

    window: ContextWindow
    state: State
    compression: CompressionResult | None = None
    repaired: tuple[str, ...] = ()
    refused: tuple[Rejection, ...] = ()
    answering: str | None = None

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens."""
        return pressure_of(self.window)

    @property
    def epoch(self) -> Epoch:
        """Return since when requests only grow: its number, and what the change that began it took."""
        return self.window.epoch

    @property
    def compressed(self) -> bool:
        """Tell whether this input compressed the window."""
        return self.compression is not None

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """Return what readers may be shown: what user and assistant say in the view, and nothing that was meant for a model.

        System text, calls and results are not in it; an attachment is told by its name, a gist by
        the number of messages it stands for. What is handed to a model comes from
        ``ContextSession.messages``.
        """
        turns = (turn for turn in self.window.all_turns() if turn.role in _SHOWN)
        said = (
            ("summary" if turn.is_gist else turn.role.value, shown_text(turn)) for turn in turns
        )
        return tuple({"role": role, "content": text} for role, text in said if text)


_SHOWN = frozenset({Role.USER, Role.ASSISTANT})


def shown_text(turn: Turn) -> str:
    """Return what may be shown of what `turn` says: of an attachment its name, of a gist how many messages it stands for."""
    if turn.is_gist and not turn.sources:
        return "earlier messages"
    if turn.is_gist:
        return f"{len(turn.sources)} earlier message{'' if len(turn.sources) == 1 else 's'}"
    attachment = attachment_of(turn)
    return turn.text if attachment is None else attachment.mention


_CALLS = 'a ToolCall, {"id", "function": {"name", "arguments"}} (OpenAI), or {"id", "name", "input"} (Anthropic)'


def as_tool_calls(calls: object) -> tuple[ToolCall, ...]:
    """Return the calls of a reply as `ToolCall`s; a reply without calls may say so by None.

    Raises:
        InvalidTurnError: no list, or a call of none of the known shapes.
    """
    if calls is None:
        return ()
    if not isinstance(calls, Iterable) or isinstance(calls, str | Mapping):
        raise InvalidTurnError(
            "tool_calls", f"{type(calls).__name__} is no list", "a list of calls, or None"
        )
    return tuple(map(as_tool_call, calls))


def as_tool_call(call: object) -> ToolCall:
    """Return `call`, a provider's JSON data or an object of its SDK, as a `ToolCall`.

    Raises:
        InvalidTurnError: none of the known shapes.

    >>> as_tool_call({"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}})
    ToolCall(id='c1', name='search', arguments='{}')
    """
    if isinstance(call, ToolCall):
        return call
    data = _load_call(call)
    if not isinstance(data, Mapping):
        raise InvalidTurnError("tool_calls", f"{type(call).__name__} is no tool call", _CALLS)
    match data:
        # The own id of an item of Responses names the item, not the call.
        case (
            {"call_id": identity, "name": name, "arguments": arguments}
            | {"id": identity, "function": {"name": name, "arguments": arguments}}
            | {"id": identity, "name": name, "input": arguments}
            | {"id": identity, "name": name, "arguments": arguments}
        ):
            pass
        case _:
            raise InvalidTurnError(
                "tool_calls", f"an object with the keys {sorted(map(str, data))}", _CALLS
            )
    return ToolCall(identity, name, arguments if isinstance(arguments, str) else _json(arguments))


def _load_call(call: object) -> object:
    """Return the JSON data of an SDK's object, of whichever making; anything else as it is."""
    from polycontext.window.providers import dumped  # noqa: PLC0415 - for those who hand in calls

    data = dumped(call)
    if isinstance(data, Mapping):
        return data
    inner: Any = getattr(call, "function", None)
    names = ("id", "call_id", "name", "input", "arguments")
    found = {name: getattr(call, name) for name in names if hasattr(call, name)}
    if hasattr(inner, "name"):
        return {**found, "function": {"name": inner.name, "arguments": inner.arguments}}
    return found or data


def _json(arguments: object) -> str:
    try:
        return orjson.dumps(arguments).decode()
    except TypeError as error:
        raise InvalidTurnError(
            "tool_calls.arguments",
            f"no JSON data ({error})",
            "JSON text, or data that JSON can say",
        ) from None
