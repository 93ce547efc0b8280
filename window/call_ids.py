"""Ids of calls: how equal ones are told apart, and which id a request sends for each.

Servers count ids anew in each answer, give two calls of an answer one id, or write ids that another
vendor refuses. Turns keep the ids that came. A request sends an id that is unique and legal at its
provider, and the same one for a call every time: it depends on the call and its turn, not on what
else is in view.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Literal, TypeVar

from attrs import Factory, define, evolve

from .turn import ToolCall, Turn, free_name

REUSED = "reused_ids"
"""The metadata key with the ids of a turn's calls that earlier turns of the log have used."""

MAX_ID = 40
"""The most characters of an id that is made here, which every provider accepts."""

_MOST_KEPT = 24
_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")
_LEGAL = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_ID}}}")
T = TypeVar("T")


def cleaned(name: str) -> str:
    """Return `name` with ``_`` in place of all but letters, digits, ``_`` and ``-``."""
    return _OUTSIDE.sub("_", name)


@define
class OpenCalls:
    """The ids of calls that wait for their results, in order.

    >>> from polycontext.window import ToolCall, Turn
    >>> caller = Turn("assistant", "", tool_calls=[ToolCall("a", "look")] * 2)
    >>> calls = OpenCalls({"a_2": None}, caller)
    >>> [calls.answering(Turn("tool", "7", tool_call_id=name)).tool_call_id for name in ("a", "b")]
    ['a_2', 'b']
    """

    waiting: dict[str, None]
    caller: Turn | None = None
    """The turn that made them, if it is known."""

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the ids of the caller's calls, by what a result may name: those or sent ones."""
        if self.caller is None:
            return {}
        return {call.id: call.id for call in self.caller.tool_calls} | sent_names(self.caller)

    def __iter__(self) -> Iterator[str]:
        return iter(self.waiting)

    def answering(self, turn: Turn) -> Turn:
        """Return a result with the id of the call that it answers.

        It may name the id that came or the one that a request sends in its place. If that call has
        a result, it answers the next one that came with the same id.
        """
        given = turn.tool_call_id or ""
        if given in self.waiting or given not in self.names:
            return turn
        found = self.names[given]
        if found not in self.waiting:
            numbered = re.compile(re.escape(found) + r"_\d+")
            found = next(filter(numbered.fullmatch, self.waiting), found)
        return evolve(turn, tool_call_id=found)


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
            calls.names |= zip(ids, ids, strict=True)
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


def aliases(names: Iterable[str], longest: int) -> dict[str, str]:
    """Return replacements for the names that a provider does not accept.

    A name is replaced if it has characters other than letters, digits, ``_`` and ``-``, or more
    than `longest` characters.

    Law: all names, replaced or not, stay distinct.

    >>> aliases(["f:1", "f_1", "ok"], 9), aliases(["search_web", "search_all"], 6)
    ({'f:1': 'f_1_2'}, {'search_web': 'search', 'search_all': 'sear_2'})
    """
    given = list(dict.fromkeys(names))
    taken, found = set(given), dict[str, str]()
    for name in given:
        if cleaned(name) != name or len(name) > longest:
            found[name] = free_name(cleaned(name), taken, longest)
            taken.add(found[name])
    return found


@define
class SentCalls:
    """The ids and names that a request sends for its calls, given its turns in order.

    An id that `is_legal` is sent as it is, unless it was used before: in the same turn, in the log
    (as the turn's mark says), or in the request, whatever the turns say.

    >>> from polycontext.window import ToolCall, Turn
    >>> calls = SentCalls(str.isalnum, within="request", longest=9)
    >>> for number in (1, 2):
    ...     made = [ToolCall("a", "look"), ToolCall("a.b", "look")]
    ...     calls.add(Turn("assistant", None, tool_calls=made, resource_id=f"t{number}"))
    ...     calls.ids
    {'a': 'a', 'a.b': 'a_b_t1'}
    {'a': 'a_t2', 'a.b': 'a_b_t2'}
    """

    is_legal: Callable[[str], object]
    within: Literal["turn", "log", "request"]
    longest: int
    """The most characters of a name."""
    ids: dict[str, str] = Factory(dict)
    """The ids to send for the last turn that called, by its own."""
    _names: dict[str, str] = Factory(dict)
    _taken: set[str] = Factory(set)
    _made: set[str] = Factory(set)

    def add(self, turn: Turn, kept: Collection[str] = ()) -> None:
        """Choose what to send for the calls of `turn`; the ids in `kept` count as legal."""
        self._names = aliases((call.name for call in turn.tool_calls), self.longest)
        reused = () if self.within == "turn" else turn.metadata.get(REUSED, ())
        before = self._taken if self.within == "request" else self._made
        ids = [call.id for call in turn.tool_calls]
        used = {*reused, *before.intersection(ids)}
        self._taken.update(ids)
        self.ids = {}
        for name in ids:
            self.ids[name] = name
            if name in used or not (self.is_legal(name) or name in kept):
                self.ids[name] = made = free_name(replacement(name, turn), self._taken, MAX_ID)
                self._made.add(made)
                self._taken.add(made)

    def name(self, call: ToolCall) -> str:
        """Return the name to send for a call of the last turn that called."""
        return self._names.get(call.name, call.name)

    def answered(self, turn: Turn) -> str:
        """Return the id to send for the call that a result answers."""
        return self.ids.get(turn.tool_call_id or "", turn.tool_call_id or "")


def sent_names(caller: Turn) -> dict[str, str]:
    """Return the ids that a request may send for the calls of `caller`, with those that came."""
    names = {replacement(call.id, caller): call.id for call in reversed(caller.tool_calls)}
    # Ids that every provider accepts are replaced only if they were used before.
    for is_legal in (lambda _: None, _LEGAL.fullmatch):
        calls = SentCalls(is_legal, "log", MAX_ID)
        calls.add(caller)
        names |= {name: call_id for call_id, name in calls.ids.items()}
    return names
