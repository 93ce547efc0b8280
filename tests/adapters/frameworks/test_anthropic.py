"""Clients of Anthropic's SDK."""

from typing import Any

import pytest

anthropic = pytest.importorskip("anthropic")

from polycontext.adapters.anthropic import wrap
from polycontext.adapters.wire_dialect import WireDialect
from tests.adapters.agent_step import messages_, messages_stream
from tests.adapters.frameworks.sdk import SdkTests


class MessagesDialect(WireDialect):
    """Read messages."""

    def __init__(self) -> None:
        super().__init__("anthropic")


class TestMessages(SdkTests):
    """Test ``messages``."""

    distribution, label = "anthropic", "anthropic: messages"
    provider, dialect = "anthropic", MessagesDialect
    wrap, ask, streamed = staticmethod(wrap), staticmethod(messages_), staticmethod(messages_stream)

    def client(self, url: str) -> Any:
        """Return a client."""
        return anthropic.Anthropic(base_url=url, api_key="none")
