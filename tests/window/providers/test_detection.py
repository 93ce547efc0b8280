"""The provider of a list is detected by forms that only it writes; the default is OpenAI."""

from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseOutputMessage

from polycontext.base import UnknownNameError
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider
from polycontext.window.providers.formats import format_of
from tests.window.providers.vendor_shapes import TABLE

USER: dict[str, Any] = {"role": "user", "content": "Look."}
OWN: list[tuple[Any, Provider]] = [
    *((message, Provider(whose)) for whose, rows in TABLE["telling"].items() for message in rows),
    (ChatCompletionMessage.model_construct(role="assistant", content="x"), Provider.OPENAI),
    (AnthropicMessage.model_construct(role="assistant", content=[]), Provider.ANTHROPIC),
    (ResponseOutputMessage.model_construct(role="assistant", content=[]), Provider.RESPONSES),
]


@pytest.mark.parametrize(("message", "whose"), OWN)
def test_a_message_of_its_own_tells(message: Any, whose: Provider) -> None:
    """Whatever could be anybody's stands before it."""
    assert format_of([USER, message], "auto").provider is whose


@pytest.mark.parametrize(
    "messages", [[USER], [], None, "hi", [None], [{}], [{"type": 5, "content": [5, {"type": []}]}]]
)
def test_what_tells_nothing_is_openais(messages: Any) -> None:
    """An ambiguous or invalid list is read as OpenAI's."""
    assert format_of(messages, "auto").provider is Provider.OPENAI


TYPED = [{"type": "step-start"}, {"type": "text", "text": "It is fixed."}]
HOSTS: list[tuple[dict[str, Any], str]] = [
    ({"id": "1", "role": "assistant", "parts": TYPED}, "UI messages"),
    ({"role": "user", "content": "", "parts": TYPED}, "UI messages"),
    ({"info": {"role": "user"}, "parts": TYPED}, "an OpenCode export"),
    ({"info": {"role": "assistant"}, "parts": [{"type": "tool", "state": {}}]}, "an OpenCode"),
]


@pytest.mark.parametrize("provider", ["auto", *Provider])
@pytest.mark.parametrize(("message", "name"), HOSTS)
def test_messages_of_a_host_are_refused_by_name(
    message: dict[str, Any], name: str, provider: str
) -> None:
    """Parts with types are not Gemini's; where the content is there, too, they are a field."""
    with pytest.raises(InvalidMessagesError, match=name) as caught:
        format_of([USER, message], provider)
    assert (caught.value.rule, caught.value.index) == ("another-format", 1)
    assert "gemini" not in str(caught.value).lower()
    assert format_of([{**message, "content": "It is fixed."}], "auto").provider is Provider.OPENAI


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_a_list_that_is_certainly_anothers_is_refused(provider: str) -> None:
    """A list with another provider's calls or results is refused; other blocks are let through."""
    *certain, thinking = TABLE["telling"]["anthropic"][:3]
    for message in certain:
        with pytest.raises(InvalidMessagesError, match="anthropic") as caught:
            format_of([USER, message], provider)
        assert (caught.value.index, caught.value.rule) == (1, "another-format")
    assert format_of([thinking], provider).provider == provider


def test_an_unknown_provider_is_refused() -> None:
    """By name, with the legal ones."""
    with pytest.raises(UnknownNameError, match="anthropic"):
        format_of([USER], "gpt")
