"""The tables of a PostgreSQL store, in a schema of their own: those of a SQLite store, whose page says what each is for.

There are no checksums here: a server has its own (``initdb --data-checksums``), and nobody else writes to its files. `commit` is drawn
anew for every commit, so that whoever lost the answer to one can find out whether it was done. `reserved_for` is the writer that may
commit next, for a moment: one that was too late again and again.
"""

from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import (
    BigInteger,
    Column,
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
    func,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.schema import CreateSchema

VERSION = "1"
"""The newest version, which the tables below are of. How they came to be is told in `versions`."""

_VERSIONS = Path(__file__).parent / "versions"
_VERSION_TABLE = "alembic_version"
_ALONE = 0x504C5943
"""The lock ("PLYC") of whoever makes tables."""

_MADE = text("SELECT count(*) FROM pg_namespace WHERE nspname = :schema")
_THERE = text("SELECT count(*) FROM pg_tables WHERE schemaname = :schema AND tablename = :name")


class Tables:
    """Hold the tables of one schema."""

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
        self.pieces = Table("pieces", every, self._session(), Column("revision", Integer, primary_key=True, autoincrement=False), _body())
        said = Index("words_said", "said", postgresql_using="gin")
        number = Column("number", Integer, primary_key=True, autoincrement=False)
        self.words = Table("words", every, self._session(), number, Column("said", TSVECTOR, nullable=False), said)
        self.heads = Table("heads", every, self._session(), Column("revision", Integer, nullable=False), _body())

    def _named(self, table: str, name: str, said: "Column[str] | Column[int]") -> Table:
        return Table(table, self.metadata, self._session(), Column(name, Text, primary_key=True), said)

    def _session(self) -> "Column[int]":
        """Return the column that says whose a row is: it goes with its session."""
        return Column("session", BigInteger, ForeignKey(self.sessions.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False)


def prepare(db: Connection, schema: str) -> str | None:
    """Bring the tables of `schema` up to the newest version in this transaction; return the version where it is one that is not known.

    Of many who come at once, one makes the tables, and the others wait for it.
    """
    if (version := _version(db, schema)) == VERSION:
        return None
    script = ScriptDirectory(_VERSIONS, version_locations=[_VERSIONS])
    db.execute(select(func.pg_advisory_xact_lock(_ALONE)))
    version = _version(db, schema)
    if version is not None and version not in {step.revision for step in script.walk_revisions()}:
        return version
    # Not by IF NOT EXISTS, which asks for the right to make schemas even where there is nothing to make.
    if not db.scalar(_MADE, {"schema": schema}):
        db.execute(CreateSchema(schema))
    db.execute(select(func.set_config("search_path", func.quote_ident(schema), True)))  # noqa: FBT003 - for this transaction alone
    context = MigrationContext.configure(db, opts={"version_table": _VERSION_TABLE, "version_table_schema": schema})
    with Operations.context(context):
        for step in reversed([*script.iterate_revisions("heads", version or "base")]):
            step.module.upgrade()
    context.stamp(script, "heads")
    return None


def _version(db: Connection, schema: str) -> str | None:
    """Return the version of the tables in `schema`, None where there are none."""
    # Asked of the catalogue's tables: `to_regclass` may answer out of a cache what was so before the lock.
    if not db.scalar(_THERE, {"schema": schema, "name": _VERSION_TABLE}):
        return None
    version: str | None = db.scalar(select(Column("version_num", Text)).select_from(Table(_VERSION_TABLE, MetaData(schema=schema))))
    return version


def _id() -> "Column[int]":
    return Column("id", BigInteger, Identity(), primary_key=True)


def _body() -> "Column[bytes]":
    return Column("body", LargeBinary, nullable=False)
