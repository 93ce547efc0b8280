"""Dialects of the providers' own formats.

They read message lists as JSON data, and OpenAI's chat format with the thinking of other vendors
beside it.
"""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from polycontext.base import UnknownNameError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import Seen
from polycontext.window import InvalidMessagesError, Turn
from polycontext.window.providers import Provider, get_format

from .blocks import block_parts
from .bridge import Bridge, Fitted, find_session
from .dialect import Dialect, Piece
from .sessions import Sessions

Message = Mapping[str, Any]
_REPLY = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Fields of a request for the maximum length of the reply, the newest name first."""
_THOUGHTS = ("thinking_blocks", "reasoning_items")
_AGAIN = {"reasoning_content", "provider_specific_fields"}
"""Fields that repeat the content of the blocks."""


class WireDialect(Dialect[Message]):
    """Read and write the messages of a provider.

    It is ``"openai"``, ``"openai-responses"`` or ``"anthropic"``.

    >>> from polycontext.adapters import Bridge
    >>> bridge = Bridge(WireDialect("openai"), model=8000)
    >>> hello = {"role": "user", "content": "Hello", "my_own": 1}
    >>> bridge.fit([hello])[0] is hello
    True
    """

    def __init__(self, provider: Provider | str) -> None:
        self._wire = get_format(provider)

    def split(self, natives: Sequence[Message]) -> Iterator[Piece]:
        """Yield the turns of a message list, as the provider reads it."""
        # Skip turns that the repair added: they have no message, and the session repairs the list
        # itself.
        parsed = self._wire.parse([*natives], repair=True)
        stops = _stops([*parsed.places, *parsed.omitted], len(natives))
        for turn, place in zip(parsed.turns, parsed.places, strict=True):
            if not turn.metadata.get("repaired"):
                yield Piece(turn, place, stops[place])

    def write(self, turns: Sequence[Turn]) -> list[Message]:
        """Return `turns` as messages."""
        return [*self._wire.render(turns, readable=True).inline()]

    def join(self, view: Iterable[Seen]) -> list[Message]:
        """Return the messages of a view, all written anew if they are not valid as they are."""
        seen = [*view]
        messages = super().join(seen)
        try:
            self._wire.check(messages, allow_open_tail=True)
        except InvalidMessagesError:
            return self.write([each.turn for each in seen])
        return messages


class Bridges:
    """The bridges of a wrapped client: one a format for its model, or else for each model it asks.

    Those of one model share their sessions: what is changed on one before the first request holds
    in whatever format that is.
    """

    def __init__(self, model: Any, options: Mapping[str, Any], *providers: str) -> None:
        self._options = options
        self._dialects = {provider: WireDialect(provider) for provider in providers}
        self._is_open = model is None and "max_tokens" not in options
        self._own = self._of(model)
        self._held: dict[str, dict[str, Bridge[Message]]] = {}

    def of(self, provider: str, asked: object) -> Bridge[Message]:
        """Return the bridge for a request to the model `asked`.

        Unknown models share one; each warns once.
        """
        if not self._is_open or not isinstance(asked, str):
            return self._own[provider]
        if asked not in self._held:
            try:
                made = self._of(asked)
            except UnknownNameError as error:
                made = self._own
                warnings.warn(f"{error} Until then its window is 8,000 tokens.", stacklevel=2)
            self._held.setdefault(asked, made)  # another thread may have been first
        return self._held[asked][provider]

    def session(self, messages: Sequence[Message]) -> ContextSession:
        """Return the session behind a conversation; see `find_session`."""
        every = [each for held in (self._own, *self._held.values()) for each in held.values()]
        return find_session(every, messages, is_open=self._is_open)

    def _of(self, model: Any) -> dict[str, Bridge[Message]]:
        sessions = Sessions(model, **self._options)
        return {name: Bridge(dialect, sessions) for name, dialect in self._dialects.items()}


class ThinkingDialect(WireDialect):
    """Read and write chat messages with the thinking of several vendors.

    It is in the fields `thinking_blocks` (Anthropic's models) and `reasoning_items` (OpenAI's).

    >>> thought = {"type": "thinking", "thinking": "Plums.", "signature": "c2ln"}
    >>> [piece] = ThinkingDialect().split(
    ...     [{"role": "assistant", "content": "Plums.", "thinking_blocks": [thought]}]
    ... )
    >>> (
    ...     piece.turn.parts[0].is_bound,
    ...     ThinkingDialect().write([piece.turn])[0]["thinking_blocks"] == [thought],
    ... )
    (True, True)
    """

    def __init__(self) -> None:
        super().__init__("openai")

    def split(self, natives: Sequence[Message]) -> Iterator[Piece]:
        """Yield the turns of messages; thinking is bound to the prefix before it."""
        for piece in super().split([_without_thoughts(message) for message in natives]):
            thoughts = [
                part for name in _THOUGHTS for part in block_parts(natives[piece.start].get(name))
            ]
            yield (
                evolve(piece, turn=evolve(piece.turn, parts=(*thoughts, *piece.turn.parts)))
                if thoughts
                else piece
            )

    def write(self, turns: Sequence[Turn]) -> list[Message]:
        """Return `turns` as messages, with the thinking that was not dropped."""
        written: list[Message] = []
        for turn in turns:
            blocks = [json.loads(part.data) for part in turn.parts if part.is_bound]
            kept = {
                name: [
                    block
                    for block in blocks
                    if (block["type"] == "reasoning") == (name == _THOUGHTS[1])
                ]
                for name in _THOUGHTS
            }
            messages = super().write(
                [evolve(turn, parts=[part for part in turn.parts if not part.is_bound])]
            )
            written += (
                {**message, **{name: held for name, held in kept.items() if held}}
                for message in messages
            )
        return written


def besides_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools, reserve and system prompt of a request to any provider."""
    reserve = next((request[name] for name in _REPLY if isinstance(request.get(name), int)), 0)
    system = request.get("instructions") or request.get("system")
    if isinstance(system, list):
        system = "\n".join(str(block.get("text", "")) for block in system)
    return {
        "tools": request.get("tools") or (),
        "reserve": reserve,
        "system": system if isinstance(system, str) else None,
    }


def learn_from(fitted: Fitted[Message], answer: Any) -> Any:
    """Learn from the usage in an answer of an SDK or its HTTP client, and return the answer.

    A streamed answer has no usage yet.
    """
    response = getattr(answer, "http_response", answer)
    if getattr(response, "is_closed", False) and response.is_success:
        try:
            told = response.json()
        except ValueError:  # the SDK reports this error
            return answer
        if isinstance(told, dict):
            fitted.learn(told)
    return answer


def _stops(places: Sequence[int], end: int) -> dict[int, int]:
    """Return where the messages of each place end: at the next place."""
    starts = sorted({*places})
    return dict(zip(starts, [*starts[1:], end], strict=True))


def _without_thoughts(message: Message) -> dict[str, Any]:
    gone = {*_THOUGHTS, *_AGAIN} if any(message.get(name) for name in _THOUGHTS) else set[str]()
    return {
        name: value
        for name, value in message.items()
        if name not in gone and (value is not None or name == "content")
    }
