"""Every store that ships passes the contract that users can run on their own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from polycontext.linearity import PolycontextError
from polycontext.nodes.testing.store_contract import SESSION_IDS, STORE_CHECKS, OpenStore
from polycontext.polynomial import Event
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore, Stored
from tests.house import ROOT, examples

checks = pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)


@checks
def test_the_store_in_memory(check: Callable[[OpenStore], None]) -> None:
    """It lives as long as its process: it is opened once."""
    store = InMemoryStore()
    check(lambda: store)


@checks
def test_the_store_in_a_sqlite_file(check: Callable[[OpenStore], None], tmp_path: Path) -> None:
    """It is opened anew from its file."""
    check(lambda: SQLiteStore(tmp_path / "sessions.db"))


@checks
def test_the_store_of_the_docs(check: Callable[[OpenStore], None], tmp_path: Path) -> None:
    """The store that the page on stores shows in some forty lines is one."""
    code = next(
        code for _, code in examples((ROOT / "docs" / "stores.md").read_text(encoding="utf-8"), "python") if "class FolderStore" in code
    )
    assert len(code.splitlines()) <= 62
    namespace: dict[str, Any] = {}
    exec(code, namespace)  # noqa: S102 - the point of this test
    check(lambda: namespace["FolderStore"](tmp_path / "sessions"))


class Broken(SQLiteStore):
    """Break the contract in one way."""

    way = ""

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return too much, too little, or what is somebody else's."""
        stored = super().load("s" if self.way == "one for all" and session_id in SESSION_IDS else session_id, after)
        match self.way:
            case "all events":
                return super().load(session_id)
            case "no last event":
                return evolve(stored, events=stored.events[:-1])
            case "no companions":
                return evolve(stored, companions={})
            case _:
                return stored

    def append(self, session_id: str, base: int, events: Sequence[Event], companions: Mapping[str, str], **options: Any) -> None:
        """Store something else than what was given."""
        match self.way:
            case "late":
                base = len(super().load(session_id).events)
            case "no keys":
                options.pop("key", None)
            case "no snapshots":
                options.pop("snapshot", None)
            case "in two":
                for place, event in enumerate(events):
                    super().append(session_id, base + place, [event], companions)
                return
            case "lower case":
                session_id = session_id.lower()
            case "no second commit" if base:
                return
            case _:
                pass
        super().append(session_id, base, events, companions, **options)

    def delete(self, session_id: str) -> bool:
        """Delete, or say so."""
        return True if self.way == "no deleting" else super().delete(session_id)


@pytest.mark.parametrize(
    "way",
    ["all events", "no last event", "no companions", "late", "no keys", "no snapshots", "in two", "lower case", "no second commit", "no deleting", "one for all"],
)  # fmt: skip
def test_a_store_that_breaks_the_contract_is_found_out(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some check fails for each fault, so that passing all of them says something."""
    monkeypatch.setattr(Broken, "way", way)
    failed = []
    for number, check in enumerate(STORE_CHECKS):
        try:
            check(lambda place=tmp_path / f"{number}.db": Broken(place))  # type: ignore[misc]  # bound at once
        except (AssertionError, PolycontextError):
            failed.append(check.__name__)
        if failed:
            return
    assert failed
