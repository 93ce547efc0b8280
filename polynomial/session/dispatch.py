"""The machine of a session, and the events that are sent to a session by name."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import evolve

from polycontext.base import InvalidOptionError, require
from polycontext.base.effects import Steps, call, in_thread
from polycontext.pressure import ConflictError, Edit, Fulfilment
from polycontext.window import Turn

from ..errors import IllegalDirectionError
from ..inputs import KIND_OF_ROLE, ContextInput, ContextOutput, InputKind, Standing, kind_of
from ..machine.context_machine import ContextMachine
from ..machine.timers import due
from ..stores.session_store import Stored
from .commands import Compress, Take, WriteOptions
from .compression import is_due
from .writer import Session


def machine_of(session: Session) -> ContextMachine:
    """Return the machine of a session, created on first access."""
    writer = session._writer
    if writer.is_past:
        here = writer.conversation  # events change only this machine
        return here.machine(here.window, session.policy, here.place)
    with writer._publishing:
        return writer.live.own(session)


_FIRED = 64
"""How many timers one call fires."""


def fire_timers(session: Session, now: datetime) -> Steps[tuple[str, ...]]:
    """Write the events of timers that have run out; see `ContextSession.tick`."""
    fits = isinstance(now, datetime) and now.tzinfo is not None
    require("now", now, fits, "a time with its zone, such as datetime.now(UTC)")
    fired: list[str] = []
    seen = set[tuple[object, ...]]()
    while len(fired) < _FIRED:
        here, before = session.conversation, len(fired)
        for kind in due(here.machine.places, here.place, here.times, now):
            # A timer that leads to its own state fires once in a tick.
            if (stay := (here.place, here.times, kind)) in seen:
                continue
            seen.add(stay)
            request = evolve(
                session._request(Take(ContextInput.named(kind))),
                at=(yield from _time_of(session, now)),
                expected_revision=here.revision,
            )
            try:
                yield from session._writer.write(request)
            except (IllegalDirectionError, ConflictError):
                continue  # another guard holds it, or another writer was first
            fired.append(str(kind))
            break
        if len(fired) == before:
            break
    if is_due(session.conversation, session.policy, now):
        at = yield from _time_of(session, now)
        request = evolve(session._request(Compress(if_due=True)), at=at)
        output = yield from session._writer.write(request)
        fired += [str(InputKind.COMPRESS)] if output.compressed else []
    return tuple(fired)


def _time_of(session: Session, now: datetime) -> Steps[datetime]:
    """Return the later of `now` and the last event's time, so that times in a journal only grow."""
    writer, before = session._writer, max(0, session.conversation.revision - 1)
    stored: Stored = yield in_thread(writer.store.load, writer.session_id, before)
    return max([now, *(event.at for event in stored.events)])


_OF_HISTORY = (InputKind.REWIND, InputKind.UNDO, InputKind.FORGET, InputKind.REFILL)


def send_event(
    session: Any, event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[ContextOutput]:
    """Write the command of an event; see `ContextSession.send`.

    Raises:
        InvalidOptionError: `event` is not an event, or is an input without a method: send rewinds
            and erasures by name.
    """
    if isinstance(event, ContextInput):
        return _send_input(session, event, kwargs)
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if kind is InputKind.RESIZE or not isinstance(kind, InputKind):
        when = {name: kwargs[name] for name in WriteOptions.__annotations__ if name in kwargs}
        own = {name: value for name, value in kwargs.items() if name not in when}
        return _take(session, ContextInput.named(kind, *args, **own), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return _send(session, session, "add", *args, **kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return _send(session, session, "add_tool_turn", args[0], tool_call_id=args[1], **kwargs)
    subject = session.history if kind in _OF_HISTORY else session
    name = f"add_{kind}" if kind in KIND_OF_ROLE.values() else str(kind)
    return _send(session, subject, name, *args, **kwargs)


def _send_input(
    session: Any, given: ContextInput, kwargs: Mapping[str, Any]
) -> Steps[ContextOutput]:
    match given.payload:
        case Turn() | str():
            return _send(session, session, "add", given.turn, given.resource_class, **kwargs)
        case Fulfilment() as fulfilment:
            return _send(session, session.background, "commit", fulfilment, **kwargs)
        case Edit(splices=splices) if given.kind is InputKind.RECALL:
            ids = [turn.resource_id for splice in splices for turn in splice.turns]
            return _send(session, session, "recall", ids, **kwargs)
        case Standing():
            legal = f'"{given.kind}" by name, with what session.history.{given.kind} takes'
            raise InvalidOptionError("event", given.kind, legal)
        case float() | int() as target if given.kind is InputKind.COMPRESS:
            return _send(session, session, "compress", target, **kwargs)
        case _:  # clear, resize, promote, refill, or an event that a subclass of the machine adds
            return _take(session, given, kwargs)


def _send(
    session: Any, subject: object, verb: str, *args: Any, **kwargs: Any
) -> Steps[ContextOutput]:
    output = yield call(subject, verb, *args, **kwargs)
    return output if isinstance(output, ContextOutput) else session.output


def _take(session: Session, given: ContextInput, when: Mapping[str, Any]) -> Steps[ContextOutput]:
    return session._write(Take(given), **when)
