"""The laws of `project`, or of what replaces it: repeatable, idempotent, harmless, within budget, and keeping what must stay."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Protocol

from attrs import evolve

from polycontext.linearity.law import agree, holds, law
from polycontext.window import REQUEST_OVERHEAD, Role, TokenCounter, Turn, count_turn
from polycontext.window.providers import Message, Provider, Rendered, WireFormat

from ..errors import ContextOverflowError
from ..projection import Projection
from ..verification import verify

_PROJECT = 'docs/providers.md, "What holds for all"'
Turns = Sequence[Turn]


class Projecting(Protocol):
    """Stand for `project` and what replaces it."""

    def __call__(self, messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter) -> Projection:
        """Cut a message list to a budget."""
        ...


def _written(wire: WireFormat, turns: Turns) -> list[Message]:
    return wire.render(turns).inline()


def _projected(
    project: Projecting, messages: list[Message], max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> Projection | tuple[int, int]:
    """Return a projection, or both numbers of the refusal."""
    try:
        return project(messages, max_tokens, provider=wire.provider, counter=counter)
    except ContextOverflowError as error:
        return error.tokens, error.max_tokens


@law(_PROJECT)
def projecting_is_deterministic(project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter) -> None:
    """The same messages give the same projection, or the same refusal."""
    one, other = (_projected(project, _written(wire, turns), max_tokens, wire, counter) for _ in range(2))
    agree(one, other, wire=wire.provider)


@law(_PROJECT)
def projecting_twice_is_projecting_once(
    project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter
) -> None:
    """Projecting a projection changes nothing."""
    once = _projected(project, _written(wire, turns), max_tokens, wire, counter)
    if isinstance(once, Projection):
        sent = _sent(once)
        twice = _projected(project, sent, max_tokens, wire, counter)
        agree(_sent(twice) if isinstance(twice, Projection) else twice, sent, wire=wire.provider)


def _sent(projection: Projection) -> list[Message]:
    return Rendered(projection.messages, projection.system).inline()


@law(_PROJECT)
def projecting_leaves_its_input_alone(project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter) -> None:
    """The messages that go in are never changed, not even through what comes out."""
    messages = _written(wire, turns)
    before = deepcopy(messages)
    projection = _projected(project, messages, max_tokens, wire, counter)
    for message in projection.messages if isinstance(projection, Projection) else ():
        message.clear()
    agree(messages, before, wire=wire.provider)


@law(_PROJECT)
def a_projection_is_within_its_budget(project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter) -> None:
    """Counted anew, a projected request takes no more than its report says, and that at most the budget; a refusal names more than the budget."""
    projection = _projected(project, _written(wire, turns), max_tokens, wire, counter)
    if isinstance(projection, Projection):
        tokens = REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in wire.parse(_sent(projection)).turns)
        holds(tokens <= projection.tokens_after <= max_tokens, f"at most {max_tokens}", tokens, wire=wire.provider)
    else:
        holds(projection[0] > projection[1] == max_tokens, f"more than {max_tokens}", projection, wire=wire.provider)


@law(_PROJECT)
def projecting_keeps_what_must_stay(project: Projecting, turns: Turns, max_tokens: int, wire: WireFormat, counter: TokenCounter) -> None:
    """A projection is valid for its provider and keeps system messages, the first user message, pairs and order, as `verify` judges it.

    Of what a user attached the words stay; pictures yield.
    """
    messages = _written(wire, [evolve(turn, parts=()) if turn.role is Role.USER else turn for turn in turns])
    projection = _projected(project, messages, max_tokens, wire, counter)
    if isinstance(projection, Projection):
        verification = verify(messages, _sent(projection), provider=wire.provider)
        holds(verification.ok, "ok", str(verification), wire=wire.provider)
