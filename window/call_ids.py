"""Ids of calls: how equal ones are told apart, and which id a request sends for each.

Servers count ids anew in each answer, give two calls of an answer one id, or write ids that another
vendor refuses. Turns keep the ids that came. A request sends an id that is unique and legal at its
provider, and the same one for a call every time: it depends on the call and its turn, not on what
else is in view.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, TypeVar

from attrs import Factory, define, evolve

from .turn import Turn, free_name

REUSED = "reused_ids"
"""The metadata key with the ids of a turn's calls that earlier turns of the log have used."""

MAX_ID = 40
"""The most characters of an id that is made here, which every provider accepts."""

_MOST_KEPT = 24
_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")
T = TypeVar("T")


def cleaned(name: str) -> str:
    """Return `name` with ``_`` in place of all but letters, digits, ``_`` and ``-``."""
    return _OUTSIDE.sub("_", name)


def find_call(given: str, waiting: Iterable[str], called: Collection[str]) -> str:
    """Return the id of the `waiting` call that a result for `given` answers.

    That is `given` itself, unless it has a result and a call that came with the same id waits.
    `called` are the ids of the turn that called. Without such a call, `given` is returned.

    >>> find_call("a", ["a_2"], ["a", "a_2"]), find_call("b", ["a"], ["a"])
    ('a_2', 'b')
    """
    waiting = [*waiting]
    if given in waiting or given not in called:
        return given
    numbered = re.compile(re.escape(given) + r"_\d+")
    return next(filter(numbered.fullmatch, waiting), given)


@define
class OpenCalls:
    """The ids of calls that wait for their results, in order."""

    waiting: dict[str, None]
    caller: Turn | None = None
    """The turn that made them, if it is known."""
    called: set[str] = Factory(set)
    """The ids of calls that were added later."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.waiting)

    def answering(self, turn: Turn) -> Turn:
        """Return a result with the id of the call that it answers.

        It may name the id that came or the one that a request sends in its place.
        """
        given = turn.tool_call_id or ""
        if given in self.waiting:
            return turn
        names, called = dict[str, str](), self.called
        if self.caller is not None:
            called = called | {call.id for call in self.caller.tool_calls}
            names = sent_names(self.caller)
        found = find_call(names.get(given, given), self.waiting, called)
        return turn if found == given else evolve(turn, tool_call_id=found)


def answers_named(
    turns: Iterable[tuple[Turn, T]], waiting: Iterable[str] = ()
) -> Iterator[tuple[Turn, T]]:
    """Yield `turns`, the results with the ids of the calls that they answer.

    `waiting` are earlier calls without a result. The second value of each pair stays with its turn.
    """
    caller = waiting.caller if isinstance(waiting, OpenCalls) else None
    calls = OpenCalls(dict.fromkeys(waiting), caller)
    for turn, place in turns:
        if turn.tool_call_id is None:
            ids = [call.id for call in turn.tool_calls]
            calls.waiting |= dict.fromkeys(ids)
            calls.called.update(ids)
            yield turn, place
        else:
            result = calls.answering(turn)
            calls.waiting.pop(result.tool_call_id or "", None)
            yield result, place


def with_reused(turn: Turn, is_used: Callable[[str], bool]) -> Turn:
    """Return `turn` with a mark that names the ids of its calls which are used before it."""
    reused = [call.id for call in turn.tool_calls if is_used(call.id)]
    return evolve(turn, metadata={**turn.metadata, REUSED: reused}) if reused else turn


def replacement(call_id: str, caller: Turn) -> str:
    """Return the id to send for a call whose own cannot be sent.

    It names the turn, so that it is unique, and the same in every request.
    """
    owner = caller.sources[0] if caller.sources else caller.resource_id
    name = f"{call_id[:_MOST_KEPT]}_{owner}" if owner else call_id
    return cleaned(name)[:MAX_ID] or "call"


@define
class SentIds:
    """The ids that a request sends for its calls, given its turns in order.

    An id that `is_legal` is sent as it is, unless it was used before: in the same turn, in the log
    (as the turn's mark says), or in the request, whatever the turns say.

    >>> from polycontext.window import ToolCall, Turn
    >>> ids = SentIds(str.isalnum, within="request")
    >>> for number in (1, 2):
    ...     calls = [ToolCall("a", "look"), ToolCall("a.b", "look")]
    ...     ids.add(Turn("assistant", None, tool_calls=calls, resource_id=f"t{number}"))
    ...     ids.sent
    {'a': 'a', 'a.b': 'a_b_t1'}
    {'a': 'a_t2', 'a.b': 'a_b_t2'}
    """

    is_legal: Callable[[str], object]
    within: Literal["turn", "log", "request"]
    sent: dict[str, str] = Factory(dict)
    """The ids to send for the last turn that called, by its own."""
    _taken: set[str] = Factory(set)
    _made: set[str] = Factory(set)

    def add(self, turn: Turn, kept: Collection[str] = ()) -> None:
        """Choose the ids for the calls of `turn`; those in `kept` are sent if they are illegal."""
        used: Collection[str] = () if self.within == "turn" else turn.metadata.get(REUSED, ())
        before = self._taken if self.within == "request" else self._made
        used = {*used, *(call.id for call in turn.tool_calls if call.id in before)}
        self._taken.update(call.id for call in turn.tool_calls)
        self.sent = {}
        for call in turn.tool_calls:
            is_sent = call.id not in used and (self.is_legal(call.id) or call.id in kept)
            name = call.id if is_sent else replacement(call.id, turn)
            if not is_sent:
                name = free_name(name, self._taken, MAX_ID)
                self._made.add(name)
            self.sent[call.id] = name
            self._taken.add(name)


def sent_names(caller: Turn) -> dict[str, str]:
    """Return the ids that a request may send for the calls of `caller`, with those that came."""
    ids = SentIds(lambda _: False, "turn")
    ids.add(caller)
    numbered = {name: call_id for call_id, name in ids.sent.items()}
    plain = {replacement(call.id, caller): call.id for call in reversed(caller.tool_calls)}
    return numbered | plain
