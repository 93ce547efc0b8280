"""Atoms, the units that are kept or evicted whole, and splices, which replace runs of turns.

An atom is one turn, or an assistant turn with tool calls together with all results of those calls.
Results are matched to calls by adjacency, because call ids are reused across turns.

A call that the vendor's own server answers may have its result in a later turn, and calls of the
client's tools between: a program. A provider refuses either half without the other, so a plan
takes the atoms of a program as one (`AtomColumns.units`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from attrs import frozen

from polycontext.base import InvalidOptionError
from polycontext.linearity import LinearityMap

from .errors import OrderError
from .part import Part
from .turn import Role, Turn

_STARTS = {"server_tool_use": "id", "mcp_tool_use": "id", "program": "call_id"}
_ENDS = {"program_output": "call_id"}
"""The types of blocks that begin and end a program, with the field that names it.

Those of Anthropic's server tools end with a block whose type ends with `_tool_result`.
"""


@frozen
class Atom:
    """A run of turns that is kept or evicted whole.

    `start` and `stop` are half-open indices into the window's turns. `turns` holds the turns
    between them and `tokens` their total. `is_open` is true while a call has no result.
    """

    start: int
    stop: int
    turns: tuple[Turn, ...]
    tokens: int
    is_open: bool

    @property
    def id(self) -> str:
        """Return the resource id of the first turn, which identifies the atom."""
        return self.turns[0].resource_id

    @property
    def resource_ids(self) -> tuple[str, ...]:
        """Return the ids of all turns in the atom."""
        return tuple(turn.resource_id for turn in self.turns)


@frozen
class AtomColumns:
    """The atoms of a window as columns, for bulk work on many atoms.

    `bounds` has one entry more than there are atoms: atom i is turns ``bounds[i]:bounds[i + 1]``.
    """

    turns: Sequence[Turn]
    bounds: list[int]
    tokens: list[int]

    def __len__(self) -> int:
        return len(self.tokens)

    def turns_of(self, atom: int) -> Sequence[Turn]:
        """Return the turns of the atom with index `atom`."""
        return self.turns[self.bounds[atom] : self.bounds[atom + 1]]

    def heads(self, atom: int) -> list[str]:
        """Return the ids of the turns of an atom that are no results: one, or more of a program."""
        return [turn.resource_id for turn in self.turns_of(atom) if turn.role is not Role.TOOL]

    def units(self) -> "AtomColumns":
        """Return the columns with the atoms of each program merged into one."""
        runs = [range(start + 1, stop) for start, stop, _ in programs(self.turns)]
        inner = {place for run in runs for place in run}
        if not inner:
            return self
        kept = [atom for atom, bound in enumerate(self.bounds) if bound not in inner]
        tokens = [sum(self.tokens[first:last]) for first, last in pairwise(kept)]
        return AtomColumns(self.turns, [self.bounds[atom] for atom in kept], tokens)

    @property
    def is_running(self) -> bool:
        """Return whether a program has no result yet."""
        return any(not is_done for *_, is_done in programs(self.turns))

    def is_program(self, atom: int) -> bool:
        """Return whether the atom with index `atom` was merged out of several."""
        return len(self.heads(atom)) > 1


def atom_columns(turns: Sequence[Turn], sums: Sequence[int]) -> AtomColumns:
    """Group `turns`, whose order has already been checked, into atoms.

    `sums` are running token sums with a leading 0.
    """
    # A tool result always follows its call, so every other turn begins an atom.
    result = Role.TOOL
    bounds = [
        index for index, role in enumerate(map(attrgetter("role"), turns)) if role is not result
    ]
    bounds.append(len(turns))
    tokens = [sums[stop] - sums[start] for start, stop in pairwise(bounds)]
    return AtomColumns(turns, bounds, tokens)


def programs(turns: Sequence[Turn]) -> Iterator[tuple[int, int, bool]]:
    """Yield the programs in `turns`: start and stop, half-open, and whether it has its result.

    One that still runs ends with the last turn; one that has no result when the user goes on was
    interrupted, and is none.
    """
    running: dict[str, int] = {}
    for index, turn in enumerate(turns):
        if running and turn.role is Role.USER:
            running.clear()
        for part in turn.parts:
            if part.type in _STARTS:
                running[_name(part, _STARTS[part.type])] = index
            elif part.type in _ENDS or part.type.endswith("_tool_result"):
                start = running.pop(_name(part, _ENDS.get(part.type, "tool_use_id")), index)
                if start < index:
                    yield start, index + 1, True
    if running:
        yield min(running.values()), len(turns), False


def _name(part: Part, key: str) -> str:
    return str(part.load().get(key))


def open_after(turn: Turn, waiting: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of the open calls after `turn`, given the `waiting` ones before it.

    Raises:
        OrderError: `turn` is a result for no open call or a second result for one, or any other
            turn while calls are open.
    """
    if turn.role is Role.TOOL:
        if turn.tool_call_id not in waiting:
            problem = f"its call {turn.tool_call_id!r} is not open (unknown, or already answered)"
            legal = (
                f"results for {list(waiting)}"
                if waiting
                else "the assistant message with its call first, since no call is open, "
                "or nothing if the result is there"
            )
            raise OrderError(turn.role, problem, legal)
        answered = waiting.index(turn.tool_call_id)
        return waiting[:answered] + waiting[answered + 1 :]
    if waiting:
        raise OrderError(
            turn.role, f"calls {list(waiting)} are open", "tool turns with their results"
        )
    return tuple(call.id for call in turn.tool_calls)


def open_calls(turns: Iterable[Turn]) -> tuple[str, ...]:
    """Return the ids of the calls in `turns` that have no result yet.

    Raises the errors of `open_after` for the first turn that is out of order.

    >>> open_calls([Turn("user", "hi")])
    ()
    """
    waiting: dict[str, None] = {}
    for turn in turns:
        if turn.tool_call_id in waiting:
            del waiting[turn.tool_call_id]
        else:
            waiting = dict.fromkeys(open_after(turn, tuple(waiting)))
    return tuple(waiting)


@frozen
class Splice:
    """A replacement of the turns ``start:stop`` of a window by `turns`."""

    start: int
    stop: int
    turns: tuple[Turn, ...] = ()


def check_splices(splices: Sequence[Splice], length: int, ledger: LinearityMap) -> None:
    """Raise `InvalidOptionError` unless `splices` can be applied to a window of `length` turns.

    The runs must be disjoint, in order and within the window. New turns must have a token count and
    an id that `ledger` knows.
    """
    done = 0
    for splice in splices:
        if not done <= splice.start <= splice.stop <= length:
            raise InvalidOptionError(
                "splices", splice, f"disjoint runs in order within {done}:{length}"
            )
        for turn in splice.turns:
            if turn.tokens is None or turn.resource_id not in ledger:
                raise InvalidOptionError(
                    "splices", turn, "new turns that are counted and whose ids are tagged"
                )
        done = splice.stop


def spliced(turns: Sequence[Turn], splices: Sequence[Splice]) -> list[Turn]:
    """Return `turns` with the runs of `splices` replaced."""
    result: list[Turn] = []
    done = 0
    for splice in splices:
        result.extend(turns[done : splice.start])
        result.extend(splice.turns)
        done = splice.stop
    result.extend(turns[done:])
    return result
