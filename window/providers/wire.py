"""The interface of every message format: parsing, rendering, validation and names.

A provider's messages become turns (`Parsed`), and turns become messages (`Rendered`). A
`WireFormat` holds the functions for this, so that callers never branch on the provider. Formats are
imported lazily, on first access.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

from attrs import field, frozen

from polycontext.base import UnknownNameError, guided

from ..errors import InvalidMessagesError
from ..turn import Turn

Message = dict[str, Any]
"""A provider's message: JSON data with string keys."""


_NESTED = frozenset({dict, list})


def fresh(value: Any) -> Any:
    """Return a deep copy of plain JSON data: of an object or a list."""
    copy = value.copy()
    copies = [copy]
    for each in copies:
        for key, inner in each.items() if type(each) is dict else enumerate(each):
            if type(inner) in _NESTED:
                each[key] = made = inner.copy()
                copies.append(made)
    return copy


class Provider(StrEnum):
    """The name of a message format."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "openai-responses"
    GEMINI = "gemini"


AUTO = "auto"
"""The provider name that requests detection of the format."""

CHAT_BLOCKS = ("image_url", "input_audio", "file", "refusal")
RESPONSES_BLOCKS = ("input_text", "output_text", "input_image", "input_file", "summary_text")
RESPONSES_ITEMS = (
    "function_call",
    "function_call_output",
    "reasoning",
    "item_reference",
    "custom_tool_call",
)
"""Types of blocks and items that only one format has."""

_STARTS = {Provider.OPENAI: ("gpt", "o1", "o3", "o4", "chat"), Provider.ANTHROPIC: ("claude",)}


def as_provider(name: Provider | str) -> Provider:
    """Return the provider called `name`; raise `UnknownNameError` if there is none."""
    try:
        return Provider(name)
    except ValueError:
        raise UnknownNameError("provider", str(name), tuple(Provider), _near(str(name))) from None


def _near(name: str) -> tuple[str, ...]:
    """Return the format that models whose names begin like `name` use, where that is known."""
    return tuple(
        str(provider) for provider, start in _STARTS.items() if name.lower().startswith(start)
    )


@frozen
class Parsed:
    """The turns of a message list together with the messages they come from.

    `places` holds the index of the message of each turn. One message may become several turns. A
    message without a turn of its own belongs to the turn before it (Anthropic merges a run of
    assistant messages that call). `messages` are private copies: treat them as read-only.

    `repaired` are the positions in `turns` of results that `repair` added or moved to their calls;
    the place of an added one is that of the turn before it. `omitted` are the indices of messages
    with a result that it left out.
    """

    provider: Provider
    turns: tuple[Turn, ...]
    places: tuple[int, ...]
    messages: tuple[Message, ...] = field(repr=False)
    repaired: tuple[int, ...] = ()
    omitted: tuple[int, ...] = ()


@guided
@frozen
class Rendered:
    """Messages that are ready to send, with `system` for providers that take it separately.

    `system` is empty for OpenAI, where system messages are part of the list. `leading` are the
    original messages that `system` was taken from. `options` are the request options that the
    messages require (see docs/cache.md). `left_behind` lists the content of other providers that
    this one cannot receive, as ids of turns and types of blocks. `introduced` holds the texts of
    filler messages that the provider requires.

    >>> Rendered([{"role": "user", "content": "hi"}]).inline()
    [{'role': 'user', 'content': 'hi'}]
    """

    messages: list[Message]
    system: tuple[Message, ...] = ()
    leading: tuple[Message, ...] = field(default=(), eq=False, repr=False)
    options: Mapping[str, Any] = field(factory=dict)
    left_behind: tuple[tuple[str, str], ...] = ()
    introduced: tuple[str, ...] = field(default=(), eq=False, repr=False)

    def alone(self) -> list[Message]:
        """Return the messages, if nothing is separate from them.

        Raises:
            InvalidMessagesError: there is a separate system prompt, which would not be sent.
        """
        if self.system:
            raise InvalidMessagesError(
                Provider.ANTHROPIC,
                None,
                "separate-system",
                "the system prompt is sent outside the list of messages",
                "request(), and send its .system and .messages",
            )
        return self.messages

    def inline(self) -> list[Message]:
        """Return one list that begins with `system` as system messages, for storage and `parse`."""
        if self.leading or not self.system:
            return [*self.leading, *self.messages]
        return [{"role": "system", "content": list(self.system)}, *self.messages]


@frozen
class ToolDefinition:
    """A tool as every provider needs it; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Parse(Protocol):
    """The parser of a format."""

    def __call__(
        self, messages: object, *, repair: bool = False, waiting: Iterable[str] = ()
    ) -> Parsed:
        """Parse a provider's messages into turns.

        `waiting` are the ids of earlier calls that have no result yet.
        """
        ...


class Check(Protocol):
    """The validator of a format."""

    def __call__(self, messages: object, *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` for a message list that the provider would reject."""
        ...


class Writer(Protocol):
    """Renders turns incrementally: a growing history costs only its new turns.

    A `readable` writer produces lists that are parsed again rather than sent: turns of one role are
    not merged.
    """

    @property
    def size(self) -> int:
        """Return the number of blocks so far.

        If the provider caches by message or item, each of these counts as one.
        """
        ...

    def add(self, turn: Turn) -> None:
        """Append `turn`."""
        ...

    def finish(self) -> Rendered:
        """Return the messages so far, as they are sent if nothing follows.

        Blocks are shared with the writer.
        """
        ...


@frozen
class WireFormat:
    """The functions of one provider's message format; `define_tools` writes tools for a request.

    `writer` creates an object that renders a growing list, a readable one if called with True.
    `options` returns the request options that are required once bound content of these providers
    was removed.
    """

    provider: Provider
    parse: Parse
    check: Check
    writer: Callable[..., Writer]
    define_tools: Callable[[Sequence[ToolDefinition]], list[Message]]
    options: Callable[[Collection[str]], Mapping[str, Any]] = lambda _: {}

    def render(self, turns: Iterable[Turn], *, readable: bool = False) -> Rendered:
        """Render turns as the provider's messages; `readable` works as in `Writer`.

        Laws:

        - For turns whose calls are paired and that include a user turn,
          ``check(render(turns).messages)`` passes.
        - Parsed messages are rendered unchanged:
          ``render(parse(messages).turns).inline() == messages``.
        - Messages rendered with `readable` parse to the same turns.
        - The messages of a history begin the messages of any longer history that it grows into,
          block for block.
        """
        writer = self.writer(readable)
        for turn in turns:
            writer.add(turn)
        return writer.finish()


_NO_NAME = re.compile(r"[\s<|\\/>]+")
_LONGEST_NAME = 64


@lru_cache(maxsize=1024)
def speaker(name: str) -> str:
    r"""Return the name of a speaker in the form that OpenAI accepts.

    The form has no white space, none of ``< | \\ / >``, and at most 64 characters.

    >>> speaker("Ada Lovelace"), speaker("ada")
    ('Ada_Lovelace', 'ada')
    """
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME]
