"""Another library that shortens a list of messages: LangChain's `trim_messages`.

Where it is not installed, it is reported, not measured. It gets our token counts, and the messages
it keeps are returned in their original form, so that no text is lost in conversion.
"""

import logging
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.retention.methods import Asked
from benchmarks.retention.recordings import Message, request_tokens

PEER = "langchain-core"


def is_installed() -> bool:
    """Return whether the library can be measured here."""
    return find_spec("langchain_core") is not None


def trimmed(asked: Asked) -> list[Message]:
    """Trim as documented for chat models: the last messages, and the system message.

    The list starts with a user message.
    """
    lib = import_module("langchain_core.messages")
    # Its warnings are counted, not printed.
    logging.getLogger("langchain_core").setLevel(logging.CRITICAL)
    native = lib.convert_to_messages([dict(message) for message in asked.messages])
    for place, message in enumerate(native):
        message.id = str(place)

    def tokens(given: Sequence[Any]) -> int:
        return request_tokens(asked.messages[int(each.id)] for each in given)

    kept = lib.trim_messages(
        native,
        max_tokens=asked.max_tokens,
        token_counter=tokens,
        strategy="last",
        include_system=True,
        start_on="human",
    )
    return [asked.messages[int(message.id)] for message in kept]
