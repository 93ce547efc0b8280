"""Training columns: values for each message, such as a loss mask, that follow their messages."""

from collections.abc import Sequence
from typing import Any

from polycontext.base import InvalidDataError
from polycontext.polynomial import Projection
from polycontext.window import Turn
from polycontext.window.providers import Message, WireFormat


def aligned(
    column: str,
    values: object,
    messages: int,
    sources: Sequence[int | None],
) -> list[Any]:
    """Return the values of `column` for the shortened messages, whose sources `origins` returned.

    A message that is kept has its value; a summary, or a message that was truncated or joined with
    another, has 0.

    Raises:
        InvalidDataError: the column has not one number for each message.
    """
    if not isinstance(values, list) or not all(isinstance(each, int | float) for each in values):
        problem = "is missing" if values is None else "is not a list of numbers"
        raise InvalidDataError(column, problem, "one number for each message")
    if len(values) != messages:
        what = f"has {len(values):,} values for {messages:,} messages"
        legal = (
            "one value for each message; values for each token do not fit a shortened text, so "
            "compute them after the compression"
        )
        raise InvalidDataError(column, what, legal)
    nothing = type(values[0])(0) if values else 0
    return [nothing if place is None else values[place] for place in sources]


def origins(
    wire: WireFormat, messages: Sequence[Message], projection: Projection
) -> list[int | None]:
    """Return, for each shortened message, the index of the message that it is, or None.

    Turns are compared, not messages, because a format may write the same message differently.
    """
    if not projection.changed:
        return [*range(len(messages))]
    before, kept = wire.parse(messages, repair=True), {*projection.kept}
    # The turns that were kept stand in the new list in their order, each at most once.
    left = [
        (_said(turn), None if turn.metadata.get("repaired") else place)
        for number, (turn, place) in enumerate(zip(before.turns, before.places, strict=True))
        if f"t{number + 1}" in kept
    ]
    after = wire.parse(projection.messages, repair=True)
    found: list[set[int | None]] = [set() for _ in projection.messages]
    for turn, place in zip(after.turns, after.places, strict=True):
        said = _said(turn)
        index = next((at for at, (each, _) in enumerate(left) if each == said), None)
        found[place].add(None if index is None else left[index][1])
        if index is not None:
            del left[: index + 1]
    return [next(iter(places)) if len(places) == 1 else None for places in found]


def _said(turn: Turn) -> tuple[object, ...]:
    return turn.role, turn.content, turn.tool_calls, turn.tool_call_id
