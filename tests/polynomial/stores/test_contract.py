"""Every store that ships passes the contract that users can run on their own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import PolycontextError
from polycontext.polynomial import Event
from polycontext.polynomial.stores import Found, InMemoryStore, SQLiteStore, Stored
from polycontext.postgresql import PostgreSQLStore
from polycontext.testing.store_contract import (
    STORE_CHECKS,
    a_key_tells_where_its_command_led,
    a_new_store_is_empty,
    a_session_is_what_it_was,
    a_stale_writer_is_refused,
    companions_are_as_they_were_last,
    events_come_back_as_they_were,
    sessions_stay_apart,
    several_events_are_one_commit,
)
from polycontext.testing.store_extensions import (
    OpenStore,
    a_search_finds_what_was_said,
    snapshots_change_nothing,
)
from tests.house import ROOT, examples, gated
from tests.postgresql.server import Server

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


@pytest.mark.gate
@checks
def test_the_store_on_a_server(
    check: Callable[[OpenStore], None], postgresql: Server, schema: str
) -> None:
    """It is opened anew over its server, in a schema of its own."""
    check(lambda: PostgreSQLStore(postgresql.url, schema=schema))


@pytest.mark.parametrize(
    "check",
    gated(STORE_CHECKS, *STORE_CHECKS[:4]),
    ids=lambda check: check.__name__,
)
def test_the_store_of_the_docs(check: Callable[[OpenStore], None], tmp_path: Path) -> None:
    """The store that the page on stores shows in some seventy lines is one."""
    code = next(
        code
        for _, code in examples((ROOT / "docs" / "stores.md").read_text(encoding="utf-8"), "python")
        if "class FolderStore" in code
    )
    assert len(code.splitlines()) <= 68
    namespace: dict[str, Any] = {}
    exec(code, namespace)  # noqa: S102 - the point of this test
    check(lambda: namespace["FolderStore"](tmp_path / "sessions"))


class Broken(SQLiteStore):
    """Break the contract in one way."""

    way = ""

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return too much, too little, or what is somebody else's."""
        stored = super().load(session_id, after)
        match self.way:
            case "all events":
                return super().load(session_id)
            case "no companions":
                return evolve(stored, companions={})
            case _:
                return stored

    def append(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        **options: Any,
    ) -> None:
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

    def search(self, session_id: str, query: str, limit: int) -> tuple[Found, ...]:
        """Search, but for what was asked."""
        match self.way:
            case "worst first":
                return super().search(session_id, query, limit)[::-1]
            case "too many":
                return super().search(session_id, query, limit + 1)
            case "no phrases":
                return super().search(session_id, query.replace('"', ""), limit)
            case "words as they stand":
                return super().search(session_id, query, limit) if query.islower() else ()
            case _:
                return super().search(
                    "other" if self.way == "another's words" else session_id, query, limit
                )

    def delete(self, session_id: str) -> bool:
        """Delete, or say so."""
        return True if self.way == "no deleting" else super().delete(session_id)


WAYS: dict[str, Callable[[OpenStore], None]] = {
    "all events": events_come_back_as_they_were,
    "no companions": companions_are_as_they_were_last,
    "late": a_stale_writer_is_refused,
    "no keys": a_key_tells_where_its_command_led,
    "no snapshots": snapshots_change_nothing,
    "in two": several_events_are_one_commit,
    "lower case": sessions_stay_apart,
    "no second commit": a_session_is_what_it_was,
    "no deleting": a_new_store_is_empty,
    "worst first": a_search_finds_what_was_said,
    "too many": a_search_finds_what_was_said,
    "no phrases": a_search_finds_what_was_said,
    "words as they stand": a_search_finds_what_was_said,
    "another's words": a_search_finds_what_was_said,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_store_that_breaks_the_contract_is_found_out(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of each fault fails for it, so that passing all of them says something."""
    assert WAYS[way] in STORE_CHECKS
    monkeypatch.setattr(Broken, "way", way)
    with pytest.raises((AssertionError, PolycontextError)):
        WAYS[way](lambda: Broken(tmp_path / "sessions.db"))
