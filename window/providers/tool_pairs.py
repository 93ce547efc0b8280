"""Pairing of calls and results by adjacency.

Call ids are unique within one turn only (recorded conversations reuse them in
later turns), so a result answers the calls of the assistant turn directly
before its run of results, and nothing else.
"""

from collections.abc import Sequence

from attrs import Factory, define

from ..atoms import open_calls
from ..errors import InvalidMessagesError
from ..turn import Role, Turn
from .blocks import Place, shown
from .wire import Message, Parsed, Provider

NO_RESULT = "[no result was recorded for this call]"
"""What a result says that `repair` adds."""

_NAMED = 5
"""Calls that an error names."""

ONE_RESULT = "one result for each call, directly after the message that called"
BEHIND_CALL = "results directly after the assistant message that called"


@define
class Pairing:
    """Collect turns in order and see that every call has exactly one result directly after it.

    Linear in the number of turns and calls. A call may stay open at the very end. `waiting` are the
    ids of calls that have no result yet, at first those of turns before these.
    """

    provider: Provider
    repair: bool = False
    turns: list[Turn] = Factory(list)
    places: list[int] = Factory(list)
    repaired: list[int] = Factory(list)
    waiting: dict[str, None] = Factory(dict)
    _answered: set[str] = Factory(set)
    _caller: int = 0

    def add(self, turn: Turn, place: int) -> None:
        """Append `turn`, which came from message `place`.

        Raises:
            InvalidMessagesError: rules orphan-result, duplicate-result, unanswered-call.
        """
        if turn.role is Role.TOOL:
            self._answer(turn.tool_call_id or "", Place(self.provider, place))
        else:
            self._close()
            self.waiting, self._answered, self._caller = (
                dict.fromkeys(call.id for call in turn.tool_calls),
                set(),
                place,
            )
        self._append(turn, place)

    def parsed(self, messages: Sequence[Message]) -> Parsed:
        """Return what was collected, with the messages it came from."""
        return Parsed(
            self.provider,
            tuple(self.turns),
            tuple(self.places),
            tuple(messages),
            tuple(self.repaired),
        )

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
        # They stand where the results should have: behind the last turn that came, at its message.
        for call_id in self.waiting:
            self.repaired.append(len(self.turns))
            self._append(
                Turn(Role.TOOL, NO_RESULT, tool_call_id=call_id, metadata={"repaired": True}),
                self.places[-1] if self.places else 0,
            )


def unanswered(provider: Provider, place: int, calls: Sequence[str]) -> InvalidMessagesError:
    """Return the error for `calls` of message `place` that have no result."""
    return Place(provider, place).refuse("unanswered-call", without_results(calls), ONE_RESULT)


def without_results(calls: Sequence[str]) -> str:
    """Say that `calls` have no result.

    >>> without_results(["a", "b"])
    "no result directly after it for calls 'a', 'b'"
    """
    named = ", ".join(map(shown, calls[:_NAMED])) + ", ..." * (len(calls) > _NAMED)
    return f"no result directly after it for call{'s' * (len(calls) > 1)} {named}"


def refuse_open_tail(parsed: Parsed) -> None:
    """Raise if the last calls of `parsed` have no result yet."""
    calls = open_calls(parsed.turns)
    if calls:
        caller = max(index for index, turn in enumerate(parsed.turns) if turn.tool_calls)
        raise unanswered(parsed.provider, parsed.places[caller], calls)
