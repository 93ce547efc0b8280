"""The tables of a PostgreSQL store, in a schema of their own.

They correspond to those of a SQLite store, whose module describes them. They have no checksums: a
server has its own (``initdb --data-checksums``), and nothing else writes to its files. `commit` is
a new random number for every commit; a writer that lost the answer to its commit uses it to find
out whether the commit succeeded. `reserved_for` is the writer that alone may commit for a moment,
after it came too late several times.
"""

import re
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    BindParameter,
    CollectionAggregate,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    any_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.schema import CreateSchema
from sqlalchemy.sql.dml import ReturningInsert

from polycontext.window import Role

VERSION = "polycontext 2"
"""The version of the tables below, which is the comment of the first one."""

EVENT_COLUMNS = ("kind", "state", "at", "resource_id", "class", "pinned", "tokens")
"""The columns of an event apart from key and text, in the order of a `Row`."""

_WITHOUT_STATISTICS = (
    ("texts", "content"),
    ("texts", "more"),
    ("companions", "body"),
    ("snapshots", "piece"),
    ("snapshots", "head"),
    ("words", "term"),
    ("words", "postings"),
)
"""The columns that hold what was said; no query needs statistics of them."""

_ALONE = 0x504C5943
"""The id ("PLYC") of the advisory lock that is held while tables are created."""

_MADE = text("SELECT count(*) FROM pg_namespace WHERE nspname = :schema")
_FOUND = text(
    "SELECT obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = 'sessions'"
)


class Tables:
    """The tables of one schema."""

    def __init__(self, schema: str) -> None:
        every = self.metadata = MetaData(schema=schema)
        self.sessions = Table(
            "sessions",
            every,
            _id(),
            Column("name", Text, nullable=False, unique=True),
            Column("revision", Integer, nullable=False),
            Column("indexed", Integer, nullable=False, server_default="0"),
            Column("reserved_for", BigInteger),
            Column("reserved_until", DateTime(timezone=True)),
            comment=VERSION,
        )
        self.texts = Table("texts", every, _id(), Column("content", Text), Column("more", Text))
        self.events = Table(
            "events",
            every,
            self._session(),
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("kind", Text, nullable=False),
            Column("state", Text, nullable=False),
            Column("at", BigInteger, nullable=False),
            Column("resource_id", Text),
            Column("class", SmallInteger),
            Column("pinned", SmallInteger),
            Column("tokens", BigInteger),
            Column("text", BigInteger, ForeignKey(self.texts.c.id)),
            Column("commit", BigInteger, nullable=False),
            Index("events_text", "text"),
        )
        self.companions = self._named("companions", "name", Column("body", Text, nullable=False))
        self.commands = self._named("commands", "key", Column("revision", Integer, nullable=False))
        self.snapshots = Table(
            "snapshots",
            every,
            self._session(),
            Column("revision", Integer, primary_key=True, autoincrement=False),
            Column("piece", LargeBinary, nullable=False),
            Column("head", LargeBinary),
        )
        self.words = Table(
            "words",
            every,
            self._session(),
            Column("term", Text, primary_key=True),
            Column("block", Integer, primary_key=True, autoincrement=False),
            Column("postings", LargeBinary, nullable=False),
        )

    def _named(self, table: str, name: str, said: "Column[str] | Column[int]") -> Table:
        return Table(
            table, self.metadata, self._session(), Column(name, Text, primary_key=True), said
        )

    def _session(self) -> "Column[int]":
        """Return the column that refers to the session; deleting the session deletes the row."""
        return Column(
            "session",
            BigInteger,
            ForeignKey(self.sessions.c.id, ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        )


def prepare(db: Connection, tables: Tables) -> str | None:
    """Create the tables in this transaction unless they are there.

    If they have another version, return it and change nothing. Of several concurrent callers, one
    creates the tables and the others wait for it.
    """
    schema = str(tables.metadata.schema)
    asked = {"schema": schema}
    # This queries the catalogue's tables, since `to_regclass` may answer from a cache that is older
    # than the lock.
    version: str | None = db.scalar(_FOUND, asked)
    if version is None:
        db.execute(select(func.pg_advisory_xact_lock(_ALONE)))
        version = db.scalar(_FOUND, asked)
    if version is not None:
        return None if version == VERSION else version
    # IF NOT EXISTS would require the right to create schemas even if the schema exists.
    if not db.scalar(_MADE, asked):
        db.execute(CreateSchema(schema))
    tables.metadata.create_all(db, checkfirst=False)
    # The server's statistics would contain samples of texts, also of those that are erased.
    for table, column in _WITHOUT_STATISTICS:
        quoted = f'"{schema}".{table} ALTER COLUMN {column} SET STATISTICS 0'
        db.execute(text(f"ALTER TABLE {quoted}"))
    return None


def _id() -> "Column[int]":
    return Column("id", BigInteger, Identity(), primary_key=True)


# --- statements ------------------------------------------------------------------------

RESERVED = "250 milliseconds"
"""How long a session is reserved for a writer that came too late too often."""


class Statements:
    """The statements on the tables of one schema."""

    def __init__(self, tables: Tables) -> None:
        sessions, texts, events = tables.sessions, tables.texts, tables.events
        companions, commands = tables.companions, tables.commands
        snapshots = tables.snapshots
        asked: BindParameter[int] = bindparam("session")
        named, mine = sessions.c.name == bindparam("called"), events.c.session == asked
        its_snapshots = snapshots.c.session == asked
        self.session = select(sessions.c.id, sessions.c.revision).where(named)
        self.names = select(sessions.c.name)
        its_companions = companions.c.session == asked
        self.companions = select(companions.c.name, companions.c.body).where(its_companions)
        self.command = (
            select(commands.c.revision)
            .join(sessions, sessions.c.id == commands.c.session)
            .where(named, commands.c.key == bindparam("key"))
        )
        self.snapshots = (
            select(snapshots.c.revision, snapshots.c.piece, snapshots.c.head)
            .where(its_snapshots)
            .order_by(snapshots.c.revision)
        )
        self.newest = select(func.max(snapshots.c.revision)).where(its_snapshots)
        self.drop_snapshots = delete(snapshots).where(its_snapshots)
        # In an update, a parameter cannot have the name of a column.
        with_head = snapshots.c.session == bindparam("its_session"), snapshots.c.head.is_not(None)
        self.drop_head = update(snapshots).where(*with_head).values(head=None)
        self.add_snapshot = insert(snapshots)

        turn = events.c.kind.in_([role.value for role in Role])
        columns = [events.c[name] for name in ("number", *EVENT_COLUMNS)]
        rows = (
            select(*columns, texts.c.content, texts.c.more)
            .join_from(events, texts, isouter=True)
            .where(mine)
            .order_by(events.c.number)
        )
        self.events = rows.where(events.c.number > bindparam("after"))
        between = rows.where(events.c.number.between(bindparam("first"), bindparam("last")))
        self.turns = between.where(turn)
        self.steps = between.where(turn | (events.c.kind == "rewind"))
        self.turns_at = rows.where(turn, events.c.number == _any_of("numbers", Integer))
        # After a rewind, an id may be used by several events. In that case the turn itself is
        # stored.
        sought = select(events.c.resource_id, func.min(events.c.number)).where(
            mine, turn, events.c.resource_id == _any_of("ids", Text)
        )
        self.numbers = sought.group_by(events.c.resource_id).having(func.count() == 1)

        # Compare and swap: a second writer waits here for the first one, then finds another
        # revision.
        free = or_(
            sessions.c.reserved_for.is_(None),
            sessions.c.reserved_for == bindparam("writer"),
            sessions.c.reserved_until < func.clock_timestamp(),
        )
        self.move = (
            update(sessions)
            .where(named, sessions.c.revision == bindparam("base"), free)
            .values(revision=bindparam("to"), reserved_for=None)
            .returning(sessions.c.id)
        )
        # Losing a reservation in a crash does little harm, whereas waiting for the disk delays
        # everyone.
        self.in_passing = select(
            func.set_config("synchronous_commit", "off", true())
        )  # for this transaction alone
        until = func.clock_timestamp() + text(f"interval '{RESERVED}'")
        self.reserve = (
            update(sessions)
            .where(named, free)
            .values(reserved_for=bindparam("writer"), reserved_until=until)
        )
        self.begin = (
            upsert(sessions)
            .values(name=bindparam("called"), revision=bindparam("to"))
            .on_conflict_do_nothing()
            .returning(sessions.c.id)
        )
        at = events.c.number == bindparam("number")
        self.commit_at = (
            select(events.c.commit)
            .join(sessions, sessions.c.id == events.c.session)
            .where(named, at)
        )
        self.add_texts = insert(texts).returning(texts.c.id, sort_by_parameter_order=True)
        self.add_events = insert(events)
        self.add_turn = self._add_turn(tables)
        said = upsert(companions)
        self.add_companions = said.on_conflict_do_update(
            index_elements=["session", "name"], set_={"body": said.excluded.body}
        )
        self.add_command = insert(commands)

        # Texts that another session shares are kept.
        other = events.alias()
        shared = (
            select(other.c.session)
            .where(other.c.text == texts.c.id, other.c.session != asked)
            .exists()
        )
        self.own_texts = (
            select(texts.c.id).join(events, events.c.text == texts.c.id).where(mine, ~shared)
        )
        self.lock = self.session.with_for_update()
        self.drop_texts = delete(texts).where(texts.c.id == _any_of("ids", BigInteger))
        self.drop_session = delete(sessions).where(sessions.c.id == asked)

    def _add_turn(self, tables: Tables) -> ReturningInsert[int]:
        """Return the most common commit as one statement, for a single round trip.

        It moves a session and inserts one turn with its text.
        """
        moved, texts, events = self.move.cte("moved"), tables.texts, tables.events
        words = select(bindparam("content", type_=Text), bindparam("more", type_=Text)).select_from(
            moved
        )
        added = (
            insert(texts).from_select(["content", "more"], words).returning(texts.c.id).cte("added")
        )
        said: dict[str, ColumnElement[Any]] = {
            each.name: bindparam(f"new_{each.name}", type_=each.type) for each in events.c
        }
        said |= {"session": moved.c.id, "text": added.c.id}
        row = select(*said.values()).select_from(moved.join(added, true()))
        return insert(events).from_select([*said], row).returning(events.c.session)


def _any_of(name: str, kind: "type[Integer | BigInteger | Text]") -> CollectionAggregate[bool]:
    """Return a condition for any value of a list, passed as one parameter of any length."""
    return any_(bindparam(name, type_=ARRAY(kind)))


# --- texts -----------------------------------------------------------------------------
# PostgreSQL rejects NUL and surrogates. Each is stored as its code behind a mark (DLE, the "data
# link escape" of ASCII), and so is the mark itself, so every text is read back unchanged. Nearly
# all texts need no mark.

_MARK = "\x10"
_REFUSED = re.compile("[\0\x10\ud800-\udfff]")
_WRITTEN = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escape(text: str) -> str:
    r"""Return a text as it is stored.

    >>> escape("naïve"), escape("a\0b")
    ('naïve', 'a\x100000b')
    """
    return _REFUSED.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    r"""Return the text that was stored as `text`.

    Law: ``unescape(escape(text)) == text``.

    >>> unescape(escape("a\0b \x10 \ud800")) == "a\0b \x10 \ud800"
    True
    """
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text
