"""What completion offers, and who offers it."""

from collections.abc import Iterable
from typing import Protocol

from attrs import frozen

from polycontext.window.pills.pill import PillType


@frozen(order=True)
class Candidate:
    """Offer a name to attach, annotated with its type and, for a symbol, where it is defined."""

    name: str
    type: PillType
    detail: str = ""


class Source(Protocol):
    """Know names of one type that can be completed; the house's own resolvers are sources too."""

    @property
    def type(self) -> PillType:
        """Return the type of the names."""
        ...

    def entries(self) -> Iterable[Candidate]:
        """Yield everything there is to offer now, in any order; may take its time."""
        ...
