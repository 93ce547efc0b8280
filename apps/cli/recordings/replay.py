"""The replay loop: a recorded conversation through the machine, as data.

Nothing is printed here. Each turn goes through a session with automatic
compression; what the session did is read off its journal. After every turn that
leaves no call open (a system turn apart) the session is asked for the message
list, as an agent would, so the report can say what would have been sent.
"""

from collections.abc import Callable, Iterable, Iterator

from attrs import define, evolve, field, frozen

from polycontext import polynomial
from polycontext.linearity import PolycontextError
from polycontext.polynomial import ContextSession, IllegalDirectionError
from polycontext.polynomial.journal import CompressEvent, TurnEvent
from polycontext.pressure import (
    ContextProjector,
    FixedThreshold,
    Reach,
    pressure_of,
    session_threshold,
)
from polycontext.window import ContextWindow, OrderError, Role, Turn
from polycontext.window.providers import Provider

from .conversation import Conversation
from .report import Compressed, PrefixMeter, ReplayReport, ReplayStep, Shown, TurnRefused, TurnTaken

OWN = session_threshold()


@frozen
class ReplaySettings:
    """Hold how a conversation is replayed: for which model or budget in tokens, the marks (shares of the free room).

    Without both the budget is that of any session. `strict` stops at the first refused turn;
    `repair` closes unanswered calls in the middle.
    """

    max_tokens: int | None = None
    high: float = OWN.base
    low: float = OWN.low
    keep_recent: int = Reach().keep_recent
    repair: bool = False
    strict: bool = False
    model: str | None = None

    def session(self, conversation: Conversation) -> ContextSession:
        """Return a new session for `conversation`, its tools taken off the budget.

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


def replay_conversation(
    conversation: Conversation,
    settings: ReplaySettings,
    on_turn: Callable[[float], object] = lambda size: None,
) -> ReplayReport:
    """Drive `conversation` through the machine and report every step.

    `on_turn` is called with the share of its bytes that each takes.

    A turn that the machine refuses is reported and skipped (with `strict` it ends the replay), the
    results of its calls with it.

    Raises:
        InvalidDataError: the messages break a rule of their provider.
        ContextOverflowError: the tools alone take the whole budget.
    """
    parsed = conversation.parse(repair=settings.repair)
    session = settings.session(conversation)
    run = _Run(session, parsed.provider if settings.model is None else session.usage.provider)
    is_stopped = False
    for number, turn in enumerate(parsed.turns, 1):
        is_stopped = run.take(number, turn) and settings.strict
        on_turn(conversation.size / len(parsed.turns))
        if is_stopped:
            break
    return ReplayReport(
        conversation=conversation,
        steps=tuple(run.steps),
        turns=len(parsed.turns),
        repaired=tuple(position + 1 for position in parsed.repaired),
        session=session,
        stopped=is_stopped,
        prefix_kept=run.meter.share,
        seen=tuple(map(run.shown, session.window.all_turns())),
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
        session, before = self.session, self.session.conversation
        try:
            session.add(turn)
        except PolycontextError as error:
            kind, reason = type(error).__name__, self._reason(turn, error)
            refused = TurnRefused(number, turn, kind, reason, session.state, session.pressure)
            self.steps.append(refused)
            if turn.role is not Role.TOOL:
                self._refused_calls = {call.id: number for call in turn.tool_calls}
            return True
        # Read at once: the next turn moves the session on.
        steps = list(self._read_journal(number, before))
        is_due = turn.role is not Role.SYSTEM and not session.window.open_calls
        refusal = self._deliver(turn) if is_due else None
        is_delivered = is_due and refusal is None
        self.steps += (
            evolve(step, delivered=is_delivered, list_refused=refusal)
            if isinstance(step, TurnTaken)
            else step
            for step in steps
        )
        return False

    def _reason(self, turn: Turn, error: PolycontextError) -> str:
        caller = self._refused_calls.get(turn.tool_call_id or "")
        is_order = isinstance(error, OrderError | IllegalDirectionError)
        if caller is None or self.session.window.open_calls or not is_order:
            return str(error)
        return f"its call was refused with turn {caller}"

    def _read_journal(
        self, number: int, conversation: polynomial.Conversation
    ) -> Iterator[ReplayStep]:
        """Yield the steps that the journal holds behind `conversation`."""
        events = self.session.history.events(after=conversation.revision)
        for event in events:
            # The last event leads to the conversation that the session has; replaying it once more
            # would be work for nothing.
            before = conversation
            is_last = event is events[-1]
            conversation = (
                self.session.conversation if is_last else polynomial.evolve(before, event)
            )
            if isinstance(event, TurnEvent):
                self._numbers[event.turn.resource_id] = number
                pressure = conversation.window.pressure
                yield TurnTaken(number, event.turn, event.resource_class, event.state, pressure)
            elif isinstance(event, CompressEvent):
                yield self._compressed(event, before.window, conversation.window)

    def _compressed(
        self, event: CompressEvent, before: ContextWindow, after: ContextWindow
    ) -> Compressed:
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
        sources = {source for turn in turns for source in turn.sources or (turn.resource_id,)}
        return tuple(sorted({self._numbers[source] for source in sources}))

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
