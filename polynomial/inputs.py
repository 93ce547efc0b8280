"""What comes into the machine and what goes out."""

from collections.abc import Iterable
from typing import Any, Self

from attrs import field, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial.errors import InputError
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import CompressionResult, Fulfilment, pressure_of
from polycontext.window import ContextWindow, Role, ToolCall, Turn
from polycontext.window.providers import Provider, get_format

_ROLES = {
    InputKind.USER_TURN: Role.USER,
    InputKind.ASSISTANT_TURN: Role.ASSISTANT,
    InputKind.TOOL_TURN: Role.TOOL,
    InputKind.SYSTEM: Role.SYSTEM,
}
KIND_OF_ROLE = {role: kind for kind, role in _ROLES.items()}

Payload = Turn | str | float | Fulfilment | None


@frozen
class ContextInput:
    """Hold one input: a direction of the polynomial and what comes with it (seed 004 §3.2).

    Turn kinds carry a `Turn` (or text, for those that need nothing else), ``compress`` a target
    pressure or a fulfilled plan, ``clear`` nothing. `resource_class` overrules the classifier.

    Raises:
        InputError: the payload does not fit the kind.

    >>> ContextInput.user_turn("hello").kind
    <InputKind.USER_TURN: 'user_turn'>
    """

    kind: InputKind = field(converter=InputKind)
    payload: Payload = None
    resource_class: ResourceClass | None = None

    def __attrs_post_init__(self) -> None:
        role = _ROLES.get(self.kind)
        if role is not None:
            self._check_turn(role)
        elif self.kind is InputKind.COMPRESS:
            if isinstance(self.payload, bool) or not isinstance(self.payload, int | float | Fulfilment):
                raise InputError(self.kind, f"payload {self.payload!r}", "a target pressure, or a fulfilled plan")
        elif self.payload is not None:
            raise InputError(self.kind, f"payload {self.payload!r}", "no payload")

    def _check_turn(self, role: Role) -> None:
        if isinstance(self.payload, str) and role is not Role.TOOL:
            return
        if not isinstance(self.payload, Turn) or self.payload.role is not role:
            raise InputError(self.kind, f"payload {self.payload!r}", f"a turn of role {role}")

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
    def user_turn(cls, content: str) -> Self:
        """Make a user turn."""
        return cls(InputKind.USER_TURN, content)

    @classmethod
    def assistant_turn(cls, content: str | None, tool_calls: Iterable[ToolCall] = ()) -> Self:
        """Make an assistant turn, with the calls it makes."""
        return cls(InputKind.ASSISTANT_TURN, Turn(Role.ASSISTANT, content, tool_calls=tuple(tool_calls)))

    @classmethod
    def tool_turn(cls, content: str, tool_call_id: str) -> Self:
        """Make the result of one call."""
        return cls(InputKind.TOOL_TURN, Turn(Role.TOOL, content, tool_call_id=tool_call_id))

    @classmethod
    def system(cls, content: str) -> Self:
        """Make a system turn."""
        return cls(InputKind.SYSTEM, content)

    @classmethod
    def compress(cls, target: float = 0.7) -> Self:
        """Ask for compression to a target pressure."""
        return cls(InputKind.COMPRESS, target)

    @classmethod
    def clear(cls) -> Self:
        """Ask to forget the view; the log keeps all."""
        return cls(InputKind.CLEAR)


@frozen
class ContextOutput:
    """Hold what goes out: the window after the input, the state, and what a compression did."""

    window: ContextWindow
    state: ContextState
    compression: CompressionResult | None = None

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens."""
        return pressure_of(self.window)

    @property
    def compressed(self) -> bool:
        """Tell whether this input compressed the window."""
        return self.compression is not None

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """Return the view as messages for readers; what is handed to a model comes from ``ContextSession.messages``."""
        return tuple(get_format(Provider.OPENAI).render(self.window.all_turns()).messages)
