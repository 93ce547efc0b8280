"""Agents on four strict vendors that check structured output; `just strict-agents` is longer."""

from typing import Any

import pytest

from polycontext.agents.answers import Deed, Understanding
from polycontext.agents.forms import schema_of
from polycontext.base.errors import is_installed
from tests.agents.vendors import MODELS, converse, faults_of
from tests.house import gated


@pytest.mark.parametrize("provider", gated([*MODELS], "openai", "anthropic"))
def test_no_request_is_invalid_and_no_reply_is_lost(provider: str) -> None:
    """Broken answers are asked for again, each once."""
    if provider == "gemini" and not is_installed("google.genai"):
        pytest.skip("no google.genai")
    behind, lost = converse(provider, 6)
    assert (behind.invalid, lost) == ([], [])
    assert behind.broken.total() > 4


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, "the schema is empty"),
        ({"type": "array", "items": {"type": "string"}}, "the root is no object"),
        ({"type": "object", "properties": {}}, "the object is open"),
        (schema_of(Deed), "the object is open"),
        (schema_of(Understanding) | {"oneOf": []}, "oneOf is not supported"),
    ],
)
def test_the_providers_refuse_what_their_vendors_do(schema: Any, fault: str) -> None:
    """A schema that strict structured output does not take is a fault."""
    assert any(fault in each for each in faults_of(schema, "openai"))
