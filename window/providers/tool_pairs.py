"""Pairing of calls and results.

Call ids are unique within one turn only (recorded conversations reuse them in later turns). A
result therefore answers only the calls of the assistant turn directly before its run of results.
Responses pairs by id, so there a result may stand further behind: it moves to its call, as it does
in a list that is repaired.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from attrs import Factory, define

from ..errors import InvalidMessagesError
from ..turn import Role, Turn
from .places import Place, shown
from .wire import Message, Parsed, Provider

T = TypeVar("T")

NO_RESULT = "[no result was recorded for this call]"
"""The text of a result that `repair` adds."""

_NAMED = 5
"""The most calls that an error names."""

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
    `repair`, a missing result is added. Linear in the number of turns and calls.

    Raises:
        InvalidMessagesError: Rules orphan-result, duplicate-result, unanswered-call.
    """
    if repair or provider is Provider.RESPONSES:
        turns = results_behind_calls(turns, waiting)
    pairing = _Pairing(provider, repair=repair, waiting=dict.fromkeys(waiting))
    for turn, place in turns:
        pairing.add(turn, place)
    return Parsed(
        provider,
        tuple(pairing.turns),
        tuple(pairing.places),
        tuple(messages),
        tuple(pairing.repaired),
    )


@define
class CallNames:
    """Names the calls that servers give without an id, and the results that answer them.

    A result without an id answers the first call that waits.
    """

    waiting: list[str]
    _named: int = 0

    def call(self, call_id: object) -> object:
        """Return the id of a call, a new one if it has none."""
        if call_id is None or call_id == "":
            self._named += 1
            call_id = f"unnamed_{self._named}"
        self.waiting.append(str(call_id))
        return call_id

    def result(self, call_id: object) -> object:
        """Return the id of the call that a result answers."""
        if (call_id is None or call_id == "") and self.waiting:
            call_id = self.waiting[0]
        if call_id in self.waiting:
            self.waiting.remove(str(call_id))
        return call_id


def results_behind_calls(
    turns: Iterable[tuple[Turn, T]], waiting: Iterable[str] = ()
) -> Iterator[tuple[Turn, T]]:
    """Move each result that stands behind other turns to the other results of its message.

    `waiting` are ids of earlier calls without a result. The second value of each pair stays with
    its turn.
    """
    atoms: list[list[tuple[Turn, T]]] = [[]]
    owners = dict.fromkeys(waiting, atoms[0])
    for turn, place in turns:
        if turn.role is Role.TOOL:
            owners.pop(turn.tool_call_id or "", atoms[-1]).append((turn, place))
        else:
            atoms.append([(turn, place)])
            owners |= dict.fromkeys((call.id for call in turn.tool_calls), atoms[-1])
    return chain.from_iterable(atoms)


@define
class _Pairing:
    """Collects turns in order and checks that exactly one result directly follows each call."""

    provider: Provider
    repair: bool
    waiting: dict[str, None]
    turns: list[Turn] = Factory(list)
    places: list[int] = Factory(list)
    repaired: list[int] = Factory(list)
    _answered: set[str] = Factory(set)
    _caller: int = 0

    def add(self, turn: Turn, place: int) -> None:
        """Append `turn`, which comes from message `place`."""
        if turn.role is Role.TOOL:
            self._answer(turn.tool_call_id or "", Place(self.provider, ("messages", place)))
        else:
            self._close()
            self.waiting, self._answered, self._caller = (
                dict.fromkeys(call.id for call in turn.tool_calls),
                set(),
                place,
            )
        self._append(turn, place)

    def _append(self, turn: Turn, place: int) -> None:
        self.turns.append(turn)
        self.places.append(place)

    def _answer(self, call_id: str, where: Place) -> None:
        if call_id in self._answered:
            raise where.refuse(
                "duplicate-result",
                f"call {shown(call_id)} has a result already",
                "one result a call",
            )
        if call_id not in self.waiting:
            problem = f"no call {shown(call_id)} directly before this result"
            raise where.refuse("orphan-result", problem, BEHIND_CALL)
        del self.waiting[call_id]
        self._answered.add(call_id)

    def _close(self) -> None:
        if not self.waiting:
            return
        if not self.repair:
            raise unanswered(self.provider, self._caller, list(self.waiting))
        # Missing results are inserted after the last turn, with the place of its message.
        for call_id in self.waiting:
            self.repaired.append(len(self.turns))
            self._append(
                Turn(Role.TOOL, NO_RESULT, tool_call_id=call_id, metadata={"repaired": True}),
                self.places[-1] if self.places else 0,
            )


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
    named = ", ".join(map(shown, calls[:_NAMED])) + ", ..." * (len(calls) > _NAMED)
    return f"no result directly after it for call{'s' * (len(calls) > 1)} {named}"
