"""Send an event by its name, or an input: the verb of the session that builds the same command."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial.inputs import ContextInput, Promotion, Standing
from polycontext.polynomial.session.commands import Take
from polycontext.polynomial.state import InputKind, kind_of
from polycontext.pressure import Edit, Fulfilment
from polycontext.window import Turn

_VERBS: Mapping[object, str] = {
    InputKind.USER_TURN: "add_user_turn",
    InputKind.ASSISTANT_TURN: "add_assistant_turn",
    InputKind.TOOL_TURN: "add_tool_turn",
    InputKind.SYSTEM: "add_system",
}
_WHEN = ("expected_revision", "idempotency_key")


class Call(NamedTuple):
    """Name a method of the session, and what it is called with."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}


def call_of(event: str | ContextInput, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the verb of an event.

    Raises:
        InvalidOptionError: no event, or an input that no verb makes: going back and erasing are sent by name.
    """
    if isinstance(event, ContextInput):
        return _of_input(event, kwargs)
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if not isinstance(kind, InputKind):
        when = {name: value for name, value in kwargs.items() if name in _WHEN}
        return Call("_write", (Take(ContextInput.named(kind, *args, **{k: v for k, v in kwargs.items() if k not in when})),), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return Call("add", args, kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return Call("add_tool_turn", args[:1], {"tool_call_id": args[1], **kwargs})
    return Call(_VERBS.get(kind, "_resize" if kind is InputKind.RESIZE else str(kind)), args, kwargs)


def _of_input(given: ContextInput, kwargs: Mapping[str, Any]) -> Call:
    payload = given.payload
    if isinstance(payload, Standing):
        raise InvalidOptionError("event", given.kind, f'"{given.kind}" by name, with what session.{given.kind} takes')
    call = Call("_write", (Take(given),))
    if isinstance(payload, Fulfilment):
        call = Call("commit", (payload,))
    elif isinstance(payload, Promotion):
        call = Call("promote", (payload.resource_id, payload.resource_class), {"rationale": payload.rationale})
    elif isinstance(payload, Edit):
        call = Call("recall", ([turn.resource_id for splice in payload.splices for turn in splice.turns],))
    elif given.kind in _VERBS:
        call = Call("add", (given.turn, given.resource_class))
    elif given.kind is InputKind.COMPRESS:
        call = Call("compress", (payload,))
    elif given.kind is InputKind.RESIZE:
        call = Call("_resize", (payload,))
    return call._replace(kwargs={**call.kwargs, **kwargs})
