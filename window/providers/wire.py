"""What every message format has in common: how it is read, written and named.

A provider's messages become turns (`Parsed`), turns become messages (`Rendered`),
and a `WireFormat` holds the functions that do so, so that callers never
branch on the provider. A format is loaded when it is first asked for.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Protocol

from attrs import field, frozen

from polycontext.window.turn import Turn

Message = dict[str, Any]
"""One message of a provider: JSON data with text keys."""


class Provider(StrEnum):
    """Name a message format."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@frozen
class Parsed:
    """Hold the turns of a message list together with the messages they came from.

    `places` has one entry a turn: the index of its message. One message may
    give several turns, and a message without a place of its own belongs to
    the one before it (Anthropic merges a run of assistant messages that call).
    `messages` are private copies: treat them as read-only. `repaired` are the
    positions in `turns` of results that `repair` added; their place is that of
    the turn before them.
    """

    provider: Provider
    turns: tuple[Turn, ...]
    places: tuple[int, ...]
    messages: tuple[Message, ...] = field(repr=False)
    repaired: tuple[int, ...] = ()


@frozen
class Rendered:
    """Hold messages ready to be sent: `messages`, and `system` for providers that take it apart.

    `system` is empty for OpenAI, where system messages stand in the list.

    >>> Rendered([{"role": "user", "content": "hi"}]).inline()
    [{'role': 'user', 'content': 'hi'}]
    """

    messages: list[Message]
    system: tuple[Message, ...] = ()

    def inline(self) -> list[Message]:
        """Return one list, `system` leading as a system message: the shape to store, and one that `parse` reads."""
        head: list[Message] = [{"role": "system", "content": list(self.system)}] if self.system else []
        return [*head, *self.messages]


class Parse(Protocol):
    """Stand for the reader of a format."""

    def __call__(self, messages: object, *, repair: bool = False) -> Parsed:
        """Read a provider's messages into turns."""
        ...


Render = Callable[[Iterable[Turn]], Rendered]
"""Writes turns as a provider's messages, from the turns alone."""


class Check(Protocol):
    """Stand for the judge of a format."""

    def __call__(self, messages: object, *, allow_open_tail: bool = False, strict_first: bool = True) -> None:
        """Raise `InvalidMessagesError` for a message list that the provider would refuse."""
        ...


Rebuild = Callable[[Parsed, Iterable[Turn], Mapping[str, int]], Rendered]
"""Writes a view of parsed turns back; messages that are kept whole are the very originals."""


@frozen
class WireFormat:
    """Hold the functions of one provider's message format.

    `render_turn` is there for formats that write every turn as one message of its own.
    """

    provider: Provider
    parse: Parse
    render: Render
    check: Check
    rebuild: Rebuild
    render_turn: Callable[[Turn], Message] | None = None
