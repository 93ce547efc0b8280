"""Clients of OpenAI's SDK."""

from typing import Any

import pytest

from polycontext.adapters.openai import wrap
from polycontext.adapters.wire_dialect import WireDialect
from tests.adapters.agent_step import chat, chat_stream, responses, responses_stream
from tests.adapters.frameworks.sdk import SdkTests

openai = pytest.importorskip("openai")


class ChatDialect(WireDialect):
    """Read chat completions."""

    def __init__(self) -> None:
        super().__init__("openai")


class ResponsesDialect(WireDialect):
    """Read responses."""

    def __init__(self) -> None:
        super().__init__("openai-responses")


def _client(url: str) -> Any:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none")


class TestChat(SdkTests):
    """Test ``chat.completions``."""

    distribution, label = "openai", "openai: chat.completions"
    provider, dialect = "openai", ChatDialect
    wrap, ask, streamed = staticmethod(wrap), staticmethod(chat), staticmethod(chat_stream)

    def client(self, url: str) -> Any:
        """Return a client."""
        return _client(url)


class TestResponses(SdkTests):
    """Test ``responses``."""

    distribution, label = "openai", "openai: responses"
    provider, dialect, list_name = "openai-responses", ResponsesDialect, "input"
    wrap, ask, streamed = (
        staticmethod(wrap),
        staticmethod(responses),
        staticmethod(responses_stream),
    )

    def client(self, url: str) -> Any:
        """Return a client."""
        return _client(url)
