"""The steps of a replay and its report, with the share of the prefix that a cache could keep."""

from collections.abc import Iterable
from itertools import groupby, takewhile
from typing import Any

from attrs import define, field, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from polycontext.transcripts import Conversation
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.providers import Provider


@frozen
class TurnTaken:
    """A turn that was accepted, with its class and the resulting state and pressure.

    `number` counts the turns of the recording from 1. `list_refused` is the reason why the message
    list after the turn was refused. It is None if the list was delivered, or if none was due
    because calls are open or the turn is a system turn.
    """

    number: int
    turn: Turn
    resource_class: ResourceClass
    state: str
    pressure: float
    delivered: bool = False
    list_refused: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the step as JSON data, without the turn's content."""
        return {
            "step": "turn",
            "turn": self.number,
            "role": self.turn.role,
            "class": self.resource_class.name,
            "tokens": self.turn.tokens,
            **_standing(self),
            "delivered": self.delivered,
            **({"list_refused": self.list_refused} if self.list_refused else {}),
        }


@frozen
class Shown:
    """A message that the model sees, with the numbers of the turns that it is or summarises."""

    numbers: tuple[int, ...]
    turn: Turn
    is_summary: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data, with the text only of a summary, which the recording lacks."""
        words = {"text": self.turn.text} if self.is_summary else {}
        return {
            "turns": list(self.numbers),
            "role": self.turn.role,
            "tokens": self.turn.tokens,
            "summary": self.is_summary,
            **words,
        }


@frozen
class Compressed:
    """A compression: the turns it dropped and gisted, by number, and the tokens before and after.

    Each turn is listed by the compression that removed its verbatim text. Rewriting an older
    summary does not list its turns again; dropping that summary lists them as dropped. `summaries`
    are those that this compression wrote.
    """

    tokens_before: int
    tokens_after: int
    dropped: tuple[int, ...]
    gisted: tuple[int, ...]
    state: str
    pressure: float
    summaries: tuple[Shown, ...] = ()

    @property
    def saves(self) -> bool:
        """Return whether the compression saved tokens.

        If nothing can be shortened any more, a compression only changes the state.
        """
        return self.tokens_after < self.tokens_before

    def as_json(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        return {
            "step": "compress",
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "dropped": list(self.dropped),
            "gisted": list(self.gisted),
            "summaries": [
                {"turns": list(each.numbers), "text": each.turn.text} for each in self.summaries
            ],
            **_standing(self),
        }


@frozen
class TurnRefused:
    """A turn that was refused, with the reason; state and pressure are unchanged."""

    number: int
    turn: Turn
    error: str
    reason: str
    state: str
    pressure: float

    def as_json(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        return {
            "step": "refused",
            "turn": self.number,
            "role": self.turn.role,
            "error": self.error,
            "reason": self.reason,
            **_standing(self),
        }


def _standing(step: "ReplayStep") -> dict[str, Any]:
    return {"state": step.state, "pressure": round(step.pressure, 4)}


ReplayStep = TurnTaken | Compressed | TurnRefused
"""A step of a replay."""


@frozen
class ReplayReport:
    """The steps of a replay and their totals.

    Every accepted turn is either in `seen` once, verbatim or in a summary, or in `dropped`.

    Attributes:
        turns: The number of turns in the recording.
        repaired: The numbers of the results that were added or moved to their calls.
        session: The session after the last turn.
        stopped: Whether ``strict`` ended the replay early.
        seen: The messages that the model sees after the last turn.
    """

    conversation: Conversation
    steps: tuple[ReplayStep, ...] = field(repr=False)
    turns: int
    repaired: tuple[int, ...]
    session: ContextSession = field(repr=False)
    stopped: bool
    prefix_kept: float | None
    seen: tuple[Shown, ...] = field(default=(), repr=False)

    @property
    def dropped(self) -> tuple[int, ...]:
        """Return the numbers of the accepted turns that the model no longer sees in any form."""
        seen = {number for each in self.seen for number in each.numbers}
        return tuple(step.number for step in self.taken if step.number not in seen)

    @property
    def taken(self) -> tuple[TurnTaken, ...]:
        """Return the accepted turns, in order."""
        return tuple(step for step in self.steps if isinstance(step, TurnTaken))

    @property
    def is_stuck(self) -> bool:
        """Return whether the session is PRESSURED and its last compression saved nothing.

        Further turns may then be refused.
        """
        done = [step for step in self.steps if not isinstance(step, TurnRefused)]
        return (
            self.session.state is ContextState.PRESSURED
            and isinstance(done[-1], Compressed)
            and not done[-1].saves
        )

    @property
    def refused(self) -> tuple[TurnRefused, ...]:
        """Return the refused turns."""
        return tuple(step for step in self.steps if isinstance(step, TurnRefused))

    @property
    def compressions(self) -> tuple[Compressed, ...]:
        """Return the compressions."""
        return tuple(step for step in self.steps if isinstance(step, Compressed))

    @property
    def tokens_saved(self) -> int:
        """Return the tokens that all compressions together removed from the view."""
        return sum(step.tokens_before - step.tokens_after for step in self.compressions)

    @property
    def states(self) -> tuple[str, ...]:
        """Return the states visited, in the order of the first visit."""
        return tuple(dict.fromkeys((ContextState.EMPTY, *(step.state for step in self.steps))))

    @property
    def peak(self) -> float:
        """Return the highest pressure after any step."""
        return max((step.pressure for step in self.steps), default=0.0)

    @property
    def lists(self) -> tuple[int, int]:
        """Return how many message lists were delivered, and how many were refused."""
        return (
            sum(step.delivered for step in self.taken),
            sum(step.list_refused is not None for step in self.taken),
        )

    def summary(self) -> dict[str, Any]:
        """Return the totals as JSON data."""
        delivered, undelivered = self.lists
        session, window = self.session, self.session.window
        return {
            "turns": self.turns,
            "states": list(self.states),
            "compressions": len(self.compressions),
            "tokens_saved": self.tokens_saved,
            "tokens_logged": sum(turn.tokens or 0 for turn in session.log()),
            "tokens_in_view": window.tokens,
            "max_tokens": window.max_tokens,
            "prefix_kept": self.prefix_kept and round(self.prefix_kept, 4),
            "lists_delivered": delivered,
            "lists_refused": undelivered,
            "turns_refused": len(self.refused),
            "results_repaired": list(self.repaired),
            "final_state": session.state,
            "final_pressure": round(session.pressure, 4),
            "peak_pressure": round(self.peak, 4),
            "stopped": self.stopped,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the whole report as JSON data."""
        conversation = self.conversation
        return {
            "file": conversation.source,
            "line": conversation.line,
            "id": conversation.id,
            "provider": conversation.provider,
            "summary": self.summary(),
            "steps": [step.as_json() for step in self.steps],
            "seen": [each.as_json() for each in self.seen],
            "dropped": list(self.dropped),
        }


@define
class PrefixMeter:
    """Measure how much of each request is also the prefix of the next one, in tokens.

    Requests are the message lists that a model would answer: those that end on a user turn or on a
    result. A provider's prompt cache can keep the prefix that two consecutive requests share.
    """

    _last: tuple[Turn, ...] | None = None
    _kept: int = 0
    _sent: int = 0

    def add(self, window: ContextWindow, provider: Provider) -> None:
        """Add the request that `window` renders to."""
        turns = window.all_turns()
        if provider is not Provider.OPENAI:
            # The other formats put the system turns first.
            turns = tuple(sorted(turns, key=lambda turn: turn.role is not Role.SYSTEM))
        if self._last is not None:
            # Compare by identity: windows share their unchanged turns.
            pairs = zip(self._last, turns, strict=False)
            common = takewhile(lambda pair: pair[0] is pair[1], pairs)
            self._kept += sum(turn.tokens or 0 for turn, _ in common)
            self._sent += sum(turn.tokens or 0 for turn in self._last)
        self._last = turns

    @property
    def share(self) -> float | None:
        """Return kept / sent, or None before the second request."""
        return self._kept / self._sent if self._sent else None


def ranges(numbers: Iterable[int]) -> str:
    """Format turn numbers as compact ranges.

    >>> ranges((3, 4, 5, 9))
    '3-5, 9'
    """
    # Within a run, number minus index is constant.
    placed = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    runs = ([number for _, number in run] for _, run in placed)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
