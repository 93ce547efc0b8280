"""Lost answers, lost connections and aborted transactions: each commit happens once or raises."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from polycontext.postgresql import PostgreSQLStore
from polycontext.pressure import ConflictError
from polycontext.testing.store_lives import lived_events
from tests.lossy_proxy import Cutting, cutting
from tests.polynomial.conversations import WORDS
from tests.postgresql.server import Server

pytestmark = pytest.mark.gate


@pytest.fixture
def way(postgresql: Server) -> Iterator[Cutting]:
    """Return a way to the server that can be cut."""
    with cutting(postgresql.port) as way:
        yield way


@pytest.fixture
def far(postgresql: Server, schema: str, way: Cutting) -> Iterator[PostgreSQLStore]:
    """Return a store at the end of that way."""
    with closing(
        PostgreSQLStore(
            postgresql.url.replace(f":{postgresql.port}/", f":{way.port}/"),
            schema=schema,
            timeout=1,
        )
    ) as store:
        yield store


@pytest.fixture
def near(postgresql: Server, schema: str) -> Iterator[PostgreSQLStore]:
    """Return a store of the same schema that nothing is cut off from."""
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as store:
        yield store


def session_of(store: PostgreSQLStore) -> ContextSession:
    """Return a small session over a store."""
    return ContextSession(1000, counter=WORDS, store=store, session_id="s")


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_done_once(
    cut: str, way: Cutting, far: PostgreSQLStore, near: PostgreSQLStore
) -> None:
    """A commit whose answer is lost happens once, with or without a key."""
    session = session_of(far)
    for number in range(4):
        way.cut = cut
        session.add_user_turn(f"{number}", idempotency_key=f"{number}" if number % 2 else None)
        assert way.cut is None, "nothing was cut"
    assert [turn.text for turn in session_of(near).log()] == ["0", "1", "2", "3"]
    assert [near.committed("s", f"{number}") for number in range(4)] == [None, 2, None, 4]


def test_others_that_went_on_meanwhile_change_nothing(
    way: Cutting, far: PostgreSQLStore, near: PostgreSQLStore
) -> None:
    """A stored commit is recognised by its number, even if another writer has followed."""
    first, second = lived_events()[:2]
    way.cut, way.meanwhile = "after", lambda: near.append("s", 1, [second], {})
    far.append("s", 0, [first], {})
    assert list(near.load("s").events) == [first, second]


def test_another_that_was_first_is_not_taken_for_oneself(
    way: Cutting, far: PostgreSQLStore, near: PostgreSQLStore
) -> None:
    """Not even where it has said the very same."""
    first = lived_events()[0]
    near.append("s", 0, [], {})
    way.cut, way.meanwhile = "before", lambda: near.append("s", 0, [first], {})
    with pytest.raises(ConflictError) as refused:
        far.append("s", 0, [first], {})
    assert (refused.value.expected, refused.value.found) == (0, 1)
    assert list(near.load("s").events) == [first]


@pytest.mark.parametrize("cut", ["before", "after"])
def test_where_nobody_can_be_asked_it_is_told_and_a_key_tells(
    cut: str, way: Cutting, far: PostgreSQLStore, near: PostgreSQLStore
) -> None:
    """The error says that it is not known, and what to do; done so, it is done once."""
    session = session_of(far)
    way.cut, way.gone_then = cut, True
    with pytest.raises(
        StoreError,
        match=(
            r"it is not known whether this was stored .*. Try again "
            r"with the same idempotency_key"
        ),
    ):
        session.add_user_turn("Book it.", idempotency_key="booking")
    assert session.history.revision == 0
    again = session_of(near)
    assert [turn.text for turn in again.log()] == (["Book it."] if cut == "after" else [])
    again.add_user_turn("Book it.", idempotency_key="booking")
    assert [turn.text for turn in again.log()] == ["Book it."]
    with pytest.raises(
        StoreError,
        match=(
            r"the connection was lost, or there was none .*. Check "
            r"that the server can be reached"
        ),
    ):
        far.load("s")


@pytest.mark.parametrize("cut", ["before", "after"])
def test_what_was_deleted_was_there(
    cut: str, way: Cutting, far: PostgreSQLStore, near: PostgreSQLStore
) -> None:
    """Deleting a session returns True once, even if the answer comes from a second try."""
    near.append("s", 0, lived_events()[:1], {})
    way.cut = cut
    assert far.delete("s") is True
    assert far.delete("s") is False
    assert near.list_sessions() == ()


def test_connections_that_are_gone_are_made_anew(
    postgresql: Server, schema: str, near: PostgreSQLStore
) -> None:
    """A server that ended them, as one that was started again does, costs no word."""
    events = lived_events()[:3]
    for number, event in enumerate(events):
        near.append("s", number, [event], {})
        with psycopg.connect(postgresql.url, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
                "= 'polycontext'"
            )
        assert list(near.load("s").events) == list(events[: number + 1])
        with psycopg.connect(postgresql.url, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
                "= 'polycontext'"
            )


def test_what_the_server_gives_up_is_tried_again(postgresql: Server, schema: str) -> None:
    """A transaction that a serializable server aborts is retried, so writers lose nothing."""
    url = f"{postgresql.url}?options=-c%20default_transaction_isolation%3Dserializable"

    def write(writer: int) -> None:
        session = session_of(store)
        for number in range(8):
            session.add_user_turn(f"{writer}/{number}")

    with closing(PostgreSQLStore(url, schema=schema)) as store:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        assert sorted(turn.text or "" for turn in session_of(store).log()) == sorted(
            f"{w}/{n}" for w in range(4) for n in range(8)
        )
