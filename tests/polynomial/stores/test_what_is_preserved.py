"""PRESERVED turns stay byte-identical in both stores and on all ways between them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.postgresql import PostgreSQLStore
from polycontext.window import Part, Turn
from polycontext.window.providers import get_format
from tests.polynomial.conversations import WORDS, text_of, words
from tests.postgresql.server import Server

SAID = [
    "Never buy wine.\r\n\tNot even \x00 once.",
    (
        "e\u0301 is not \u00e9, and \u202eright to left\u202c, \U0001f469\u200d\U0001f33e, \ufeff, "
        "\x7f\x85"
    ),
    '{"keep": [1e400, 0.1, "\\ud800"]} \\ \\\\ \' " \' <|endoftext|>',
    "  spaces at both ends  \n\n",
    "日本語の指示：必ず守ってください。" * 40,
]
PINNED = Part(
    "anthropic",
    '{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}',
)
OPTIONS: dict[str, Any] = {"max_tokens": 12_000, "counter": WORDS}


def lived(store: SessionStore) -> ContextSession:
    """Return a session that has kept what was pinned through some compressions."""
    session = ContextSession(store=store, session_id="s", **OPTIONS)
    session.add_user_turn("Keep the cellar.")
    for number, text in enumerate(SAID):
        session.add(Turn("user", text, parts=() if number else (PINNED,)), ResourceClass.PRESERVED)
        session.add_assistant_turn(words(900))
    for number in range(12):
        session.add_user_turn(words(500, f"u{number}x"))
        session.add_assistant_turn(words(500, f"a{number}x"))
    session.promote(session.log()[-1].resource_id, ResourceClass.PRESERVED)
    return session


def preserved(session: ContextSession) -> dict[str, bytes]:
    """Return the bytes of each turn that is PRESERVED, as the view has it and as it goes out."""
    kept = [
        turn
        for turn in session.window.all_turns()
        if session.window.class_of(turn) is ResourceClass.PRESERVED
    ]
    return {
        turn.resource_id: (
            f"{turn!r} {get_format('anthropic').render([turn], readable=True)!r}"
        ).encode()
        for turn in kept
    }


@pytest.fixture(params=["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.gate)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], SessionStore]]:
    """Yield what opens the store, again and again, and closes all of them."""
    with ExitStack() as stack:
        if request.param == "SQLite":
            yield lambda: stack.enter_context(closing(SQLiteStore(tmp_path / "s.db")))
        else:
            server: Server = request.getfixturevalue("postgresql")
            schema: str = request.getfixturevalue("schema")
            yield lambda: stack.enter_context(closing(PostgreSQLStore(server.url, schema=schema)))


def journeys(
    session: ContextSession, stores: Callable[[], SessionStore], folder: Path
) -> Iterator[tuple[str, ContextSession]]:
    """Yield where the session goes, by name."""
    yield "restart", ContextSession(store=stores(), session_id="s", **OPTIONS)
    fork = session.history.fork("a fork")
    yield "fork", fork
    fork.compress(0.1)
    yield "compression", fork
    fork.history.forget(fork.log()[8].resource_id)
    yield "forgetting another turn", fork
    fork.history.retain(max_bytes=0)
    yield "retention", fork
    yield "a fork after a restart", ContextSession(store=stores(), session_id="a fork", **OPTIONS)
    revision = session.history.revision
    session.clear()
    session.history.rewind(revision)
    yield "rewind", session
    yield "JSON", ContextSession.history.load(text_of(session), counter=WORDS)
    lines = [*session.history.export()]
    there = ContextSession.history.load(lines, folder / "other.db", "elsewhere", **OPTIONS)
    yield "export to another store", there
    yield (
        "and back",
        ContextSession.history.load(there.history.export(), stores(), "back", **OPTIONS),
    )
    there.close()


def test_what_is_preserved_is_the_same_wherever_it_has_been(
    stores: Callable[[], SessionStore], tmp_path: Path
) -> None:
    """Odd characters, pictures and what was raised later: none is lost, none is changed."""
    session = lived(stores())
    before = preserved(session)
    assert len(before) == len(SAID) + 2
    for name, there in journeys(session, stores, tmp_path):
        assert preserved(there) == before, name
