"""The laws of `project`."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Protocol

from attrs import evolve

from polycontext.base.law import agree, holds, law
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.projection import Projection
from polycontext.window import (
    REQUEST_OVERHEAD,
    Role,
    TokenCounter,
    Turn,
    count_turn,
)
from polycontext.window.providers import Message, Provider, Rendered, WireFormat
from tests.laws.internal.formats import fault_of

_PROJECT = 'docs/providers.md, "Guarantees for all providers"'
_SYSTEM = ("system", "developer")
Turns = Sequence[Turn]


class Projecting(Protocol):
    """The signature of `project` and its replacements."""

    def __call__(
        self,
        messages: list[Message],
        max_tokens: int,
        /,
        *,
        provider: Provider,
        counter: TokenCounter,
    ) -> Projection:
        """Cut a message list to a budget."""
        ...


def _render(wire: WireFormat, turns: Turns) -> list[Message]:
    return wire.render(turns).inline()


def _try_projecting(
    project: Projecting,
    messages: list[Message],
    max_tokens: int,
    wire: WireFormat,
    counter: TokenCounter,
) -> Projection | tuple[int, int]:
    """Return a projection, or both numbers of the refusal."""
    try:
        return project(messages, max_tokens, provider=wire.provider, counter=counter)
    except ContextOverflowError as error:
        return error.tokens, error.max_tokens


@law(_PROJECT)
def projecting_is_deterministic(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """The same messages give the same projection, or the same refusal."""
    one, other = (
        _try_projecting(project, _render(wire, turns), max_tokens, wire, counter) for _ in range(2)
    )
    agree(one, other, wire=wire.provider)


@law(_PROJECT)
def projecting_twice_is_projecting_once(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """Projecting a projection changes nothing."""
    once = _try_projecting(project, _render(wire, turns), max_tokens, wire, counter)
    if isinstance(once, Projection):
        sent = _inline(once)
        twice = _try_projecting(project, sent, max_tokens, wire, counter)
        agree(_inline(twice) if isinstance(twice, Projection) else twice, sent, wire=wire.provider)


def _inline(projection: Projection) -> list[Message]:
    return Rendered(projection.messages, projection.system).inline()


@law(_PROJECT)
def projecting_leaves_its_input_alone(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """The input messages are never changed, not even by changes to the result."""
    messages = _render(wire, turns)
    before = deepcopy(messages)
    projection = _try_projecting(project, messages, max_tokens, wire, counter)
    for message in projection.messages if isinstance(projection, Projection) else ():
        message.clear()
    agree(messages, before, wire=wire.provider)


@law(_PROJECT)
def a_projection_is_within_its_budget(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """A projected request takes at most the tokens that it reports, which are within the budget.

    A refusal names a number of tokens that is larger than the budget.
    """
    projection = _try_projecting(project, _render(wire, turns), max_tokens, wire, counter)
    if isinstance(projection, Projection):
        turns = wire.parse(_inline(projection)).turns
        tokens = REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in turns)
        fits = tokens <= projection.tokens_after <= max_tokens
        holds(fits, f"at most {max_tokens}", tokens, wire=wire.provider)
    else:
        names_more = projection[0] > projection[1] == max_tokens
        holds(names_more, f"more than {max_tokens}", projection, wire=wire.provider)


@law(_PROJECT)
def projecting_keeps_what_must_stay(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """A projection is valid, and keeps the system messages and the task byte for byte.

    The task is the first user message that is more than results. All messages that are kept stay in
    order. Users' messages have no pictures here, since those may be removed.
    """
    messages = _render(
        wire, [evolve(turn, parts=()) if turn.role is Role.USER else turn for turn in turns]
    )
    projection = _try_projecting(project, messages, max_tokens, wire, counter)
    if isinstance(projection, Projection):
        sent, task = _inline(projection), next(filter(_is_task, messages), None)
        pinned = [each for each in messages if each.get("role") in _SYSTEM or each is task]
        holds(_in_order(pinned, sent), "system messages and task", sent, wire=wire.provider)
        kept = [each for each in sent if each in messages]
        holds(_in_order(kept, messages), "messages in order", kept, wire=wire.provider)
        is_open = fault_of(wire, messages) is not None
        fault = fault_of(wire, sent, allow_open_tail=is_open)
        holds(fault is None, "a valid request", fault, wire=wire.provider)


def _is_task(message: Message) -> bool:
    content = message.get("content")
    kinds = {block.get("type") for block in content} if isinstance(content, list) else set()
    return message.get("role") == "user" and kinds != {"tool_result"}


def _in_order(few: Iterable[Message], many: Iterable[Message]) -> bool:
    rest = iter(many)
    return all(each in rest for each in few)
