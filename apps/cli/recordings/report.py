"""What happens in a replay, step by step, and what it comes to: the summary, and the share of the prefix that a cache could keep."""

from collections.abc import Iterable
from itertools import groupby, takewhile
from typing import Any

from attrs import define, field, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.providers import Provider

from .conversation import Conversation


@frozen
class TurnTaken:
    """Record a turn that went in: its class, and the state and pressure it led to.

    `number` counts the turns of the recording from 1. `list_refused` says why the message list
    after it was not handed out (None if it was, or if none is due: calls are open, or it is a
    system turn).
    """

    number: int
    turn: Turn
    resource_class: ResourceClass
    state: str
    pressure: float
    delivered: bool = False
    list_refused: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready; the content stays in the recording."""
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
    """Hold one message that the model sees: the numbers of the turns that it is or stands for, and whether it is a summary of them."""

    numbers: tuple[int, ...]
    turn: Turn
    is_summary: bool

    def as_json(self) -> dict[str, Any]:
        """Return it, JSON-ready.

        The words of the recording stay there, those of a summary do not stand in it.
        """
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
    """Record a compression: the numbers of the turns that were dropped and gisted by it, and the tokens before and after.

    Each turn is told once, by the compression that took its words: what an earlier one had
    summarised is not told again where its summary is written anew, only where it is dropped with
    it. `summaries` are those that this one wrote.
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
        """Tell whether anything yielded.

        Where nothing may any more, a compression only changes the state.
        """
        return self.tokens_after < self.tokens_before

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready."""
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
    """Record a turn that did not go in, and why; state and pressure are as they were."""

    number: int
    turn: Turn
    error: str
    reason: str
    state: str
    pressure: float

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready."""
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
"""What a replay is made of."""


@frozen
class ReplayReport:
    """Report a replay: its steps, and what they come to.

    `turns` counts the recording's turns, `repaired` are the numbers of results that were added,
    `stopped` tells that ``strict`` ended it early, `session` is left as the last turn left it,
    `seen` is what the model sees then. Each turn that went in is in `seen` once, by itself or in a
    summary, or it is among `dropped`.
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
        """Return the numbers of the turns that went in and of which the model sees nothing any more."""
        seen = {number for each in self.seen for number in each.numbers}
        return tuple(step.number for step in self.taken if step.number not in seen)

    @property
    def taken(self) -> tuple[TurnTaken, ...]:
        """Return the turns that went in, step by step."""
        return tuple(step for step in self.steps if isinstance(step, TurnTaken))

    @property
    def is_stuck(self) -> bool:
        """Tell whether room is wanted and nothing may yield any more, so that a further turn may be refused."""
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
        """Return the tokens that all compressions together took out of the view."""
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
        """Return how many message lists were handed out, and how many refused."""
        return (
            sum(step.delivered for step in self.taken),
            sum(step.list_refused is not None for step in self.taken),
        )

    def summary(self) -> dict[str, Any]:
        """Return what the steps come to, JSON-ready."""
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
        """Return the whole report, JSON-ready."""
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
    """Measure how much of each request the next one begins with, in tokens.

    Requests are the message lists that a model would answer: those that end on a user turn or
    on a result. A provider's prompt cache can keep what two in a row begin with alike.
    """

    _last: tuple[Turn, ...] | None = None
    _kept: int = 0
    _sent: int = 0

    def add(self, window: ContextWindow, provider: Provider) -> None:
        """Enter the request that `window` gives."""
        turns = window.all_turns()
        if provider is not Provider.OPENAI:
            # The others take the system turns first.
            turns = tuple(sorted(turns, key=lambda turn: turn.role is not Role.SYSTEM))
        if self._last is not None:
            # By identity: windows share the turns that nothing touched.
            pairs = zip(self._last, turns, strict=False)
            common = takewhile(lambda pair: pair[0] is pair[1], pairs)
            self._kept += sum(turn.tokens or 0 for turn, _ in common)
            self._sent += sum(turn.tokens or 0 for turn in self._last)
        self._last = turns

    @property
    def share(self) -> float | None:
        """Return kept / sent, None before there were two requests."""
        return self._kept / self._sent if self._sent else None


def ranges(numbers: Iterable[int]) -> str:
    """Write turn numbers the short way.

    >>> ranges((3, 4, 5, 9))
    '3-5, 9'
    """
    # In a run number and place rise alike, so their difference stays.
    placed = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    runs = ([number for _, number in run] for _, run in placed)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
