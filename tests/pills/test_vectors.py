"""The test vectors for the JavaScript port match the document and cover what matters."""

import json
from collections import Counter
from typing import Any

import pytest

from polycontext.pills import PillDocument
from tests.house import script

generator = script("pill_vectors")
SHIPPED = generator.WRITTEN.read_text(encoding="ascii")
CASES: list[list[dict[str, Any]]] = json.loads(SHIPPED)


def test_the_shipped_cases_are_up_to_date() -> None:
    """Writing them anew changes nothing; and they stay a small file."""
    assert generator.written(generator.vectors()) == SHIPPED, "run `just write pill_vectors`"
    assert len(SHIPPED) < 300_000


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_document_does_what_the_cases_say(number: int) -> None:
    """Step by step; what is refused changes nothing, and every document is sound."""
    document = PillDocument()
    for step in CASES[number]:
        before, (document, came) = document, generator.done(document, step)
        assert came == {key: step[key] for key in came}
        assert document is before or "error" not in step
        assert all(pill.is_sound for pill in document.pills)


def test_the_cases_try_every_operation_and_every_refusal() -> None:
    """Each operation is refused in every possible way, with texts that include non-BMP signs."""
    told = Counter((step["do"], step.get("error")) for case in CASES for step in case)
    refused = {error for _, error in told}
    assert refused == {
        None,
        "Context already attached",
        "Invalid context name",
        "no such place",
        "no such pill",
    }
    assert min(told[operation, None] for operation in generator._DO) >= 20
    assert (
        sum(
            step.get("text", "") != "" and not step["text"].isascii()
            for case in CASES
            for step in case
        )
        >= 100
    )
