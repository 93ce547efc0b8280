"""Synchronisation with a conversation that is kept elsewhere; see `ContextSession.sync`.

It finds the turns that are new here, and pairs the view with the caller's objects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from attrs import field, frozen

from polycontext.base import require, whole_number
from polycontext.base.effects import Steps
from polycontext.pressure import ConflictError
from polycontext.window import REQUEST_OVERHEAD, Role, Turn, count_tools, count_turn
from polycontext.window.call_ids import answers_named
from polycontext.window.filler import OPENING, is_opening, opening_of
from polycontext.window.providers.tool_pairs import mended
from polycontext.window.rules import is_rule

from ..errors import ContextOverflowError
from ..inputs import ContextInput, ContextOutput
from ..journal.events import is_erased
from .commands import (
    Add,
    Command,
    Compress,
    Rewind,
    Take,
    Together,
    check_turn,
)
from .compression import plan_window
from .options import check_tools
from .time_travel import build_rewind, changes_of_rules
from .writer import TRIES, Session


@frozen
class Kept:
    """A turn of the view, with the caller's object for it.

    `handle` is None if the turn is unknown to the caller, or if part of it was dropped: then use
    `turn`. In the second case, `came` is the object, which shows the turn's place.
    """

    handle: Any
    turn: Turn
    came: Any = field(default=None, eq=False)


@frozen
class Gist:
    """A turn of the view that stands for the turns `sources`: a summary or a truncated result.

    For a truncated result, `handle` is the caller's object.
    """

    turn: Turn
    sources: Sequence[str]
    handle: Any = None


class Needed(NamedTuple):
    """The tokens of a request beside the view: those sent with it, and those kept for the reply."""

    sent: int
    reply: int


Seen = Kept | Gist
Pair = tuple[Turn, Any]


def sync(
    session: Session,
    turns: Iterable[Turn],
    handles: Iterable[object] | None,
    *,
    repair: bool,
    rewind: bool,
) -> Steps[ContextOutput]:
    """Make the conversation equal to `turns`; see `ContextSession.sync`."""
    pairs = pairs_of(turns, handles, repair=repair)
    for _ in range(TRIES):
        base, output = session.conversation.revision, session.output
        command = command_to_sync(session, pairs, rewind=rewind)
        try:
            output = (
                output
                if command is None
                else (yield from session._write(command, expected_revision=base))
            )
        except ConflictError:
            continue
        session._handles = pair_by_id(session.conversation.log, pairs)
        return output
    raise session._writer.contention_error()


def view(
    session: Session,
    reserve: int,
    tools: Sequence[Mapping[str, Any]] | None,
    system: str | None,
) -> "Steps[tuple[Seen, ...]]":
    """Return the view once it fits; see `ContextSession.view`."""
    for _ in range(TRIES):
        needs = estimate_needs(session, reserve, tools, system)
        command = compress_to_fit(session, needs)
        if command is None:
            session._sent.record(session.window, needs.sent)
            return pair_view(session, session._handles or {})
        yield from session._write(command)
    raise session._writer.contention_error()


def pairs_of(
    turns: Iterable[object], handles: Iterable[object] | None, *, repair: bool
) -> list[Pair]:
    """Return turns paired with their handles, repaired if requested.

    Raises:
        InvalidOptionError: `turns` or `handles` is no collection, or their numbers differ.
        InvalidTurnError: an element is not a turn.
    """
    require("turns", turns, isinstance(turns, Iterable), "a list of turns")
    fits = handles is None or isinstance(handles, Iterable)
    require("handles", handles, fits, "a list with one handle for each turn")
    checked = [check_turn(turn) for turn in turns]
    if handles is None:
        pairs: list[Pair] = [(turn, None) for turn in checked]
    else:
        given = [*handles]
        require(
            "handles",
            f"{len(given)} handles",
            len(given) == len(checked),
            f"{len(checked)}: one for each turn",
        )
        pairs = [*zip(checked, given, strict=True)]
    pairs = [*answers_named(pairs)]
    return _repair(pairs) if repair else pairs


def _repair(pairs: Sequence[Pair]) -> list[Pair]:
    """Return a valid conversation: each call has its result behind it, and the user comes first."""
    found = [*mended(pairs)]
    opens = opening_of([turn for turn, _ in found])
    if opens is not None:
        found.insert(opens, (Turn(Role.USER, OPENING), None))
    return found


def command_to_sync(session: Session, pairs: Sequence[Pair], *, rewind: bool) -> Command | None:
    """Return the command that makes the conversation equal to `pairs`, or None if it already is.

    Raises:
        ConflictError: the conversation differs, and must not be rewound.
    """
    log = _synced(session.conversation.log)
    common = _common(log, pairs)
    if common == len(log) == len(pairs):
        return None
    adds = tuple(Add(turn) for turn, _ in pairs[common:])
    if common == len(log):
        return Together(adds)
    if not rewind:
        raise ConflictError(
            "conversation",
            f"the {len(log)} turns of the session at the beginning of the list",
            f"the first {common} of them",
            "Pass the whole list, or rewind=True to end the session's turns where the list does",
        )
    whole, last = session.conversation.log, log[common - 1].resource_id if common else ""
    rules = changes_of_rules(whole, whole.place(last) + 1 if last else 0)
    back = build_rewind(session, last or 0)
    return Together((back, *_promotions(session, back, log[:common]), *rules, *adds))


def _promotions(session: Session, back: Rewind, kept: Iterable[Turn]) -> Iterator[Take]:
    """Yield the commands that raise the classes of kept turns again that a rewind lowers."""
    raised, lowered = session.window.linearity, back.target.window.linearity
    for turn in kept:
        resource_id, wanted = turn.resource_id, raised.get(turn.resource_id)
        if wanted > lowered.get(resource_id):
            why = raised.tag_of(resource_id).rationale
            yield Take(ContextInput.promote(resource_id, wanted, why))


def _synced(log: Iterable[Turn]) -> list[Turn]:
    """Return the turns of the log that a caller's list has: all but changes of the rules."""
    return [turn for turn in log if not is_rule(turn)]


def _common(log: Iterable[Turn], pairs: Sequence[Pair]) -> int:
    """Return the length of the longest common prefix."""
    for place, (turn, pair) in enumerate(zip_longest(log, pairs)):
        if turn is None or pair is None or not says_the_same(turn, pair[0]):
            return place
    return len(pairs)


def says_the_same(logged: Turn, turn: Turn) -> bool:
    """Return whether a turn of the log is `turn`, apart from ids, times and metadata.

    If its text was erased, its role and call id must match.

    >>> says_the_same(Turn("user", "hi", resource_id="t1", tokens=3), Turn("user", "hi"))
    True
    """
    if logged.role is not turn.role or logged.tool_call_id != turn.tool_call_id:
        return False
    said = (logged.content, logged.tool_calls, logged.name, logged.parts) == (
        turn.content,
        turn.tool_calls,
        turn.name,
        turn.parts,
    )
    return said or is_erased(logged)


def pair_by_id(log: Iterable[Turn], pairs: Iterable[Pair]) -> dict[str, Pair]:
    """Return the turn and handle of each turn of the log, by id."""
    return {logged.resource_id: pair for logged, pair in zip(_synced(log), pairs, strict=False)}


def pair_view(session: Session, handles: Mapping[str, Pair]) -> tuple[Seen, ...]:
    """Return the view, each turn with the caller's object for it, without an opening line.

    A session needs that line where the assistant speaks first, and no provider does.
    """
    turns = session.window.all_turns()
    return tuple(_pair_with_handle(turn, handles) for turn in turns if not _is_added(turn, handles))


def _is_added(turn: Turn, handles: Mapping[str, Pair]) -> bool:
    return is_opening(turn) and handles.get(turn.resource_id, (None, None))[1] is None


def _pair_with_handle(turn: Turn, handles: Mapping[str, Pair]) -> Seen:
    if turn.sources:
        return Gist(
            turn,
            turn.sources,
            handles.get(turn.sources[0], (None, None))[1] if turn.role is Role.TOOL else None,
        )
    came, handle = handles.get(turn.resource_id, (None, None))
    # The object still contains what was dropped or erased.
    whole = came is not None and (turn.content, turn.tool_calls, turn.parts) == (
        came.content,
        came.tool_calls,
        came.parts,
    )
    return Kept(handle, turn) if whole else Kept(None, turn, handle)


def estimate_needs(session: Session, reserve: object, tools: Any, system: object) -> Needed:
    """Return the tokens of a request beside the view, without those the session already subtracts.

    Raises:
        InvalidOptionError: an argument has the wrong type or value.
    """
    counter = session.window.counter
    tools = check_tools(tools)
    require("system", system, system is None or isinstance(system, str), "a text, or None")
    # The window already excludes the session's own reserve and tools.
    reply = max(0, whole_number("reserve", reserve, 0) - session._room.reserve)
    told = max(0, (count_tools(counter, tools) if tools else 0) - session._room.tool_tokens)
    said = (
        count_turn(counter, Turn(Role.SYSTEM, system)) if isinstance(system, str) and system else 0
    )
    return Needed(REQUEST_OVERHEAD + told + said, reply)


def compress_to_fit(session: Session, needs: Needed) -> Compress | None:
    """Return the command that makes the view fit beside `needs`, or None if it already does.

    Raises:
        ContextOverflowError: no compression makes it fit.
    """
    window, policy = session.window, session.policy
    besides = needs.sent + needs.reply
    room = window.max_tokens - besides
    if window.total_tokens <= room:
        return None
    floor = policy.projector.floor(window)
    if floor > room:
        what = f"the view beside system, tools and a reply of up to {needs.reply:,} tokens"
        raise ContextOverflowError(floor + besides, window.max_tokens, what)
    # As in automatic compression, the low mark is a share of the free budget.
    target = floor + policy.threshold.low * (room - floor)
    return Compress(min(target, plan_window(window, policy).tokens_wanted) / window.max_tokens)
