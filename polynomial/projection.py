"""`project`: a provider's message list in, a valid one within budget out.

What most people call first.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Never

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidDataError, ToolRule
from polycontext.linearity.classification import classified_by
from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    ExtractiveSummariser,
    Reach,
    Summariser,
)
from polycontext.window import (
    REQUEST_OVERHEAD,
    ContextWindow,
    Role,
    TokenCounter,
    Turn,
    count_tools,
    count_turn,
)
from polycontext.window.filler import OPENING, opening_of
from polycontext.window.providers import (
    AUTO,
    Provider,
    Rendered,
    WireFormat,
    format_of,
    unwrap,
)

from .machine.step import overflow
from .restoration import known_again
from .session.options import check_rules, check_tools, room_of

if TYPE_CHECKING:
    from polycontext.window import ModelProfile

_OPENING_ID = "opening"


@frozen
class Projection:
    """Hold the projected messages and the report on what became of the others.

    System messages stay in the list, so `system` is empty. Ids name turns by their place: ``t1`` is
    the first turn of the input; where a host joined it with a summary, ``t1.2`` is the second piece
    of it. Tokens count the whole request. `first_changed` is the index of the first message that
    differs from the input (what a prompt cache still holds ends there), None if none does. `floor`
    is the least the request could have been cut to. `repaired` are ids of results that
    ``repair=True`` added, and ``"opening"`` where the assistant spoke first and a provider wants
    the user to.
    """

    messages: list[dict[str, Any]] = field(repr=False)
    tokens_before: int
    tokens_after: int
    max_tokens: int
    floor: int
    first_changed: int | None
    kept: tuple[str, ...] = field(repr=False)
    gisted: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    system: tuple[dict[str, Any], ...] = ()

    def __iter__(self) -> Never:
        """Refuse to be iterated: the messages are one of its fields."""
        raise InvalidDataError("projection", "it is a report, not a list", "its .messages")

    @property
    def reached(self) -> bool:
        """Tell whether the request is within its budget.

        A projection that is not is never returned.
        """
        return self.tokens_after <= self.max_tokens

    @property
    def changed(self) -> bool:
        """Tell whether any message was cut or added."""
        return self.first_changed is not None

    def report(self) -> dict[str, Any]:
        """Return everything but the messages, JSON-ready."""
        names = ("tokens_before", "tokens_after", "max_tokens", "floor", "reached", "first_changed")
        ids = ("kept", "gisted", "dropped", "repaired")
        return {
            **{name: getattr(self, name) for name in names},
            **{name: list(getattr(self, name)) for name in ids},
        }


def project(
    messages: Sequence[Mapping[str, Any]],
    model: "int | str | ModelProfile | None" = None,
    *,
    max_tokens: int | None = None,
    provider: Provider | str = AUTO,
    keep_recent: int = 6,
    query: str | None = None,
    counter: TokenCounter | None = None,
    summariser: Summariser | None = None,
    repair: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = (),
    reserve: int | None = None,
    rules: Sequence[ToolRule] = (),
) -> Projection:
    """Cut a message list so that the request fits into `max_tokens`, and say what was cut.

    System messages and the first user message stay (docs/project.md); calls and results are never
    parted; the last `keep_recent` turns yield last. A list that fits comes back as it is. The input
    is never changed.

    Args:
        messages: the provider's own message list; it may end on open calls.
        model: who is asked, by name (``"gpt-5"``) or as a `ModelProfile`, whose window, reserve and
            counter are taken; a number stands for `max_tokens`.
        max_tokens: budget of the request in tokens; `reserve` (for the reply) and `tools` are taken
            off.
        provider: whose format the list is in; noticed where nothing is said, the model's where
            nothing tells.
        query: what the next answer is about: what speaks most of it stands whole, and weighs more
            in the gist. Without one, what the user has just said where that asks about the past.
        rules: what is stated of tools: `keep_last`, `never_yield`, `yield_first`.
        repair: close an unanswered call in the middle by a marked result instead of refusing.

    Raises:
        InvalidMessagesError: the list breaks a rule of the provider; names index and rule.
        InvalidOptionError, UnknownNameError: an option that cannot be, or no such model.
        ContextOverflowError: even with everything cut that may be, the budget is exceeded; names
            both numbers.

    Laws: deterministic; idempotent (projecting the result changes nothing); the result is valid and
    within budget.

    >>> project([{"role": "user", "content": "hello"}], 100).messages
    [{'role': 'user', 'content': 'hello'}]
    """
    given = room_of(model, max_tokens, reserve, counter)
    tools = check_tools(tools)
    told = unwrap(messages)
    wire = format_of(told, provider, given.provider)
    parsed = wire.parse(told, repair=repair)
    ruled = check_rules(rules)
    # Anthropic alone wants the user to begin; a list that fits is handed back as it came wherever
    # it may be.
    opens = opening_of(parsed.turns) if wire.provider is Provider.ANTHROPIC else None
    empty = ContextWindow(given.max_tokens, counter=given.counter, classifier=classified_by(ruled))
    window = _fill(empty, known_again(parsed.turns, has_task=False), opens)
    room = given.max_tokens - REQUEST_OVERHEAD - given.reserve - count_tools(window.counter, tools)
    projector = ContextProjector(
        summariser or ExtractiveSummariser(),
        Reach(keep_recent=keep_recent, cuts_question=True, rules=ruled),
    )
    # What a host joined counts as it came, and comes apart only where something has to yield.
    came = (
        window
        if len(window) <= len(parsed.turns) + (opens is not None)
        else _fill(empty, zip(parsed.turns), opens)
    )
    result, rendered, tokens = _fit(
        projector, wire, came if came.total_tokens <= room else window, room, query
    )
    wire.check(
        rendered.inline(), allow_open_tail=bool(result.window.open_calls), strict_first=False
    )
    repaired = [*([] if opens is None else [_OPENING_ID]), *map(_id, parsed.repaired)]
    written, besides = rendered.inline(), given.max_tokens - room
    return Projection(
        messages=written,
        tokens_before=came.total_tokens + besides,
        tokens_after=tokens + besides,
        max_tokens=given.max_tokens,
        floor=result.floor + besides,
        first_changed=_first_changed(parsed.messages, written),
        kept=result.kept,
        gisted=result.gisted,
        dropped=result.dropped,
        repaired=tuple(repaired),
    )


def _fit(
    projector: ContextProjector,
    wire: WireFormat,
    window: ContextWindow,
    room: int,
    query: str | None,
) -> tuple[CompressionResult, Rendered, int]:
    """Compress into `room` together with what the provider wants said between the turns that are left; the last number is what that takes."""
    besides = 0
    while True:
        result = _compress_within(projector, window, room - besides, query)
        rendered = wire.render(result.window.all_turns(), readable=True)
        tokens = _count_parsed(wire, result, rendered)
        if tokens <= room:
            return result, rendered, tokens
        # Each time more is set aside, so that this ends: in a list that fits, or in a refusal.
        besides = max(tokens - result.tokens_after, besides + 1)


def _count_parsed(wire: WireFormat, result: CompressionResult, rendered: Rendered) -> int:
    """Return what the list that was written counts when it comes in again: pieces of a message may have become messages, or one block of it."""
    if result.edit.is_empty and not rendered.introduced:
        return result.tokens_after
    counter = result.window.counter
    return sum(count_turn(counter, turn) for turn in wire.parse(rendered.inline()).turns)


def _fill(
    window: ContextWindow, turns: Iterable[tuple[Turn, ...]], opens: int | None = None
) -> ContextWindow:
    """Append the parsed turns, each in its pieces, the user's opening before that at `opens`."""
    for position, pieces in enumerate(turns):
        if position == opens:
            window = window.append(Turn(Role.USER, OPENING, resource_id=_OPENING_ID))
        for number, turn in enumerate(pieces, 1):
            window = window.append(
                evolve(
                    turn, resource_id=_id(position) if number == 1 else f"{_id(position)}.{number}"
                )
            )
    return window


def _compress_within(
    projector: ContextProjector, window: ContextWindow, room: int, query: str | None
) -> CompressionResult:
    """Compress as gently as fits into `room`.

    Where a summary was refused and it does not fit, as harshly as possible.
    """
    plan = projector.plan_within(window, room, query)
    least = plan.tokens_promised
    if plan.reached:
        result = projector.commit(window, projector.fulfil(plan))
        if result.tokens_after > room:
            result = projector.commit(
                window, projector.fulfil(projector.plan_within(window, 0, query))
            )
        if result.tokens_after <= room:
            return result
        least = result.tokens_after
    besides = window.max_tokens - room
    error = overflow(window, projector, "the conversation", besides, window.max_tokens)
    error.tokens = max(error.tokens, least + besides)
    raise error


def _first_changed(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> int | None:
    """Return the index of the first message that differs from what came in, None where none does and none is gone or added."""
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    return None if same == len(before) == len(after) else same


def _id(position: int) -> str:
    """Return the id of the turn at `position` of the input."""
    return f"t{position + 1}"
