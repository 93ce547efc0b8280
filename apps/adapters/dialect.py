"""How a framework says what turns say: the one thing that differs from adapter to adapter."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Generic, TypeVar

from attrs import frozen

from polycontext.polynomial.session import Kept, Seen
from polycontext.window import Turn

N = TypeVar("N")
"""A message as the framework has it."""


@frozen
class Piece:
    """Hold a turn, and which messages it is from: those from `start` up to `stop`.

    Of several turns of one message each names it.
    """

    turn: Turn
    start: int
    stop: int


@frozen
class Held(Generic[N]):
    """Hold the framework's own messages of a turn, where they stood, and of how many turns they are."""

    natives: tuple[N, ...]
    place: int
    turns: int


class Dialect(ABC, Generic[N]):
    """Read a framework's messages, and write what did not come from it.

    What stands goes out as the very object it came as: converting loses ids, signatures and what
    nobody here knows of. Only gists, and turns of which some has fallen, are written anew.
    """

    @abstractmethod
    def split(self, natives: Sequence[N]) -> Iterable[Piece]:
        """Yield the turns of `natives` in order, each with the messages that it is from.

        A message of no turn goes with the one before it.
        """

    @abstractmethod
    def write(self, turns: Sequence[Turn]) -> Sequence[N]:
        """Return new messages that say what `turns` say: what is left of one message of the framework, or a gist."""

    def merge(self, natives: Sequence[N]) -> Sequence[N]:
        """Return what goes out, once more looked at: where a framework wants neighbours of one role to be one message."""
        return natives

    def join(self, view: Iterable[Seen]) -> list[N]:
        """Return the messages of a view: the framework's own objects for what stands whole, new ones for the rest.

        Law: a view in which nothing has yielded is the very messages that were split.
        """
        out: list[N] = []
        for _, group in groupby(view, _origin):
            items = [*group]
            held = [
                item.handle
                for item in items
                if isinstance(item, Kept) and isinstance(item.handle, Held)
            ]
            if held and len(held) == len(items) == held[0].turns:
                out += held[0].natives
            else:
                out += self.write([item.turn for item in items])
        return [*self.merge(out)]


class MessageDialect(Dialect[N]):
    """Read a framework's messages one by one, where each says by itself which turns it is."""

    @abstractmethod
    def read(self, native: N) -> Iterable[Turn]:
        """Return the turns of a message, none where it says nothing to a model: then it goes with the one before it, the first with the next."""

    def split(self, natives: Sequence[N]) -> Iterator[Piece]:
        """Yield the turns of each message."""
        read = [[*self.read(native)] for native in natives]
        start, said = 0, [place for place, turns in enumerate(read) if turns]
        for stop in [*said[1:], len(read)]:
            yield from (Piece(turn, start, stop) for turns in read[start:stop] for turn in turns)
            start = stop


def _origin(item: Seen) -> object:
    """Return what tells the turns of one message from those of another: what has fallen of one is no message of its own."""
    came = item.came if isinstance(item, Kept) and item.handle is None else item.handle
    return came.place if isinstance(came, Held) else item.turn.resource_id
