"""What a store asks of a PostgreSQL server, as statements of SQLAlchemy Core: made once a schema, so that they are compiled once."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CollectionAggregate,
    ColumnElement,
    Integer,
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
from sqlalchemy.sql.dml import ReturningInsert

from polycontext.window import Role

from .schema import Tables

RESERVED = "250 milliseconds"
"""How long a session waits for a writer that was too late too often."""


class Statements:
    """Hold the statements on the tables of one schema."""

    def __init__(self, tables: Tables) -> None:
        sessions, texts, events = tables.sessions, tables.texts, tables.events
        companions, commands, pieces, heads = tables.companions, tables.commands, tables.pieces, tables.heads

        named, mine = sessions.c.name == bindparam("called"), events.c.session == bindparam("session")
        self.session = select(sessions.c.id, sessions.c.revision).where(named)
        self.names = select(sessions.c.name)
        self.companions = select(companions.c.name, companions.c.body).where(companions.c.session == bindparam("session"))
        self.command = (
            select(commands.c.revision).join(sessions, sessions.c.id == commands.c.session).where(named, commands.c.key == bindparam("key"))
        )
        self.pieces = select(pieces.c.revision, pieces.c.body).where(pieces.c.session == bindparam("session")).order_by(pieces.c.revision)
        self.head = select(heads.c.revision, heads.c.body).where(heads.c.session == bindparam("session"))
        self.snapshot = select(heads.c.revision).where(heads.c.session == bindparam("session"))

        turn = events.c.kind.in_([role.value for role in Role])
        columns = [events.c[name] for name in ("number", "kind", "state", "at", "resource_id", "class", "pinned", "tokens")]
        rows = select(*columns, texts.c.content, texts.c.more).join_from(events, texts, isouter=True).where(mine).order_by(events.c.number)
        self.events = rows.where(events.c.number > bindparam("after"))
        self.turns = rows.where(turn, events.c.number.between(bindparam("first"), bindparam("last")))
        self.turns_at = rows.where(turn, events.c.number == _any_of("numbers", Integer))
        # An id may have come in again since the conversation went back: which of the turns is meant the turn itself says.
        sought = select(events.c.resource_id, func.min(events.c.number)).where(mine, turn, events.c.resource_id == _any_of("ids", Text))
        self.numbers = sought.group_by(events.c.resource_id).having(func.count() == 1)

        # Compare and swap: who comes second waits here for the first one, and finds another revision then.
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
        # Nobody's words: losing it in a crash costs a moment, waiting for the disk costs all.
        self.in_passing = select(func.set_config("synchronous_commit", "off", True))  # noqa: FBT003 - for this transaction alone
        until = func.clock_timestamp() + text(f"interval '{RESERVED}'")
        self.reserve = update(sessions).where(named, free).values(reserved_for=bindparam("writer"), reserved_until=until)
        self.begin = (
            upsert(sessions).values(name=bindparam("called"), revision=bindparam("to")).on_conflict_do_nothing().returning(sessions.c.id)
        )
        at = events.c.number == bindparam("number")
        self.commit_at = select(events.c.commit).join(sessions, sessions.c.id == events.c.session).where(named, at)
        self.add_texts = insert(texts).returning(texts.c.id, sort_by_parameter_order=True)
        self.add_events = insert(events)
        self.add_turn = self._add_turn(tables)
        said = upsert(companions)
        self.add_companions = said.on_conflict_do_update(index_elements=["session", "name"], set_={"body": said.excluded.body})
        self.add_command = insert(commands)

        self.newest_piece = select(func.max(pieces.c.revision)).where(pieces.c.session == bindparam("session"))
        self.drop_pieces = delete(pieces).where(pieces.c.session == bindparam("session"))
        self.add_piece = insert(pieces)
        put = upsert(heads)
        self.put_head = put.on_conflict_do_update(
            index_elements=["session"], set_={"revision": put.excluded.revision, "body": put.excluded.body}
        )

        # Words that another session shares stay.
        other = events.alias()
        shared = select(other.c.session).where(other.c.text == texts.c.id, other.c.session != bindparam("session")).exists()
        self.own_texts = select(texts.c.id).join(events, events.c.text == texts.c.id).where(mine, ~shared)
        self.lock = self.session.with_for_update()
        self.drop_texts = delete(texts).where(texts.c.id == _any_of("ids", BigInteger))
        self.drop_session = delete(sessions).where(sessions.c.id == bindparam("session"))

    def _add_turn(self, tables: Tables) -> ReturningInsert[int]:
        """Return what most commits are, in one statement and one way to the server: a session is moved, and one turn with its words goes in."""
        moved, texts, events = self.move.cte("moved"), tables.texts, tables.events
        words = select(bindparam("content", type_=Text), bindparam("more", type_=Text)).select_from(moved)
        added = insert(texts).from_select(["content", "more"], words).returning(texts.c.id).cte("added")
        said: dict[str, ColumnElement[Any]] = {each.name: bindparam(f"new_{each.name}", type_=each.type) for each in events.c}
        said |= {"session": moved.c.id, "text": added.c.id}
        row = select(*said.values()).select_from(moved.join(added, true()))
        return insert(events).from_select([*said], row).returning(events.c.session)


def _any_of(name: str, kind: "type[Integer | BigInteger | Text]") -> CollectionAggregate[bool]:
    """Return what stands for any value of a list, however long it is, in one parameter."""
    return any_(bindparam(name, type_=ARRAY(kind)))
