"""Older documents are migrated step by step; unknown versions are refused."""

import json
from typing import Any

import pytest

from polycontext.agent_context import MigrationRegistry, deserialize
from polycontext.agent_context.errors import MigrationError, UnknownVersionError
from polycontext.agent_context.migrations import MIGRATIONS
from polycontext.agent_context.records import SCHEMA_VERSION
from polycontext.base import InvalidDataError, InvalidOptionError
from tests.house import ROOT

FIXTURES = sorted((ROOT / "tests" / "agent_context" / "fixtures").glob("*.json"))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_a_document_of_every_release_is_read(fixture: Any) -> None:
    """A document that a release wrote is named after it, and read into the newest version."""
    assert json.loads(fixture.read_text(encoding="utf-8"))["version"] == fixture.stem
    assert deserialize(fixture.read_bytes()).version == SCHEMA_VERSION


def marking(registry: MigrationRegistry, source: str, target: str) -> None:
    """Register a migration that leaves its mark in the document."""

    @registry.migration(source, target)
    def mark(document: dict[str, Any]) -> dict[str, Any]:
        document["reasoning"]["summary"] += f" {source}>{target}"
        return document


def registry_of(*steps: str) -> MigrationRegistry:
    """Return a registry with marking migrations, each written as in ``0.1.0>0.2.0``."""
    registry = MigrationRegistry("1.0.0")
    for step in steps:
        marking(registry, *step.split(">"))
    return registry


def document(version: str) -> dict[str, Any]:
    """Return a small document of a version."""
    return {"version": version, "reasoning": {"summary": "came"}}


@pytest.mark.parametrize("backwards", [False, True])
def test_each_step_is_taken(backwards: bool) -> None:
    """A document takes every step to the target, in whatever order they were registered."""
    steps = ["0.1.0>0.2.0", "0.2.0>0.3.0", "0.3.0>1.0.0", "0.5.0>0.3.0", "0.8.0>0.7.0"]
    registry = registry_of(*(reversed(steps) if backwards else steps))
    assert registry.migrate(document("0.1.0")) == {
        "version": "1.0.0",
        "reasoning": {"summary": "came 0.1.0>0.2.0 0.2.0>0.3.0 0.3.0>1.0.0"},
    }
    assert registry.migrate(document("0.5.0"))["reasoning"] == {
        "summary": "came 0.5.0>0.3.0 0.3.0>1.0.0"
    }
    assert registry.known == ("0.1.0", "0.2.0", "0.3.0", "0.5.0", "1.0.0")


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("1.0.1", True),
        ("2.0.0", True),
        ("10.0.0", True),
        ("0.0.1", False),
        ("0.8.0", False),
        ("1.0", False),
        ("next", False),
        ("", False),
    ],
)
def test_an_unknown_version_is_refused(version: str, newer: bool) -> None:
    """A version without a chain is refused with what is known; a later release's is told apart."""
    with pytest.raises(UnknownVersionError) as caught:
        deserialize(
            json.dumps(document(version)), migrations=registry_of("0.9.0>1.0.0", "0.8.0>0.7.0")
        )
    error = caught.value
    assert (error.version, error.target, error.known, error.newer) == (
        version,
        "1.0.0",
        ("0.9.0", "1.0.0"),
        newer,
    )
    assert ("is newer than this release reads" in str(error)) is newer
    assert str(error).endswith("Use 0.9.0, 1.0.0.")


def test_a_version_that_is_no_text_is_refused() -> None:
    """A version is text."""
    with pytest.raises(InvalidDataError, match=r"\$.version: float is not text"):
        MIGRATIONS.migrate({"version": 1.0})


@pytest.mark.parametrize(
    ("source", "target"),
    [("0.9.0", "1.0.0"), ("0.9.0", "0.9.5"), ("0.8.0", "0.8.0"), ("1.0.0", "0.9.0")],
)
def test_a_version_has_one_migration_which_leads_on(source: str, target: str) -> None:
    """A second one from a version is refused, and one that leads back to it."""
    registry = registry_of("0.9.0>1.0.0")
    with pytest.raises(InvalidOptionError, match="Use one for each source version") as caught:
        marking(registry, source, target)
    assert caught.value.value == (source, target)
    assert registry.migrate(document("0.9.0"))["reasoning"] == {"summary": "came 0.9.0>1.0.0"}


def test_a_migration_that_fails_is_named() -> None:
    """A migration that raises, or returns no document, is reported with its versions."""
    with pytest.raises(
        MigrationError, match=r"from 0.9.0 to 1.0.0 failed: KeyError: 'reasoning'. Register "
    ) as caught:
        registry_of("0.9.0>1.0.0").migrate({"version": "0.9.0"})
    assert isinstance(caught.value.__cause__, KeyError)
    registry = MigrationRegistry("1.0.0")

    @registry.migration("0.9.0", "1.0.0")
    def forgets(document: dict[str, Any]) -> dict[str, Any]:
        document.clear()
        return None  # type: ignore[return-value]

    with pytest.raises(MigrationError, match="returned NoneType"):
        registry.migrate({"version": "0.9.0"})
