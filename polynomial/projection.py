"""`project`: fit a provider's message list into a token budget."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Never

from attrs import field, frozen

from polycontext.base import InvalidDataError, InvalidOptionError, guided, require, with_usage
from polycontext.linearity import ResourceClass, ToolRule
from polycontext.linearity.classification.classifier import classified_by
from polycontext.pressure import (
    AsyncSummariser,
    CompressionResult,
    ContextProjector,
    ExtractiveSummariser,
    Reach,
    Summariser,
)
from polycontext.pressure.gist import truncated_ids
from polycontext.window import (
    REQUEST_OVERHEAD,
    ContextWindow,
    InvalidMessagesError,
    TokenCounter,
    Turn,
    count_turn,
)
from polycontext.window.call_ids import with_reused
from polycontext.window.providers import (
    AUTO,
    Provider,
    Rendered,
    WireFormat,
    anthropic,
    format_of,
    unwrap,
)
from polycontext.window.providers.wire import fresh

from .errors import ContextOverflowError
from .gist_recognition import known_again
from .machine.step import overflow
from .session.decisions import log_rejected
from .session.options import check_room, check_rules, room_of

if TYPE_CHECKING:
    from polycontext.window import ModelProfile

_FILLED = 0.95
"""The share of the room from which it counts as used."""
_FILLS = (2.5, 1.6)
"""How much more room is tried where a summary left some, by what it left: of more room, recent
turns get a share."""

_TRIES = 16
"""How often a larger budget is tried before an error names one."""


@guided
@frozen
class Projection:
    """The projected messages, with a report on what was changed.

    System messages stay in the list, so `system` is empty. Ids name turns by their position: ``t1``
    is the first turn of the input. If a host joined that turn with a summary, ``t1.2`` is the
    second piece of it. Tokens are counted for the whole request with its tools. `reserve`, the
    tokens kept free for the reply, are not counted with them.

    `first_changed` is the index of the first message that differs from the input, None if none
    does; a prompt cache matches up to there. `floor` is the lowest number of tokens that the
    request could have been cut to. `truncated` lists those of the `gisted` turns that are still
    shown, but truncated. `repaired` lists the ids of results that ``repair=True`` added
    or moved to their calls; a result that it left out is named by its message, ``messages[3]``.
    `classes` holds the class of every turn by its id, and `rules` the standing instructions of the
    user.
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
    truncated: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    system: tuple[dict[str, Any], ...] = ()
    classes: Mapping[str, ResourceClass] = field(factory=dict, repr=False)
    rules: tuple[str, ...] = field(default=(), repr=False)
    reserve: int = 0

    def __iter__(self, *_: object) -> Never:
        """Refuse to be iterated: the messages are one of its fields."""
        raise InvalidDataError("projection", "it is a report, not a list", "its .messages")

    __getitem__ = __iter__

    @property
    def reached(self) -> bool:
        """Return whether the request and the reserve are within the budget.

        `project` never returns a projection that is not.
        """
        return self.tokens_after + self.reserve <= self.max_tokens

    @property
    def changed(self) -> bool:
        """Return whether any message was cut or added."""
        return self.first_changed is not None

    def report(self) -> dict[str, Any]:
        """Return everything but the messages, ready for JSON."""
        tokens = ("tokens_before", "tokens_after", "max_tokens", "reserve", "floor")
        names = (*tokens, "reached", "first_changed")
        ids = ("kept", "gisted", "dropped", "truncated", "repaired")
        return {
            **{name: getattr(self, name) for name in names},
            **{name: list(getattr(self, name)) for name in ids},
        }


@with_usage
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
    summarizer: Summariser | None = None,
    repair: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = (),
    reserve: int | None = None,
    rules: Sequence[ToolRule] = (),
) -> Projection:
    """Cut a message list so that the request fits into `max_tokens`, and report what was cut.

    System messages and the first user message are kept (docs/project.md). Calls and results are
    never separated. The last `keep_recent` turns are cut last. A list that fits is returned
    unchanged. The input is never modified.

    Args:
        messages: the provider's own message list; it may end on open calls.
        model: the model to call, by name (``"gpt-5"``) or as a `ModelProfile`; sets the window,
            reserve and counter. A number sets `max_tokens`.
        max_tokens: budget of the request in tokens; `reserve` (for the reply) and `tools` are
            subtracted from it.
        provider: the format of the list. By default it is detected, with the model's provider as
            the fallback.
        query: the topic of the next answer; the turns that match it best are kept verbatim, and it
            gets more weight in the gist. Defaults to the user's last message if that asks about the
            past.
        summariser, summarizer: what writes the summary, in either spelling.
        rules: rules for tools: `keep_last`, `never_yield`, `yield_first`.
        repair: mend the order of calls and results instead of raising: a result moves to its call,
            an unanswered call in the middle gets a marked result, and second results and those
            without a call are left out.

    Raises:
        InvalidMessagesError: the list breaks a rule of the provider; names index and rule.
        InvalidOptionError, UnknownNameError: an option is invalid, or the model is unknown.
        ContextOverflowError: the request exceeds the budget even after cutting everything that may
            be cut; names both numbers.

    Laws: deterministic; idempotent (projecting the result changes nothing); the result is valid and
    within budget.

    >>> project([{"role": "user", "content": "hello"}], 100).messages
    [{'role': 'user', 'content': 'hello'}]
    """
    require("query", query, query is None or isinstance(query, str), "the topic as text, or None")
    given = room_of(model, max_tokens, reserve, counter, tools=tools)
    check_room(given)
    told = unwrap(messages)
    wire = format_of(told, provider, given.provider)
    parsed = wire.parse(told, repair=repair)
    ruled = check_rules(rules)
    empty = ContextWindow(given.max_tokens, counter=given.counter, classifier=classified_by(ruled))
    window = _fill(empty, known_again(parsed.turns, has_task=False))
    room = given.max_tokens - REQUEST_OVERHEAD - given.overhead
    projector = ContextProjector(
        summariser or summarizer or ExtractiveSummariser(),
        Reach(keep_recent=keep_recent, cuts_question=True, rules=ruled),
    )
    writer: object = projector.summariser
    if isinstance(writer, AsyncSummariser) and not isinstance(writer, Summariser):
        legal = "one that is not async: project awaits nothing, as session.acompress() does"
        raise InvalidOptionError("summariser", summariser, legal)
    # Messages that a host joined are counted as they are, and split only if something must be cut.
    came = window if len(window) <= len(parsed.turns) else _fill(empty, zip(parsed.turns))
    fits = came.total_tokens <= room
    try:
        result, rendered, tokens = _fit(projector, wire, came if fits else window, room, query)
    except ContextOverflowError as error:
        fit = partial(_fit, projector, wire, query=query)
        error.tokens = _sufficient(fit, window, error.tokens, given.max_tokens - room)
        raise
    log_rejected(result.rejections)
    written = rendered.inline()
    repaired = (
        *map(_id, parsed.repaired),
        *(f"messages[{place}]" for place in parsed.omitted),
    )
    if result.edit.is_empty and not repaired and _is_valid(wire, parsed.messages, is_open=True):
        written = list(map(fresh, parsed.messages))
    elif repaired and not _is_valid(wire, written, is_open=False):
        # Without a result between them, neighbours of one role may have to be joined.
        written = wire.render(result.window.all_turns()).inline()
    mark = anthropic.block_rules.MARK
    if wire.provider is Provider.ANTHROPIC and any(mark in tool for tool in tools or ()):
        body = {"tools": tools, "messages": written}
        written = [*anthropic.block_rules.with_fewer_marks(body)["messages"]]
    besides = given.max_tokens - room - given.reserve
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
        truncated=truncated_ids(result.window.all_turns()),
        repaired=repaired,
        classes={turn.resource_id: window.class_of(turn) for turn in window.all_turns()},
        rules=tuple(rule.text for rule in window.rules.standing),
        reserve=given.reserve,
    )


def _is_valid(wire: WireFormat, messages: Sequence[Mapping[str, Any]], *, is_open: bool) -> bool:
    try:
        wire.check(messages, allow_open_tail=is_open)
    except InvalidMessagesError:
        return False
    return True


def _fit(
    projector: ContextProjector,
    wire: WireFormat,
    window: ContextWindow,
    room: int,
    query: str | None,
) -> tuple[CompressionResult, Rendered, int]:
    """Compress to `room` tokens, counting what the provider requires between the remaining turns.

    The last value returned is the number of tokens used.
    """
    besides = 0
    while True:
        result = _compress_within(projector, window, room - besides, query)
        rendered = wire.render(result.window.all_turns(), readable=True)
        tokens = _count_parsed(wire, result, rendered)
        if tokens <= room:
            return result, rendered, tokens
        # The amount set aside grows each time, so this ends: with a list that fits, or with an
        # error.
        besides = max(tokens - result.tokens_after, besides + 1)


def _sufficient(
    fit: Callable[[ContextWindow, int], object], window: ContextWindow, tokens: int, besides: int
) -> int:
    """Return a budget, at least `tokens`, into which `fit` brings the turns of `window`.

    What a provider requires between the turns depends on what is cut, so it is tried.
    """
    for _ in range(_TRIES):
        try:
            fit(window.resized(tokens), tokens - besides)
        except ContextOverflowError as error:
            tokens = max(error.tokens, tokens + 1)
        else:
            break
    return tokens


def _count_parsed(wire: WireFormat, result: CompressionResult, rendered: Rendered) -> int:
    """Return the token count of the rendered list when it is parsed again.

    Pieces of a message may have become several messages, or a single block of one.
    """
    if result.edit.is_empty and not rendered.introduced:
        return result.tokens_after
    counter = result.window.counter
    return sum(count_turn(counter, turn) for turn in wire.parse(rendered.inline()).turns)


def _fill(window: ContextWindow, turns: Iterable[tuple[Turn, ...]]) -> ContextWindow:
    """Append the parsed turns in their pieces."""
    used = set[str]()
    for position, pieces in enumerate(turns):
        for number, turn in enumerate(pieces, 1):
            resource_id = _id(position) if number == 1 else f"{_id(position)}.{number}"
            marked = with_reused(turn, used.__contains__)
            window = window.append(marked.admitted(resource_id))
            used.update(call.id for call in turn.tool_calls)
    return window


def _compress_within(
    projector: ContextProjector, window: ContextWindow, room: int, query: str | None
) -> CompressionResult:
    """Compress as little as needed to fit into `room`.

    If a summary is rejected and the result does not fit, compress as much as possible.
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
            return _filled(projector, window, result, room, query)
        least = result.tokens_after
    besides = window.max_tokens - room
    error = overflow(window, projector, "the conversation", besides, window.max_tokens)
    error.tokens = max(error.tokens, least + besides)
    raise error


def _filled(
    projector: ContextProjector,
    window: ContextWindow,
    result: CompressionResult,
    room: int,
    query: str | None,
) -> CompressionResult:
    """Return a result with more recent turns if the summary left some of `room`."""
    left = room - result.tokens_after
    if left <= (1 - _FILLED) * room or not isinstance(projector.summariser, ExtractiveSummariser):
        return result
    for more in _FILLS:
        wanted = room + int(more * left)
        longer = projector.commit(
            window, projector.fulfil(projector.plan_within(window, wanted, query))
        )
        if result.tokens_after < longer.tokens_after <= room:
            return longer
    return result


def _first_changed(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> int | None:
    """Return the index of the first message that differs, None if the lists are equal."""
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    return None if same == len(before) == len(after) else same


def _id(position: int) -> str:
    """Return the id of the turn at `position` of the input."""
    return f"t{position + 1}"
