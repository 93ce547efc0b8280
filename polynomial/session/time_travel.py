"""Moments of a conversation: find one, and read, rewind to or fork it (docs/history.md)."""

import re
from datetime import datetime

from attrs import evolve

from polycontext.base import InvalidOptionError, advised, require
from polycontext.linearity import UnknownResourceError
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.rules import is_rule, revoked_ids

from ..journal.conversation import Conversation, replay
from ..journal.events import CompressEvent, Event, TurnEvent, goes_behind, lineages
from ..journal.log import Log
from ..journal.receipts import number_of, receipt_id
from ..machine.step import is_over_budget
from .commands import Add, Items, Oversize, Rewind, Together, Undo, build_attaches
from .writer import Session

Moment = int | datetime | str
"""A point of a conversation: a revision, a time, or the id of the last turn at that point."""

_NEWEST = 256
"""How many of the newest events are searched for a turn first: most rewinds are short."""


def conversation_at(session: Session, revision: int) -> Conversation:
    """Return the conversation as it was after its first `revision` events.

    O(events since the nearest conversation in memory).
    """
    writer = session._writer
    nearest = writer.nearest(revision)
    if nearest.revision == revision:
        return nearest
    events = writer.store.load(writer.session_id, nearest.revision).events[
        : revision - nearest.revision
    ]
    if goes_behind(events, nearest.revision):
        nearest, events = writer.empty, writer.store.load(writer.session_id).events[:revision]
    return evolve(replay(events, nearest), companions={})


def committed_at(session: Session, revision: int) -> Conversation:
    """Return the conversation at `revision`, after the compression committed with its last turn."""
    conversation = conversation_at(session, revision)
    while (
        event := next(iter(session._writer.events(conversation.revision)[:1]), None)
    ) is not None and _belongs(conversation.window, event):
        conversation = conversation_at(session, conversation.revision + 1)
    return conversation


def _belongs(window: ContextWindow, event: Event) -> bool:
    """Return whether a compression belongs to the turn before it.

    It made that turn fit, or dropped its bound parts.
    """
    if not isinstance(event, CompressEvent):
        return False
    last = window.peek(len(window))
    return is_over_budget(window) or (
        not event.edit.splices and last is not None and any(part.is_bound for part in last.parts)
    )


_DATE = re.compile(r"\d{4}-\d\d-\d\d")
"""How a time begins that is given as text."""


def revision_at(session: Session, moment: Moment) -> int:
    """Return the revision of `session` at a moment.

    Raises:
        InvalidOptionError: the session has no such moment.
        UnknownResourceError: no turn of the journal has the id.
    """
    revision = session.conversation.revision
    legal = (
        f"a revision from 0 to {revision}, a time with its zone such as 2026-11-23T10:00Z, or "
        "the id of a turn"
    )
    match moment:
        case bool():
            pass
        case int() if 0 <= moment <= revision:
            return moment
        case datetime() if moment.utcoffset() is not None:
            return next(
                (
                    before
                    for before, event in enumerate(session._writer.events())
                    if event.at > moment
                ),
                revision,
            )
        case str():
            try:
                return _came_with(session, moment)
            except UnknownResourceError:
                if not _DATE.match(moment):
                    raise
        case _:
            pass
    raise InvalidOptionError("moment", moment, legal)


def build_rewind(session: Session, to: Moment) -> Rewind:
    """Return the command that rewinds to a moment; a turn must be in the log."""
    revision = revision_at(session, to)
    if isinstance(to, str):
        session.conversation.log.place(to)
    return Rewind(committed_at(session, revision))


def build_undo(session: Session, key: str | None) -> Undo:
    """Return the command that takes a compression back, or makes it again if it is taken back.

    Without the id of a receipt, it is the last compression, that of any writer.
    """
    # The live machine follows with the write.
    session._writer.load_new()
    events = session._writer.events()
    undoable = lineages(events)[-1].undoable
    number = next(reversed([*undoable]), 0) if key is None else number_of(events, key)
    if not undoable:
        raise NothingToUndoError("receipt_id", key, "session.history.rewind(revision) to go back")
    require("id", key, number in undoable, ", ".join(map(receipt_id, [*undoable][-_LISTED:])))
    return Undo(conversation_at(session, undoable[number]), session.window)


class NothingToUndoError(InvalidOptionError):
    """No compression can be taken back."""

    def __str__(self) -> str:
        problem = "Nothing to undo: no compression stands after the last clear or rewind"
        return advised(problem, f"Use {self.legal}")


_LISTED = 9
"""How many ids an error lists."""


def build_edit(
    session: Session, resource_id: str, content: str, items: Items, oversize: Oversize
) -> Together:
    """Return the command that replaces a user turn with `items` and `content`."""
    require("resource_id", resource_id, isinstance(resource_id, str), "the id of a turn")
    log = session.conversation.log
    turn = log[log.place(resource_id)]
    if turn.role is not Role.USER:
        raise InvalidOptionError(
            "resource_id", resource_id, f"the id of a user turn; this one is of the {turn.role}"
        )
    before = conversation_at(session, _came_with(session, resource_id) - 1)
    return Together(
        (
            Rewind(before),
            *build_attaches(items),
            Add(
                Turn(Role.USER, content, name=turn.name, timestamp=session._now()),
                oversize=oversize,
            ),
        )
    )


def build_regenerate(session: Session) -> Together:
    """Return the command that rewinds to the last user turn that asks something."""
    log = session.conversation.log
    said = next(
        (turn for turn in reversed(log) if turn.role is Role.USER and not is_rule(turn)), None
    )
    if said is None:
        raise InvalidOptionError(
            "regenerate", session, "a session in which the user has said something"
        )
    place = log.place(said.resource_id) + 1
    if all(map(is_rule, log[place:])):
        return Together(())
    to = committed_at(session, _came_with(session, said.resource_id))
    return Together((Rewind(to), *changes_of_rules(log, place)))


def changes_of_rules(log: Log, place: int) -> tuple[Add, ...]:
    """Return the commands that add the rules again that callers added from index `place` on.

    Rules that stand before it are revoked again.
    """

    def holds(rule_id: str) -> bool:
        turn_id = rule_id.rpartition(":")[0]
        return log.knows(turn_id) and log.place(turn_id) < place

    return tuple(
        Add(evolve(turn, resource_id=""))
        for turn in log[place:]
        if is_rule(turn) and all(map(holds, revoked_ids(turn)))
    )


def _came_with(session: Session, resource_id: str) -> int:
    """Return the number of the event that added a turn.

    If several events used the id, it is the one that was not rewound.
    """
    for first in (max(0, session.conversation.revision - _NEWEST), 0):
        numbered = [*enumerate(session._writer.events(first), first + 1)]
        found = [
            number
            for number, event in reversed(numbered)
            if isinstance(event, TurnEvent) and event.turn.resource_id == resource_id
        ]
        stands = next((number for number in found if session.conversation.has_passed(number)), None)
        if stands is not None or (found and not first):
            return stands or found[0]
    raise UnknownResourceError(resource_id)
