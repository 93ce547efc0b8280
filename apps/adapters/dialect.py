"""Dialects, which convert between a framework's messages and turns; the rest is shared."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Generic, TypeVar

from attrs import evolve, frozen

from polycontext.polynomial.session import Kept, Seen
from polycontext.window import Role, Turn

N = TypeVar("N")
"""A message of the framework."""


@frozen
class Piece:
    """A turn, and the messages it comes from: those from `start` up to `stop`.

    All turns of one message name that message.
    """

    turn: Turn
    start: int
    stop: int


@frozen
class Held(Generic[N]):
    """The framework's own messages of a turn, their place, and the number of turns they hold."""

    natives: tuple[N, ...]
    place: int
    turns: int


class Dialect(ABC, Generic[N]):
    """Read a framework's messages, and write those that did not come from it.

    An unchanged message is sent as the very object that came in, because a conversion would lose
    ids, signatures and unknown fields. Only gists, and turns that lost a part, are written anew.
    """

    @abstractmethod
    def split(self, natives: Sequence[N]) -> Iterable[Piece]:
        """Yield the turns of `natives` in order, each with the messages it comes from.

        A message without turns belongs to the message before it.
        """

    @abstractmethod
    def write(self, turns: Sequence[Turn]) -> Sequence[N]:
        """Return new messages for `turns`: the rest of one message of the framework, or a gist."""

    def merge(self, natives: Sequence[N]) -> Sequence[N]:
        """Return the messages to send, after a last change to the list as a whole.

        Override it if the framework requires neighbours of one role to be one message.
        """
        return natives

    def join(self, view: Iterable[Seen]) -> list[N]:
        """Return the messages of a view: the original objects if unchanged, new ones otherwise.

        Law: a view in which nothing was compressed is exactly the messages that were split.
        """
        out: list[N] = []
        names: dict[str | None, str] = {}
        for _, group in groupby(view, _origin):
            items = [*group]
            names |= {call.id: call.name for item in items for call in item.turn.tool_calls}
            held = [
                item.handle
                for item in items
                if isinstance(item, Kept) and isinstance(item.handle, Held)
            ]
            if held and len(held) == len(items) == held[0].turns:
                out += held[0].natives
            else:
                out += self.write([_named(item.turn, names) for item in items])
        return [*self.merge(out)]


class MessageDialect(Dialect[N]):
    """Read a framework's messages one by one, where each message determines its own turns."""

    @abstractmethod
    def read(self, native: N) -> Iterable[Turn]:
        """Return the turns of a message, none if it says nothing to a model.

        A message without turns belongs to the message before it, or else to the next one.
        """

    def split(self, natives: Sequence[N]) -> Iterator[Piece]:
        """Yield the turns of each message."""
        read = [[*self.read(native)] for native in natives]
        start, said = 0, [place for place, turns in enumerate(read) if turns]
        for stop in [*said[1:], len(read)]:
            yield from (Piece(turn, start, stop) for turns in read[start:stop] for turn in turns)
            start = stop


def _named(turn: Turn, names: Mapping[str | None, str]) -> Turn:
    """Return a result with the name of its tool, which some vendors require."""
    if turn.role is not Role.TOOL or turn.name or turn.tool_call_id not in names:
        return turn
    return evolve(turn, name=names[turn.tool_call_id])


def _origin(item: Seen) -> object:
    """Return a key that the turns of one message share.

    The rest of a turn that lost a part still belongs to its message.
    """
    came = item.came if isinstance(item, Kept) and item.handle is None else item.handle
    return came.place if isinstance(came, Held) else item.turn.resource_id
