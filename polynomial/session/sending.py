"""Send an event by its name, or an input: find the verb of the session that builds the same command."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial.inputs import KIND_OF_ROLE, ContextInput, Standing
from polycontext.polynomial.session.commands import Take
from polycontext.polynomial.state import InputKind, kind_of
from polycontext.pressure import Edit, Fulfilment
from polycontext.window import Turn

_WHEN = ("expected_revision", "idempotency_key")


class Call(NamedTuple):
    """Name a method of the session, and what it is called with."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}


def call_of(event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the verb of an event.

    Raises:
        InvalidOptionError: no event, or an input that no verb makes: going back and erasing are sent by name.
    """
    if isinstance(event, ContextInput):
        call = _of_input(event)
        return call._replace(kwargs={**call.kwargs, **kwargs})
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if kind is InputKind.RESIZE or not isinstance(kind, InputKind):
        own = {**kwargs}
        when = {name: own.pop(name) for name in _WHEN if name in own}
        return Call("_write", (Take(ContextInput.named(kind, *args, **own)),), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return Call("add", args, kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return Call("add_tool_turn", args[:1], {"tool_call_id": args[1], **kwargs})
    return Call(f"add_{kind}" if kind in KIND_OF_ROLE.values() else str(kind), args, kwargs)


def _of_input(given: ContextInput) -> Call:
    match given.payload:
        case Turn() | str():
            return Call("add", (given.turn, given.resource_class))
        case Fulfilment() as fulfilment:
            return Call("commit", (fulfilment,))
        case Edit(splices=splices):
            return Call("recall", ([turn.resource_id for splice in splices for turn in splice.turns],))
        case Standing():
            raise InvalidOptionError("event", given.kind, f'"{given.kind}" by name, with what session.{given.kind} takes')
        case float() | int() as target if given.kind is InputKind.COMPRESS:
            return Call("compress", (target,))
        case _:  # clear, resize, promote, or an event that a subclass of the machine adds
            return Call("_write", (Take(given),))
