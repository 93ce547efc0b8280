"""Send an event by its name, or an input: find the verb of the session that builds the same command."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from polycontext.linearity import InvalidOptionError
from polycontext.linearity.effects import Steps, call
from polycontext.pressure import Edit, Fulfilment
from polycontext.window import Turn

from ..inputs import KIND_OF_ROLE, ContextInput, ContextOutput, InputKind, Standing, kind_of
from .commands import Take
from .verbs import WHEN

if TYPE_CHECKING:
    from .context_session import ContextSession


class _Call(NamedTuple):
    """Name a method of the session, or of its `part`, and what it is called with."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    part: str | None = None


def sent(session: "ContextSession", event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Steps[ContextOutput]:
    """Write what an event stands for; see `ContextSession.send`."""
    found = _call_of(event, args, kwargs)
    subject = session if found.part is None else getattr(session, found.part)
    output = yield call(subject, found.verb, *found.args, **found.kwargs)
    return output if isinstance(output, ContextOutput) else session.output


def _call_of(event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Call:
    """Return the verb of an event.

    Raises:
        InvalidOptionError: no event, or an input that no verb makes: going back and erasing are sent by name.
    """
    if isinstance(event, ContextInput):
        found = _of_input(event)
        return found._replace(kwargs={**found.kwargs, **kwargs})
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if kind is InputKind.RESIZE or not isinstance(kind, InputKind):
        own = {**kwargs}
        when = {name: own.pop(name) for name in WHEN if name in own}
        return _Call("_write", (Take(ContextInput.named(kind, *args, **own)),), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return _Call("add", args, kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return _Call("add_tool_turn", args[:1], {"tool_call_id": args[1], **kwargs})
    part = "history" if kind in (InputKind.REWIND, InputKind.FORGET) else None
    return _Call(f"add_{kind}" if kind in KIND_OF_ROLE.values() else str(kind), args, kwargs, part)


def _of_input(given: ContextInput) -> _Call:
    match given.payload:
        case Turn() | str():
            return _Call("add", (given.turn, given.resource_class))
        case Fulfilment() as fulfilment:
            return _Call("commit", (fulfilment,), part="background")
        case Edit(splices=splices):
            return _Call("recall", ([turn.resource_id for splice in splices for turn in splice.turns],))
        case Standing():
            raise InvalidOptionError("event", given.kind, f'"{given.kind}" by name, with what session.history.{given.kind} takes')
        case float() | int() as target if given.kind is InputKind.COMPRESS:
            return _Call("compress", (target,))
        case _:  # clear, resize, promote, or an event that a subclass of the machine adds
            return _Call("_write", (Take(given),))
