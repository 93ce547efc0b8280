"""Summaries by a model behind Anthropic's Messages API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from polycontext.base import guided
from polycontext.window.providers import Message, Provider
from polycontext.window.providers.wire import fresh

from .model_summariser import Asked, ModelSummariser

_LOOK_BACK, _MARKS = 20, 4
"""How many blocks before a cache breakpoint the provider searches for a cached prefix, and the
maximum number of breakpoints in a request."""

_BETA = "anthropic-beta"

_MARKABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})

_NOT_WHOLE = {
    "max_tokens": (
        "a text that was cut off (stop_reason max_tokens)",
        "a larger max_tokens in `options`",
    ),
    "model_context_window_exceeded": (
        "a text that was cut off at the end of its window",
        "a smaller max_input_tokens",
    ),
    "refusal": ("a refusal", "another model, or none"),
    "tool_use": ("a call of a tool instead of text", "a model that answers with a complete text"),
    "pause_turn": ("a pause", "options without tools of the provider's own"),
}


@guided
@frozen
class AnthropicSummariser(ModelSummariser):
    """A summariser that calls an Anthropic model (docs/summarisers.md).

    Args:
        client: ``anthropic.Anthropic(...)``, or ``anthropic.AsyncAnthropic(...)`` for the methods
            that begin with an a. Without one, each summary opens a client that takes
            `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` from the environment.

    The other arguments are those of `OpenAISummariser`. With `on_prefix`, cache breakpoints are set
    so that the provider finds the cached prefix.

    Raises the same errors as `OpenAISummariser`.
    """

    package: ClassVar[str] = "anthropic"
    clients: ClassVar[tuple[str, str]] = ("Anthropic", "AsyncAnthropic")
    provider: ClassVar[Provider] = Provider.ANTHROPIC

    def _create(self, client: Any, asked: Asked) -> Any:
        rendered, options = self._render(asked), dict(self.options)
        messages, body = rendered.messages, dict[str, Any]()
        if rendered.system:
            body["system"] = list(rendered.system)
        if asked.own:
            if self.tools:
                body["tools"] = list(self.tools)
            messages = mark_blocks(messages, _MARKS - _marks([*self.tools, *rendered.system]))
        return client.messages.create(
            model=self.model,
            messages=messages,
            max_tokens=options.pop("max_tokens", asked.answer),
            extra_body={**body, **options, **_thinking_body(asked.options, options)},
            extra_headers=_headers(asked.options, self.headers),
        )

    def _text(self, answer: Any) -> str:
        if answer.stop_reason in _NOT_WHOLE:
            raise self._error(*_NOT_WHOLE[answer.stop_reason])
        texts = [block.text for block in answer.content or () if block.type == "text"]
        if not texts:
            raise self._error(
                "no text" + "".join(f", {block.type}" for block in answer.content or ())
            )
        return "\n".join(texts)


def mark_blocks(messages: list[Message], most: int) -> list[Message]:
    """Return `messages` with cache breakpoints before the last block, which is the question.

    Further breakpoints follow at the distance that the provider searches back from each. There are
    at most `most` of them, including those already set.
    """
    messages = [{**message, "content": _blocks(message["content"])} for message in messages]
    blocks = [block for message in messages for block in message["content"]]
    place, left = len(blocks) - 2, most - _marks(blocks)
    while place >= 0 and left > 0:
        markable = next((at for at in range(place, -1, -1) if _is_markable(blocks[at])), None)
        if markable is None:
            break
        blocks[markable]["cache_control"] = {"type": "ephemeral"}
        place, left = markable - _LOOK_BACK + 1, left - 1
    return messages


def _blocks(content: Any) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else fresh(content)


def _is_markable(block: Message) -> bool:
    return block["type"] in _MARKABLE and (block["type"] != "text" or bool(block["text"].strip()))


def _marks(blocks: list[Any]) -> int:
    return sum("cache_control" in block for block in blocks)


def _thinking_body(needed: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `thinking` that the epoch needs, overridden by the caller's options."""
    return (
        {"thinking": {**needed["thinking"], **options.get("thinking", {})}}
        if "thinking" in needed
        else {}
    )


def _headers(needed: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's headers with the betas that the epoch needs."""
    betas = [*needed.get("betas", ()), *filter(None, [headers.get(_BETA)])]
    return {**headers, **({_BETA: ",".join(betas)} if betas else {})}
