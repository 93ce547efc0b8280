"""Pairing of calls and results.

Call ids are unique within one turn only (recorded conversations reuse them in later turns). A
result therefore answers only the calls of the assistant turn directly before its run of results.
If these came with one id, their results answer them in order. Responses pairs by id, so there a
result may stand further behind: it moves to its call. `mended` brings any other list into order.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from attrs import define

from ..call_ids import answers_named
from ..errors import InvalidMessagesError
from ..turn import Role, Turn
from ..wire_text import compact
from .places import Place, shown
from .wire import Message, Parsed, Provider

T = TypeVar("T")

_LOG = logging.getLogger("polycontext.window.providers")

NO_RESULT = "[no result was recorded for this call]"
"""The text of a result that is added."""

_NAMED = 5
"""The most calls that a message names."""

ONE_RESULT = "one result for each call, directly after the message that called"
BEHIND_CALL = "results directly after the assistant message that called"


def paired(
    provider: Provider,
    turns: Iterable[tuple[Turn, int]],
    messages: Sequence[Message],
    *,
    repair: bool = False,
    waiting: Iterable[str] = (),
) -> Parsed:
    """Return `turns`, each with the index of its message, once every call has one result.

    A call may stay open at the very end. `waiting` are ids of earlier calls without a result. With
    `repair`, the turns are `mended`. Linear in the number of turns and calls.

    Raises:
        InvalidMessagesError: Rules orphan-result, duplicate-result, unanswered-call.
    """
    given, repaired, omitted = [*answers_named(turns, waiting)], list[int](), list[int]()
    if repair:
        given, repaired, omitted = _repaired(provider, given, waiting)
    elif provider is Provider.RESPONSES:
        given = [*chain.from_iterable(_atoms(given, waiting))]
    if not repair:
        _check(provider, given, dict.fromkeys(waiting))
    found, places = (tuple(each) for each in zip(*given, strict=True))
    return Parsed(provider, found, places, tuple(messages), tuple(repaired), tuple(omitted))


def _repaired(
    provider: Provider, turns: Sequence[tuple[Turn, int]], waiting: Iterable[str]
) -> tuple[list[tuple[Turn, int]], list[int], list[int]]:
    """Return `turns` mended, the positions of what was mended, and the places of what is gone."""
    found, repaired, last = list[tuple[Turn, int]](), list[int](), -1
    gone = dict(enumerate(place for _, place in turns))
    for turn, number in mended(((turn, each) for each, (turn, _) in enumerate(turns)), waiting):
        # Responses accepts a result further behind.
        is_late = number is not None and number > last and provider is Provider.RESPONSES
        if number is None or (turn.role is Role.TOOL and number != last + 1 and not is_late):
            repaired.append(len(found))
        last = last if number is None else number
        gone.pop(last, None)
        found.append((turn, turns[max(last, 0)][1]))
    return found, repaired, [*gone.values()]


@define
class CallNames:
    """Names the calls that servers give without an id, and the results that answer them.

    A result without an id answers the first call that waits. An id that is a number becomes text.
    """

    waiting: list[str]
    _named: int = 0

    def call(self, call_id: object) -> object:
        """Return the id of a call, a new one if it has none."""
        if call_id in (None, ""):
            self._named += 1
            call_id = f"unnamed_{self._named}"
        self.waiting.append(str(call_id))
        return _as_text(call_id)

    def result(self, call_id: object) -> object:
        """Return the id of the call that a result answers."""
        call_id = _as_text(call_id)
        if call_id in (None, "") and self.waiting:
            call_id = self.waiting[0]
        if call_id in self.waiting:
            self.waiting.remove(str(call_id))
        return call_id


def _as_text(call_id: object) -> object:
    return str(call_id) if isinstance(call_id, int) else call_id


def result_text(content: object) -> object:
    """Return the content of a result, as text if it is null or a number.

    >>> result_text(None), result_text(7), result_text(["plums"])
    ('', '7', ['plums'])
    """
    if content is None:
        return ""
    return compact(content) if isinstance(content, int | float) else content


def mended(
    turns: Iterable[tuple[Turn, T]], waiting: Iterable[str] = ()
) -> Iterator[tuple[Turn, T | None]]:
    """Yield `turns` with exactly one result behind each call, except for calls at the very end.

    A result moves to its call, from behind or from before. The second result of a call and a result
    without a call are left out with a warning. A missing result is added, with None as its second
    value. `waiting` are ids of earlier calls without a result.

    >>> late = [Turn("user", "Go on."), Turn("tool", "7 plums", tool_call_id="c")]
    >>> [turn.role.value for turn, _ in mended([(turn, 0) for turn in late], ["c"])]
    ['tool', 'user']
    """
    calls, omitted = dict.fromkeys(waiting), list[str]()
    atoms = _atoms(turns, calls, are_early_moved=True)
    for number, atom in enumerate(atoms, 1):
        for turn, whose in atom:
            if turn.role is not Role.TOOL:
                calls = dict.fromkeys(call.id for call in turn.tool_calls)
            elif turn.tool_call_id in calls:
                del calls[turn.tool_call_id]
            else:
                omitted.append(shown(turn.tool_call_id))
                continue
            yield turn, whose
        if number < len(atoms):
            yield from ((missing_result(call), None) for call in calls)
    if omitted:
        _LOG.warning("omitted results that answer no open call: %s", _listed(omitted))


def missing_result(call_id: str, content: str = NO_RESULT, **fields: Any) -> Turn:
    """Return the marked result of a call that has none."""
    return Turn(Role.TOOL, content, tool_call_id=call_id, metadata={"repaired": True}, **fields)


def _atoms(
    turns: Iterable[tuple[Turn, T]], waiting: Iterable[str] = (), *, are_early_moved: bool = False
) -> list[list[tuple[Turn, T]]]:
    """Return each turn that is no result with the results behind it, moved to those of its calls.

    The first run has results of earlier calls, `waiting`. Results that stand before their only call
    are moved if `are_early_moved`: ids recur, so a result goes to an earlier call if there is one.
    """
    atoms: list[list[tuple[Turn, T]]] = [[]]
    owners, early = dict.fromkeys(waiting, atoms[0]), list[tuple[Turn, T]]()
    called = set(owners)
    for turn, whose in turns:
        if turn.role is not Role.TOOL:
            atoms.append([(turn, whose)])
            owners |= dict.fromkeys((call.id for call in turn.tool_calls), atoms[-1])
            called.update(call.id for call in turn.tool_calls)
        elif are_early_moved and turn.tool_call_id not in called:
            early.append((turn, whose))
        else:
            owners.pop(turn.tool_call_id or "", atoms[-1]).append((turn, whose))
    for turn, whose in early:
        owners.pop(turn.tool_call_id or "", atoms[0]).append((turn, whose))
    return atoms


def _check(provider: Provider, turns: Iterable[tuple[Turn, int]], waiting: dict[str, None]) -> None:
    """Raise `InvalidMessagesError` unless exactly one result directly follows each call."""
    answered, caller = set[str](), 0
    for turn, place in turns:
        if turn.role is not Role.TOOL:
            if waiting:
                raise unanswered(provider, caller, list(waiting))
            waiting, caller = dict.fromkeys(call.id for call in turn.tool_calls), place
            answered.clear()
            continue
        call_id, where = turn.tool_call_id or "", Place(provider, ("messages", place))
        if call_id in answered:
            problem = f"call {shown(call_id)} has a result already"
            raise where.refuse("duplicate-result", problem, "one result a call")
        if call_id not in waiting:
            problem = f"no call {shown(call_id)} directly before this result"
            raise where.refuse("orphan-result", problem, BEHIND_CALL)
        del waiting[call_id]
        answered.add(call_id)


def unanswered(provider: Provider, place: int, calls: Sequence[str]) -> InvalidMessagesError:
    """Return the error for `calls` of message `place` that have no result."""
    return Place(provider, ("messages", place)).refuse(
        "unanswered-call", without_results(calls), ONE_RESULT
    )


def without_results(calls: Sequence[str]) -> str:
    """Return the error text for `calls` without a result.

    >>> without_results(["a", "b"])
    "no result directly after it for calls 'a', 'b'"
    """
    named = _listed([*map(shown, calls)])
    return f"no result directly after it for call{'s' * (len(calls) > 1)} {named}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)
