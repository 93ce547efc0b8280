"""The fate of each turn of a session: what the view shows of it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import ERASED, is_erased
from polycontext.pressure import Fidelity, is_summary, superseded_ids
from polycontext.pressure.gist import is_pointer
from polycontext.window import Turn


class Now(StrEnum):
    """How a turn appears in the view."""

    WHOLE = "word for word"
    LESS = "without its parts"
    OLD = "word for word, superseded"
    POINTED = "superseded"
    CUT = "cut"
    SUMMARISED = "summarised"
    DROPPED = "dropped"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"


_VERBATIM = {Now.WHOLE, Now.LESS, Now.OLD}
_GIST = {Now.POINTED, Now.CUT, Now.SUMMARISED}


@frozen
class Fate:
    """The fate of one turn of the log: what the view shows of it.

    `inside` is the id of the gist that stands for it.
    """

    number: int
    turn: Turn
    resource_class: ResourceClass
    now: Now
    inside: str | None = None

    @property
    def fidelity(self) -> Fidelity:
        """Return the fidelity at which the view holds the turn."""
        if self.now in _VERBATIM:
            return Fidelity.VERBATIM
        return Fidelity.GIST if self.now in _GIST else Fidelity.DROPPED

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data, without the turn's text, which `session explain` prints."""
        return {
            "id": self.turn.resource_id,
            "role": self.turn.role,
            "class": self.resource_class.name,
            "tokens": self.turn.tokens,
            "fidelity": self.fidelity.name,
            "now": self.now,
            "stands_for_it": self.inside,
        }


def fates(session: ContextSession) -> Iterator[Fate]:
    """Yield the fate of every turn of the log, in order; O(log)."""
    window = session.window
    standing = {turn.resource_id: turn for turn in window.all_turns()}
    gists = {source: turn for turn in standing.values() for source in turn.sources}
    old = set(superseded_ids(window, session.policy.projector.reach))
    for number, turn in enumerate(session.conversation.log, 1):
        key = turn.resource_id
        now, inside = _now(turn, standing.get(key), gists.get(key), is_old=key in old)
        yield Fate(number, turn, window.linearity.get(key), now, inside)


def _now(
    turn: Turn, standing: Turn | None, gist: Turn | None, *, is_old: bool
) -> tuple[Now, str | None]:
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
