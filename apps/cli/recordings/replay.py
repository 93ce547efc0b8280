"""The replay loop: a recorded conversation through the machine, as data.

Nothing is printed here. Each turn goes through a session with automatic
compression; what the session did is read off its journal. After every turn that
leaves no call open (a system turn apart) the session is asked for the message
list, as an agent would, so the report can say what would have been sent.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from attrs import define, evolve, field, frozen

from polycontext import polynomial
from polycontext.linearity import PolycontextError
from polycontext.polynomial import ContextSession, IllegalDirectionError
from polycontext.polynomial.journal import CompressEvent, TurnEvent
from polycontext.pressure import ContextProjector, FixedThreshold, Reach, pressure_of, session_threshold
from polycontext.window import ContextWindow, OrderError, Role, Turn
from polycontext.window.providers import Provider

from .conversation import Conversation
from .report import Compressed, PrefixMeter, ReplayReport, ReplayStep, Shown, TurnRefused, TurnTaken

DEFAULT_REACH = Reach()
OWN = session_threshold()
Engine = Literal["table", "machine"]


@frozen
class ReplaySettings:
    """Hold how a conversation is replayed: for which model or budget in tokens, the marks (shares of the free room), the engine.

    Without both the budget is that of any session. The engine is the compiled table; ``"machine"`` lets a live machine of python-statemachine follow and compare.
    `strict` stops at the first refused turn; `repair` closes unanswered calls in the middle.
    """

    max_tokens: int | None = None
    high: float = OWN.base
    low: float = OWN.low
    engine: Engine = "table"
    keep_recent: int = DEFAULT_REACH.keep_recent
    repair: bool = False
    strict: bool = False
    model: str | None = None

    def session(self, conversation: Conversation) -> ContextSession:
        """Return a new session for `conversation`, its tools taken off the budget.

        Raises:
            ContextOverflowError: the tools alone take the whole budget.
        """
        session = ContextSession(
            self.model,
            max_tokens=self.max_tokens,
            tools=conversation.tools,
            projector=ContextProjector(reach=evolve(DEFAULT_REACH, keep_recent=self.keep_recent)),
            threshold=OWN if (self.high, self.low) == (OWN.base, OWN.low) else FixedThreshold(self.high, self.low),
        )
        if self.engine == "machine":
            _ = session.machine
        return session


def replay_conversation(
    conversation: Conversation, settings: ReplaySettings, on_turn: Callable[[float], object] = lambda size: None
) -> ReplayReport:
    """Drive `conversation` through the machine and report every step; `on_turn` is called with the share of its bytes that each takes.

    A turn that the machine refuses is reported and skipped (with `strict` it ends the replay), the results of its calls with it.

    Raises:
        InvalidDataError: the messages break a rule of their provider.
        ContextOverflowError: the tools alone take the whole budget.
    """
    parsed = conversation.parse(repair=settings.repair)
    session = settings.session(conversation)
    run = _Run(session, parsed.provider if settings.model is None else session.usage.provider)
    for number, turn in enumerate(parsed.turns, 1):
        refused = run.take(number, turn)
        on_turn(conversation.size / len(parsed.turns))
        if refused and settings.strict:
            break
    return ReplayReport(
        conversation=conversation,
        steps=tuple(run.steps),
        turns=len(parsed.turns),
        repaired=tuple(position + 1 for position in parsed.repaired),
        session=run.session,
        stopped=settings.strict and any(isinstance(step, TurnRefused) for step in run.steps),
        prefix_kept=run.meter.share,
        seen=tuple(map(run.shown, run.session.window.all_turns())),
    )


@define
class _Run:
    """Hold a replay on its way."""

    session: ContextSession
    provider: Provider
    steps: list[ReplayStep] = field(factory=list)
    meter: PrefixMeter = field(factory=PrefixMeter)
    _numbers: dict[str, int] = field(factory=dict)
    _refused_calls: dict[str, int] = field(factory=dict)
    _yielded: set[int] = field(factory=set)

    def take(self, number: int, turn: Turn) -> bool:
        """Take one turn through the session; tell whether it was refused."""
        refused = self._attempt(number, turn)
        if refused is None:
            return False
        self.steps.append(refused)
        if turn.role is not Role.TOOL:
            self._refused_calls = {call.id: number for call in turn.tool_calls}
        return True

    def _attempt(self, number: int, turn: Turn) -> TurnRefused | None:
        """Return why `turn` was refused, or None and the steps that it took."""
        before = self.session.conversation
        try:
            self.session.add(turn)
        except PolycontextError as error:
            reason = self._reason(turn, error)
            return TurnRefused(number, turn, type(error).__name__, reason, self.session.state, self.session.pressure)
        # Read at once: the next turn moves the session on.
        steps = list(self._read_journal(number, before))
        is_due = turn.role is not Role.SYSTEM and not self.session.window.open_calls
        refusal = self._deliver(turn) if is_due else None
        sent: dict[str, Any] = {"delivered": is_due and refusal is None, "list_refused": refusal}
        self.steps += (evolve(step, **sent) if isinstance(step, TurnTaken) else step for step in steps)
        return None

    def _reason(self, turn: Turn, error: PolycontextError) -> str:
        caller = self._refused_calls.get(turn.tool_call_id or "")
        if caller is not None and isinstance(error, OrderError | IllegalDirectionError) and not self.session.window.open_calls:
            return f"its call was refused with turn {caller}"
        return str(error)

    def _read_journal(self, number: int, conversation: polynomial.Conversation) -> Iterator[ReplayStep]:
        """Yield the steps that the journal holds behind `conversation`."""
        events = self.session.history.events(after=conversation.revision)
        for event in events:
            # The last event leads to the conversation that the session has; replaying it once more would be work for nothing.
            before, conversation = (
                conversation,
                self.session.conversation if event is events[-1] else polynomial.evolve(conversation, event),
            )
            if isinstance(event, TurnEvent):
                self._numbers[event.turn.resource_id] = number
                yield TurnTaken(number, event.turn, event.resource_class, event.state, conversation.window.pressure)
            elif isinstance(event, CompressEvent):
                yield self._compressed(event, before.window, conversation.window)

    def _compressed(self, event: CompressEvent, before: ContextWindow, after: ContextWindow) -> Compressed:
        turns, dropped = before.all_turns(), frozenset(event.edit.dropped)
        gone = {turn.resource_id for splice in event.edit.splices for turn in turns[splice.start : splice.stop]}.difference(
            event.edit.again
        )
        written = [turn for splice in event.edit.splices for turn in splice.turns if turn.sources]
        lost = self._numbers_of(turn for turn in turns if turn.resource_id in gone & dropped)
        gisted = self._numbers_of(turn for turn in turns if turn.resource_id in gone - dropped)
        told, self._yielded = self._yielded, self._yielded | set(gisted) | set(lost)
        return Compressed(
            tokens_before=before.total_tokens,
            tokens_after=after.total_tokens,
            dropped=lost,
            gisted=tuple(number for number in gisted if number not in told),
            state=event.state,
            pressure=pressure_of(after),
            summaries=tuple(map(self.shown, written)),
        )

    def shown(self, turn: Turn) -> Shown:
        """Return a turn of the window with the numbers of what it is, or stands for."""
        return Shown(self._numbers_of([turn]), turn, bool(turn.sources))

    def _numbers_of(self, turns: Iterable[Turn]) -> tuple[int, ...]:
        """Return the numbers of `turns`; a gist stands for the turns it was made of."""
        return tuple(sorted({self._numbers[source] for turn in turns for source in turn.sources or (turn.resource_id,)}))

    def _deliver(self, turn: Turn) -> str | None:
        """Ask for the message list behind `turn`; return why it was refused, if it was."""
        try:
            self.session.request(self.provider)
        except PolycontextError as error:
            return str(error)
        # A model answers these; behind its own turn nothing is sent.
        if turn.role in (Role.USER, Role.TOOL):
            self.meter.add(self.session.window, self.provider)
        return None
