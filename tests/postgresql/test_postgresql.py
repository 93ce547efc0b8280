"""The store on a PostgreSQL server.

One schema serves many processes, errors are clear, and nothing is stored twice.
"""

import asyncio
import gc
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import Context, copy_context
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.process import BaseProcess
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.sql import SQL, Identifier

from polycontext.base import InvalidOptionError, errors
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreBusyError, StoreError
from polycontext.polynomial.journal.events import Event, TurnEvent, is_erased
from polycontext.polynomial.stores.locations import store_at
from polycontext.postgresql import PostgreSQLStore
from polycontext.postgresql import schema as tables
from polycontext.postgresql.schema import escape, unescape
from polycontext.pressure import ConflictError
from polycontext.testing.store_lives import HOSTILE, lived_events
from tests.polynomial.conversations import WORDS
from tests.postgresql.server import Server

pytestmark = pytest.mark.gate

forking = pytest.mark.skipif(
    "fork" not in get_all_start_methods(), reason="there are no forks here"
)
TABLES = ("sessions", "texts", "events", "companions", "commands", "snapshots")


@pytest.fixture
def store(postgresql: Server, schema: str) -> Iterator[PostgreSQLStore]:
    """Return a store in a schema of its own."""
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as store:
        yield store


@pytest.fixture
def asked(postgresql: Server, schema: str) -> Iterator[psycopg.Connection[Any]]:
    """Return a connection past every store."""
    with psycopg.connect(postgresql.url, autocommit=True, options=f"-c search_path={schema}") as db:
        yield db


def session_of(store: PostgreSQLStore) -> ContextSession:
    """Return a small session over a store."""
    return ContextSession(1000, counter=WORDS, store=store, session_id="s")


def forked(act: Callable[[Any], None], who: object) -> BaseProcess:
    """Start a process that is a copy of this one."""
    process = get_context("fork").Process(target=act, args=(who,))
    process.start()
    return process


def ended(process: BaseProcess) -> int | None:
    """Return how a process ended."""
    process.join(60)
    return process.exitcode


def rows(asked: psycopg.Connection[Any], table: str) -> list[Any]:
    """Return all rows of a table as texts."""
    return asked.execute(SQL("SELECT t::text FROM {} t").format(Identifier(table))).fetchall()


def all_told(error: BaseException) -> str:
    """Return what anybody gets to see of an error: its words, and those of all that hang on it."""
    return (
        "".join(traceback.format_exception(error))
        + repr(error)
        + repr(error.__context__)
        + repr(error.__cause__)
    )


# --- opening -------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_url_is_all_there_is_to_say(scheme: str, postgresql: Server) -> None:
    """Sessions are opened, listed and deleted by the URL of a server."""
    url = postgresql.url.replace("postgresql", scheme, 1)
    with ContextSession.open(url, scheme, max_tokens=1000, counter=WORDS) as session:
        session.add_user_turn("Where is my parcel?")
    assert scheme in ContextSession.history.list_sessions(url)
    with ContextSession.open(url, scheme, max_tokens=1000, counter=WORDS) as session:
        assert [turn.text for turn in session.log()] == ["Where is my parcel?"]
    assert ContextSession.history.delete(url, scheme)
    assert scheme not in ContextSession.history.list_sessions(url)


def test_no_error_shows_a_secret(postgresql: Server) -> None:
    """No error contains the password, user or options of the URL."""
    secret, other = postgresql.password, "geheim%21wort"
    host = f"127.0.0.1:{postgresql.port}"
    urls = [
        f"postgresql://tester:{other}@{host}/postgres",
        f"postgresql://nosuchuser:{other}@{host}/postgres",
        f"postgresql://tester:{secret}@{host}/nosuchdatabase",
        f"postgresql://tester:{secret}@{host}/postgres?{other}=1",
        f"postgresql://tester:{secret}@{host}/postgres?sslmode={other}",
        f"postgresql://tester:{secret}@127.0.0.1:12x/postgres",
        f"postgresql://tester:{other}?x{secret}/@{host}/postgres",
        f"postgresql://tester:{secret}@127.0.0.1:1/postgres",
        f"postgresql://tester:{secret}@{host}/postgres?options=-c%20{other}%3D1",
    ]
    for url in urls:
        with pytest.raises((StoreError, InvalidOptionError)) as refused:
            store_at(url, timeout=0.1)
        told = all_told(refused.value)
        assert str(refused.value).endswith(".")
        for word in (secret, other, "geheim!wort", "tester", "nosuchuser"):
            assert word not in told, url
    assert (
        repr(PostgreSQLStore(postgresql.url))
        == f"PostgreSQLStore('postgresql://***@{host}/postgres')"
    )


def test_who_lacks_the_driver_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, and no part of the URL."""
    for name in [name for name in sys.modules if name.startswith("polycontext.postgresql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    with pytest.raises(
        errors.MissingExtraError,
        match=r"a PostgreSQL store needs sqlalchemy. Run pip install .\.\[postgresql\].",
    ):
        store_at("postgresql://me:secret@host/db")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"timeout": -1}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"schema": "pg_mine"}, "schema"),
        ({"schema": "a b"}, "schema"),
        ({"schema": ""}, "schema"),
        ({"pool": 0}, "pool"),
        ({"pool": True}, "pool"),
    ],
)
def test_options_out_of_their_range_are_refused(options: dict[str, Any], name: str) -> None:
    """Before anybody is asked for a connection."""
    with pytest.raises(InvalidOptionError, match=f"^{name} = "):
        PostgreSQLStore("postgresql://nobody@nowhere.invalid/db", **options)


@forking
def test_processes_that_come_at_once_make_the_tables_once(postgresql: Server, schema: str) -> None:
    """Four processes that create one schema at once store every turn once and in order."""

    def write(writer: int) -> None:
        with closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=60)) as store:
            session = session_of(store)
            for number in range(10):
                session.add_user_turn(f"{writer}/{number}", idempotency_key=f"{writer}/{number}")

    writers = [forked(write, writer) for writer in range(4)]
    assert [ended(writer) for writer in writers] == [0] * 4
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as store:
        said = [turn.text or "" for turn in session_of(store).log()]
    for writer in range(4):
        assert [text for text in said if text.startswith(f"{writer}/")] == [
            f"{writer}/{number}" for number in range(10)
        ]
    assert len(said) == 40


def test_another_version_is_refused(
    postgresql: Server, schema: str, store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """It is told, and nothing is changed."""
    store.append("s", 0, [], {"notes": "1"})
    store.close()
    asked.execute("COMMENT ON TABLE sessions IS 'polycontext 99'")
    with pytest.raises(
        StoreError,
        match=rf"in the schema '{schema}' are those of polycontext 99. Use another schema",
    ):
        PostgreSQLStore(postgresql.url, schema=schema)
    asked.execute("COMMENT ON TABLE sessions IS 'polycontext 2'")
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as again:
        assert again.load("s").companions == {"notes": "1"}


def test_a_schema_of_somebody_else_is_left_alone(
    postgresql: Server, schema: str, asked: psycopg.Connection[Any]
) -> None:
    """Where a table of that name is, nothing is made beside it."""
    asked.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.events (mine INTEGER)".encode())
    with pytest.raises(
        StoreError,
        match=r"the tables in its schema are not those of a store .*. Use another schema",
    ):
        PostgreSQLStore(postgresql.url, schema=schema)
    tables = asked.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)
    ).fetchall()
    assert tables == [("events",)]


def test_a_user_without_rights_is_told_so(
    postgresql: Server, schema: str, asked: psycopg.Connection[Any]
) -> None:
    """A user without the right to create a schema gets an error, and may use an existing one."""
    asked.execute(f"CREATE ROLE {schema} LOGIN PASSWORD 'word'".encode())
    url = postgresql.url.replace(f"tester:{postgresql.password}", f"{schema}:word")
    with pytest.raises(
        StoreError, match=r"the user may not do this .*. Use a user who may create schemas"
    ):
        PostgreSQLStore(url, schema=f"{schema}x")
    asked.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {schema}".encode())
    with closing(PostgreSQLStore(url, schema=schema)) as store:
        store.append("s", 0, lived_events()[:1], {})


# --- words ---------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=20))
def test_every_text_comes_back(text: str) -> None:
    """Every text survives escaping, including NUL, lone surrogates and the escape mark."""
    assert unescape(escape(text)) == text
    assert "\0" not in escape(text)
    escape(text).encode()


def test_names_may_hold_anything(store: PostgreSQLStore) -> None:
    """Session ids, keys and companion names may hold any text that an index can store."""
    names = [text for text in (*HOSTILE, "\ud800", "\x100000", "\x10", "\0") if len(text) < 2000]
    events = lived_events()
    for number, name in enumerate(names):
        store.append(name, 0, events[: number % 3], {name: f'"{number}"'}, key=name)
    assert store.list_sessions() == tuple(sorted(names))
    for number, name in enumerate(names):
        assert store.load(name).companions == {name: f'"{number}"'}
        assert store.committed(name, name) == number % 3
    refused: tuple[tuple[str, dict[str, str], str | None], ...] = (
        ("x" * 2001, {}, None),
        ("s", {"ä" * 1001: "1"}, None),
        ("s", {}, "k" * 2001),
    )
    for name, companions, key in refused:
        with pytest.raises(InvalidOptionError, match="Use at most 2,000 bytes"):
            store.append(name, 0, [], companions, key=key)
    assert store.load("s").companions == {}


def test_what_is_deleted_is_in_no_row(
    store: PostgreSQLStore, schema: str, asked: psycopg.Connection[Any]
) -> None:
    """Deleting a session deletes its words, companions, keys and snapshots, but no shared words."""
    session = session_of(store)
    for number in range(300):
        session.add_user_turn(f"Quittengelee {number}", idempotency_key=f"{number}")
    store.append("other", 0, lived_events()[:2], {})
    assert all(rows(asked, table) for table in TABLES if table != "companions")
    asked.execute("""
        INSERT INTO events
        SELECT (SELECT id FROM sessions WHERE name = 'other'), 3, kind, state, at,
                    resource_id, class, pinned, tokens, text, commit
        FROM events WHERE number = 7
    """)
    asked.execute("UPDATE sessions SET revision = 3 WHERE name = 'other'")
    assert store.delete("s") is True
    assert store.delete("s") is False
    left = {table: rows(asked, table) for table in TABLES}
    assert {table: len(found) for table, found in left.items()} == {
        **dict.fromkeys(TABLES, 0),
        "sessions": 1,
        "texts": 3,
        "events": 3,
    }
    assert str(left).count("Quittengelee") == 1
    assert [
        event.turn.text for event in store.load("other", 2).events if isinstance(event, TurnEvent)
    ] == ["Quittengelee 6"]


# --- many writers --------------------------------------------------------------------


def test_who_was_too_late_again_and_again_goes_next(
    postgresql: Server, schema: str, store: PostgreSQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait for the writer that was too late twice, until it has written."""
    monkeypatch.setattr(tables, "RESERVED", "1 hour")
    events = lived_events()[:4]
    quick, slow = copy_context(), copy_context()
    with closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=60, pool=2)) as patient:
        _make_late(patient, quick, slow, events)
        with (
            closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=0.05)) as hasty,
            pytest.raises(StoreBusyError, match=r"others? writers were let first"),
        ):
            quick.run(hasty.append, "s", 2, [events[2]], {})
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(quick.run, patient.append, "s", 2, [events[2]], {})
            slow.run(patient.append, "s", 2, [events[3]], {})
            with pytest.raises(ConflictError):
                waiting.result(60)
    assert list(store.load("s").events) == [events[0], events[1], events[3]]


def test_who_was_too_late_and_stays_away_is_not_waited_for_for_ever(
    postgresql: Server, schema: str, store: PostgreSQLStore
) -> None:
    """The place is reserved for a moment only; then the others go on."""
    events = lived_events()[:3]
    quick = copy_context()
    with closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=60)) as patient:
        _make_late(patient, quick, copy_context(), events)
        quick.run(patient.append, "s", 2, [events[2]], {})
    assert list(store.load("s").events) == list(events)


def _make_late(
    store: PostgreSQLStore, quick: Context, slow: Context, events: Sequence[Event]
) -> None:
    """Let the writer `slow` come too late twice in a row."""
    for base in (0, 1):
        quick.run(store.append, "s", base, [events[base]], {})
        with pytest.raises(ConflictError):
            slow.run(store.append, "s", base, [events[0]], {})


def test_a_session_that_is_held_is_not_waited_for_for_ever(
    postgresql: Server, schema: str, store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """A store with a timeout gives up on a session that another writer holds."""
    store.append("s", 0, [], {})
    events = lived_events()[:1]
    with (
        closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=0.2)) as held,
        asked.transaction(),
    ):
        asked.execute("SELECT 1 FROM sessions FOR UPDATE")
        with pytest.raises(
            StoreBusyError,
            match=(
                r"another writer held the session for too long .*. "
                r"Try again, or raise the timeout"
            ),
        ):
            held.append("s", 0, events, {})
    store.append("s", 0, events, {})


def test_the_event_loop_goes_on_while_a_session_is_held(
    postgresql: Server, schema: str, store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """An append that waits for another writer waits in a thread and does not block the loop."""
    store.append("s", 0, [], {})

    async def wait() -> None:
        with asked.transaction():
            asked.execute("SELECT 1 FROM sessions FOR UPDATE")
            waiting = asyncio.create_task(patient.aappend("s", 0, lived_events()[:1], {}))
            for _ in range(20):
                await asyncio.sleep(0.01)
            assert not waiting.done()
        await waiting

    with closing(PostgreSQLStore(postgresql.url, schema=schema, timeout=60)) as patient:
        asyncio.run(wait())
    assert len(store.load("s").events) == 1


def test_connections_are_shared_and_let_go(
    postgresql: Server, schema: str, asked: psycopg.Connection[Any]
) -> None:
    """Stores of one URL share their connections, and the last one to close, closes them."""

    def connections() -> int:
        found = asked.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (schema,)
        ).fetchone()
        assert found is not None
        return int(found[0])

    url = f"{postgresql.url}?application_name={schema}"
    many = [PostgreSQLStore(url, schema=schema, pool=2) for _ in range(20)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda store: [store.list_sessions() for _ in range(5)], many))
    assert 1 <= connections() <= 2
    last = many.pop()
    while many:
        many.pop().close()
    assert last.list_sessions() == ()
    del last
    gc.collect()
    for _ in range(200):
        if connections() == 0:
            break
        asked.execute("SELECT pg_sleep(0.01)")
    assert connections() == 0


def test_a_pool_that_is_in_use_is_waited_for(postgresql: Server, schema: str) -> None:
    """If no connection becomes free in time, the store raises an error."""
    with closing(PostgreSQLStore(postgresql.url, schema=schema, pool=1, timeout=0.2)) as store:

        def inside(db: object) -> None:
            with pytest.raises(
                StoreBusyError,
                match=(
                    r"its 1 connections are in use, for more than the 0\.2 seconds that were "
                    r"waited. Raise `pool`"
                ),
            ):
                store.list_sessions()

        store._shared.read(inside)
        assert store.list_sessions() == ()


def test_a_closed_store_says_so(postgresql: Server, schema: str, store: PostgreSQLStore) -> None:
    """However often it was closed; another of the same URL goes on."""
    other = PostgreSQLStore(postgresql.url, schema=schema)
    store.close()
    store.close()
    for act in (
        lambda: store.load("s"),
        lambda: store.append("s", 0, [], {}),
        lambda: asyncio.run(store.aload("s")),
    ):
        with pytest.raises(StoreError, match=r"it was closed. Open it again"):
            act()
    assert other.list_sessions() == ()
    other.close()


@forking
def test_a_forked_process_has_connections_of_its_own(store: PostgreSQLStore) -> None:
    """A forked process uses connections of its own, and parent and child lose nothing."""
    session = session_of(store)
    session.add_user_turn("before")

    def write(who: str) -> None:
        for number in range(10):
            session.add_user_turn(f"{who} {number}")

    def write_and_close(who: str) -> None:
        write(who)
        store.close()

    child = forked(write_and_close, "child")
    write("parent")
    assert ended(child) == 0
    session.add_user_turn("after")
    assert len({turn.text for turn in session.log()}) == len(session.log()) == 22


# --- what is damaged -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("DELETE FROM {}.events WHERE number > 30",
         "the tables are damaged: 30 events are there of [0-9]+"),
        ("UPDATE {}.events SET state = '' WHERE number = 2",
         "the tables are damaged: event 2: state: '' is not a state"),
        ("UPDATE {}.texts SET more = '[' WHERE more IS NOT NULL",
         "the tables are damaged: event [0-9]+: more: not JSON"),
        ("DROP TABLE {}.companions", "the tables in its schema are not those of a store"),
    ],
)  # fmt: skip
def test_what_is_not_what_was_written_is_refused(
    harm: str, told: str, schema: str, store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """With a word on what to do, and not as a shorter or another conversation."""
    store.append("s", 0, lived_events(), {})
    asked.execute(harm.format(schema).encode())
    with pytest.raises(StoreError, match=rf"{told}.*\. (Restore a backup|Use another schema)"):
        store.load("s")


def test_forgotten_words_are_in_no_row_and_after_a_vacuum_in_no_file(
    postgresql: Server, store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """Of the session and its fork: turns, gists, what was indexed; the rest is found as before."""
    session = session_of(store)
    for number in range(120):
        session.add_user_turn(
            f"turn {number} is about /srv/file{number % 7}.py, as ever"
            + (" and xyzzy4711" if number == 30 else "")
        )
    fork = session.history.fork("fork")
    assert [found.resource_id for found in fork.history.search("xyzzy4711")] == ["t31"]
    assert session.history.search("xyzzy4711")
    asked.execute("ANALYZE")  # as an autovacuum may
    assert session.history.forget("t31")
    tables = [
        name
        for (name,) in asked.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
    ]
    for table in tables:
        rows = asked.execute(
            f"SELECT t::text FROM {table} t".encode()  # noqa: S608 - a name of ours
        ).fetchall()
        assert not any("xyzzy" in str(row) for row in rows), table
    assert not fork.history.search("xyzzy4711")
    asked.execute("VACUUM FULL")
    asked.execute("CHECKPOINT")
    files = [path for path in (postgresql.folder / "data" / "base").rglob("*") if path.is_file()]
    assert any(b"file6" in path.read_bytes() for path in files), (
        "the files of the tables are looked at"
    )
    assert not any(b"xyzzy" in path.read_bytes() for path in files)


def test_only_the_named_turn_and_its_copies_are_forgotten(
    store: PostgreSQLStore, asked: psycopg.Connection[Any]
) -> None:
    """Turns that were added at once may have no words; a system turn is added again by `clear`."""
    session = session_of(store)
    session.add_system("The key is xyzzy4711.")
    session.add_user_turn("Look for both.")
    session.extend([message for name in ("plums", "pears") for message in _looked_for(name)])
    fork = session.history.fork("fork")
    fork.clear(keep_system=True)
    for chosen in ("t3", "t1"):
        assert session.history.forget(chosen)
    for log in (session.log(), fork.history.refresh().log()):
        erased = [turn.resource_id for turn in log if is_erased(turn)]
        assert erased in (["t1", "t3"], ["t1", "t3", "t7"])
        assert log[4].tool_calls[0].arguments == '{"for": "pears"}'
    for table in TABLES:
        assert not any("xyzzy" in str(row) or "plums" in str(row) for row in rows(asked, table))


def _looked_for(name: str) -> list[dict[str, object]]:
    """Return a call without words, and its result."""
    call = {"name": "search", "arguments": f'{{"for": "{name}"}}'}
    return [
        {
            "role": "assistant",
            "tool_calls": [{"id": name[2:], "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": name[2:], "content": "none"},
    ]
