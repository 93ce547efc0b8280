"""What became of every turn of a session."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import ERASED, is_erased
from polycontext.pressure import Fidelity, is_pointer, is_summary, superseded_ids
from polycontext.window import Turn


class Now(StrEnum):
    """Say what is left of a turn in the view."""

    WHOLE = "word for word"
    LESS = "without its parts"
    OLD = "word for word, superseded"
    POINTED = "superseded"
    CUT = "cut"
    SUMMARISED = "summarised"
    DROPPED = "dropped"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"


_FIDELITIES = {
    Now.WHOLE: Fidelity.VERBATIM,
    Now.LESS: Fidelity.VERBATIM,
    Now.OLD: Fidelity.VERBATIM,
    Now.POINTED: Fidelity.GIST,
    Now.CUT: Fidelity.GIST,
    Now.SUMMARISED: Fidelity.GIST,
    Now.DROPPED: Fidelity.DROPPED,
    Now.FORGOTTEN: Fidelity.DROPPED,
    Now.EXPIRED: Fidelity.DROPPED,
}


@frozen
class Became:
    """Say what is left of one turn of the log; `inside` is the id of the gist that stands for it."""

    number: int
    turn: Turn
    resource_class: ResourceClass
    now: Now
    inside: str | None = None

    @property
    def fidelity(self) -> Fidelity:
        """Return how much of it the view holds."""
        return _FIDELITIES[self.now]

    def as_json(self) -> dict[str, Any]:
        """Return it, JSON-ready; its words are what `session explain` tells."""
        return {
            "id": self.turn.resource_id,
            "role": str(self.turn.role),
            "class": self.resource_class.name,
            "tokens": self.turn.tokens,
            "fidelity": self.fidelity.name,
            "now": str(self.now),
            "stands_for_it": self.inside,
        }


def became(session: ContextSession) -> Iterator[Became]:
    """Yield what became of every turn of the log, in order; O(log)."""
    window = session.window
    standing = {turn.resource_id: turn for turn in window.all_turns()}
    gists = {source: turn for turn in standing.values() for source in turn.sources}
    old = set(superseded_ids(window, session.policy.projector.reach))
    for number, turn in enumerate(session.conversation.log, 1):
        now, inside = _now(turn, standing.get(turn.resource_id), gists.get(turn.resource_id), turn.resource_id in old)
        yield Became(number, turn, window.linearity.get(turn.resource_id), now, inside)


def _now(turn: Turn, standing: Turn | None, gist: Turn | None, is_old: bool) -> tuple[Now, str | None]:  # noqa: FBT001
    if is_erased(turn):
        return Now(turn.metadata[ERASED]), None
    if standing is not None:
        if len(standing.parts) < len(turn.parts):
            return Now.LESS, None
        return (Now.OLD if is_old else Now.WHOLE), None
    if gist is None:
        return Now.DROPPED, None
    now = Now.POINTED if is_pointer(gist) else Now.SUMMARISED if is_summary(gist) else Now.CUT
    return now, gist.resource_id
