"""Recorded conversations, replayed through a session into the report that `replay` prints as JSON.

Nothing is printed here. Each turn goes through a session with automatic compression, and the steps
are read from the session's journal. After every turn that leaves no call open, except system turns,
the session is asked for the message list, as an agent would do. The report can therefore say what
would have been sent.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any

from attrs import define, field, frozen

from polycontext import polynomial
from polycontext.base import PolycontextError
from polycontext.polynomial import ContextSession, ContextState, IllegalDirectionError
from polycontext.polynomial.journal import CompressEvent, TurnEvent
from polycontext.pressure import ContextProjector, FixedThreshold, Reach, pressure_of
from polycontext.pressure.threshold import session_threshold
from polycontext.transcripts import Conversation
from polycontext.window import ContextWindow, OrderError, Role, Turn
from polycontext.window.providers import Provider

from .errors import message_of

OWN = session_threshold()

Data = dict[str, Any]


@frozen
class ReplaySettings:
    """Settings of a replay: the model or budget in tokens, and the marks as shares of free budget.

    Without a model or a budget, a session's default budget applies. `strict` stops at the first
    refused turn; `repair` mends the order of calls and results.
    """

    max_tokens: int | None = None
    high: float = OWN.base
    low: float = OWN.low
    keep_recent: int = Reach().keep_recent
    repair: bool = False
    strict: bool = False
    model: str | None = None

    def session(self, conversation: Conversation) -> ContextSession:
        """Return a new session for `conversation`, with its tools subtracted from the budget.

        Raises:
            ContextOverflowError: the tools alone take the whole budget.
        """
        return ContextSession(
            self.model,
            max_tokens=self.max_tokens,
            tools=conversation.tools,
            projector=ContextProjector(reach=Reach(keep_recent=self.keep_recent)),
            threshold=OWN
            if (self.high, self.low) == (OWN.base, OWN.low)
            else FixedThreshold(self.high, self.low),
        )


@frozen
class Replay:
    """A replayed conversation: its turns, the session after the last one, and the report.

    The report is JSON data without the text of turns, which the recording has. Turns are numbered
    from 1. Its `steps` are turns that were accepted, refusals, and compressions; each turn is
    listed by the compression that removed its verbatim text. `seen` is what the model sees at the
    end. Every accepted turn is either in `seen` once, verbatim or in a summary, or in `dropped`.
    """

    conversation: Conversation
    turns: Sequence[Turn] = field(repr=False)
    session: ContextSession = field(repr=False)
    report: Data = field(repr=False)

    @property
    def is_stuck(self) -> bool:
        """Return whether the session is PRESSURED and its last compression saved nothing.

        Further turns may then be refused.
        """
        done = [step for step in self.report["steps"] if step["step"] != "refused"]
        is_pressured = self.report["summary"]["final_state"] == ContextState.PRESSURED
        return is_pressured and done[-1]["step"] == "compress" and not saves(done[-1])


def saves(step: Data) -> bool:
    """Return whether a compression saved tokens.

    If nothing can be shortened any more, a compression only changes the state.
    """
    return bool(step["tokens_after"] < step["tokens_before"])


def replay_conversation(conversation: Conversation, settings: ReplaySettings) -> Replay:
    """Replay `conversation` through the machine and report every step.

    A turn that the machine refuses is reported and skipped, as are the results of its calls; with
    `strict` it ends the replay.

    Raises:
        InvalidDataError: the messages break a rule of their provider.
        ContextOverflowError: the tools alone take the whole budget.
    """
    parsed = conversation.parse(repair=settings.repair)
    session = settings.session(conversation)
    run = _Run(session, parsed.provider if settings.model is None else session.usage.provider)
    is_stopped = False
    for number, turn in enumerate(parsed.turns, 1):
        run.take(number, turn)
        if is_stopped := settings.strict and run.steps[-1]["step"] == "refused":
            break
    seen = [*map(run.seen, session.window.all_turns())]
    known = {number for each in seen for number in each["turns"]}
    report = {
        "file": conversation.source,
        "line": conversation.line,
        "id": conversation.id,
        "provider": conversation.provider,
        "summary": {
            "turns": len(parsed.turns),
            **run.summary(),
            "results_repaired": [position + 1 for position in parsed.repaired],
            "stopped": is_stopped,
        },
        "steps": run.steps,
        "seen": seen,
        "dropped": [step["turn"] for step in run.taken if step["turn"] not in known],
    }
    return Replay(conversation, parsed.turns, session, report)


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


@define
class _Run:
    """A replay in progress."""

    session: ContextSession
    provider: Provider
    steps: list[Data] = field(factory=list)
    _meter: PrefixMeter = field(factory=PrefixMeter)
    _numbers: dict[str, int] = field(factory=dict)
    _refused_calls: dict[str, int] = field(factory=dict)
    _yielded: set[int] = field(factory=set)

    @property
    def taken(self) -> list[Data]:
        """Return the steps of accepted turns."""
        return [step for step in self.steps if step["step"] == "turn"]

    def take(self, number: int, turn: Turn) -> None:
        """Take one turn through the session."""
        session, before = self.session, self.session.conversation
        try:
            session.add(turn)
        except PolycontextError as error:
            self.steps.append(
                {
                    "step": "refused",
                    "turn": number,
                    "role": turn.role,
                    "error": type(error).__name__,
                    "reason": self._reason(turn, error),
                    **_standing(session.state, session.pressure),
                }
            )
            if turn.role is not Role.TOOL:
                self._refused_calls = {call.id: number for call in turn.tool_calls}
            return
        # Read the journal before anything else changes the session.
        steps = list(self._read_journal(number, before))
        is_due = turn.role is not Role.SYSTEM and not session.window.open_calls
        refusal = self._deliver(turn) if is_due else None
        for step in steps:
            if step["step"] == "turn":
                step["delivered"] = is_due and refusal is None
                if refusal is not None:
                    step["list_refused"] = refusal
        self.steps += steps

    def _reason(self, turn: Turn, error: PolycontextError) -> str:
        caller = self._refused_calls.get(turn.tool_call_id or "")
        is_order = isinstance(error, OrderError | IllegalDirectionError)
        if caller is None or self.session.window.open_calls or not is_order:
            return message_of(error)
        return f"its call was refused with turn {caller}"

    def _read_journal(self, number: int, conversation: polynomial.Conversation) -> Iterator[Data]:
        """Yield the steps that the journal recorded after `conversation`."""
        events = self.session.history.events(after=conversation.revision)
        for event in events:
            # The last event leads to the session's current conversation, so it need not be
            # replayed.
            before = conversation
            is_last = event is events[-1]
            conversation = (
                self.session.conversation if is_last else polynomial.evolve(before, event)
            )
            if isinstance(event, TurnEvent):
                self._numbers[event.turn.resource_id] = number
                yield {
                    "step": "turn",
                    "turn": number,
                    "role": event.turn.role,
                    "class": event.resource_class.name,
                    "tokens": event.turn.tokens,
                    **_standing(event.state, conversation.window.pressure),
                }
            elif isinstance(event, CompressEvent):
                yield self._compressed(event, before.window, conversation.window)

    def _compressed(
        self, event: CompressEvent, before: ContextWindow, after: ContextWindow
    ) -> Data:
        turns, edit = before.all_turns(), event.edit
        taken = {
            turn.resource_id
            for splice in edit.splices
            for turn in turns[splice.start : splice.stop]
        }
        gone, dropped = taken.difference(edit.again), frozenset(edit.dropped)
        written = [turn for splice in edit.splices for turn in splice.turns if turn.sources]
        lost = self._numbers_of(turn for turn in turns if turn.resource_id in gone & dropped)
        gisted = self._numbers_of(turn for turn in turns if turn.resource_id in gone - dropped)
        told, self._yielded = self._yielded, self._yielded | set(gisted) | set(lost)
        return {
            "step": "compress",
            "tokens_before": before.total_tokens,
            "tokens_after": after.total_tokens,
            "dropped": lost,
            "gisted": [number for number in gisted if number not in told],
            "summaries": [
                {"turns": self._numbers_of([turn]), "text": turn.text} for turn in written
            ],
            **_standing(event.state, pressure_of(after)),
        }

    def seen(self, turn: Turn) -> Data:
        """Return a turn of the window with the numbers of the turns that it is or stands for."""
        is_summary = bool(turn.sources)
        told = {"turns": self._numbers_of([turn]), "role": turn.role, "tokens": turn.tokens}
        return {**told, "summary": is_summary, **({"text": turn.text} if is_summary else {})}

    def _numbers_of(self, turns: Iterable[Turn]) -> list[int]:
        """Return the numbers of `turns`; a gist counts as the turns it was made from."""
        sources = {source for turn in turns for source in turn.sources or (turn.resource_id,)}
        return sorted({self._numbers[source] for source in sources})

    def _deliver(self, turn: Turn) -> str | None:
        """Request the message list after `turn`; return the reason if it was refused, else None."""
        try:
            self.session.request(self.provider)
        except PolycontextError as error:
            return message_of(error)
        # A model answers these; after its own turn nothing is sent.
        if turn.role in (Role.USER, Role.TOOL):
            self._meter.add(self.session.window, self.provider)
        return None

    def summary(self) -> Data:
        """Return the totals."""
        session, window, steps = self.session, self.session.window, self.steps
        done = [step for step in steps if step["step"] == "compress"]
        share = self._meter.share
        return {
            "states": [*dict.fromkeys((ContextState.EMPTY, *(step["state"] for step in steps)))],
            "compressions": len(done),
            "tokens_saved": sum(step["tokens_before"] - step["tokens_after"] for step in done),
            "tokens_logged": sum(turn.tokens or 0 for turn in session.log()),
            "tokens_in_view": window.tokens,
            "max_tokens": window.max_tokens,
            "prefix_kept": share and round(share, 4),
            "lists_delivered": sum(step["delivered"] for step in self.taken),
            "lists_refused": sum("list_refused" in step for step in self.taken),
            "turns_refused": sum(step["step"] == "refused" for step in steps),
            "final_state": session.state,
            "final_pressure": round(session.pressure, 4),
            "peak_pressure": max((step["pressure"] for step in steps), default=0.0),
        }


def _standing(state: str, pressure: float) -> Data:
    return {"state": state, "pressure": round(pressure, 4)}


def ranges(numbers: Iterable[int]) -> str:
    """Format turn numbers as compact ranges.

    >>> ranges((3, 4, 5, 9))
    '3-5, 9'
    """
    # Within a run, number minus index is constant.
    placed = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    runs = ([number for _, number in run] for _, run in placed)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
