"""OpenAI's rules for the options of a request that a session writes, for both formats."""

from collections.abc import Mapping
from typing import Any

from polycontext.testing.strict.openai_requests import is_continued
from polycontext.window.providers import Provider
from polycontext.window.providers.openai_places import OpenAIPlace
from polycontext.window.providers.responses.item_rules import type_of

_CHAT, _RESPONSES = OpenAIPlace(Provider.OPENAI), OpenAIPlace(Provider.RESPONSES)


def check_chat_options(request: Mapping[str, Any]) -> None:
    """Raise `InvalidMessagesError` for the options of a request to Chat Completions."""
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        code = "invalid_parameter_combination"
        raise _CHAT.into("max_tokens").fault("bad-option", message, "one of the two", code)


def check_responses_options(request: Mapping[str, Any]) -> None:
    """Refuse items that cannot be resolved with ``store: false``.

    Such items are references, and reasoning without its encrypted content.
    """
    items = request.get("input")
    if request.get("store") is not False or not isinstance(items, list) or is_continued(request):
        return
    for index, item in enumerate(items):
        if isinstance(item, dict) and isinstance(item.get("id"), str):
            is_whole = item.get("encrypted_content") or item.get("content")
            kind = type_of(item)
            if kind == "item_reference" or (kind == "reasoning" and not is_whole):
                message = (
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` "
                    "is set to false. Try again with `store` set to true, or remove this item from "
                    "your input."
                )
                place, legal = (
                    _RESPONSES.into("input", index),
                    "reasoning with its encrypted_content",
                )
                raise place.fault("not-stored", message, legal, None, "input")
