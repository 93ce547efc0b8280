"""The replay loop: runs a recorded conversation through the machine and returns data.

Nothing is printed here. Each turn goes through a session with automatic compression, and the steps
are read from the session's journal. After every turn that leaves no call open, except system turns,
the session is asked for the message list, as an agent would do. The report can therefore say what
would have been sent.
"""

from collections.abc import Callable, Iterable, Iterator

from attrs import define, evolve, field, frozen

from polycontext import polynomial
from polycontext.base import PolycontextError
from polycontext.polynomial import ContextSession, IllegalDirectionError
from polycontext.polynomial.journal import CompressEvent, TurnEvent
from polycontext.pressure import ContextProjector, FixedThreshold, Reach, pressure_of
from polycontext.pressure.threshold import session_threshold
from polycontext.transcripts import Conversation
from polycontext.window import ContextWindow, OrderError, Role, Turn
from polycontext.window.providers import Provider

from ..errors import message_of
from .report import Compressed, PrefixMeter, ReplayReport, ReplayStep, Shown, TurnRefused, TurnTaken

OWN = session_threshold()


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


def replay_conversation(
    conversation: Conversation,
    settings: ReplaySettings,
    on_turn: Callable[[float], object] = lambda size: None,
) -> ReplayReport:
    """Replay `conversation` through the machine and report every step.

    A turn that the machine refuses is reported and skipped, as are the results of its calls; with
    `strict` it ends the replay.

    Args:
        conversation: The conversation to replay.
        settings: How it is replayed.
        on_turn: Called after each turn with that turn's share of the conversation's bytes.

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
    """A replay in progress."""

    session: ContextSession
    provider: Provider
    steps: list[ReplayStep] = field(factory=list)
    meter: PrefixMeter = field(factory=PrefixMeter)
    _numbers: dict[str, int] = field(factory=dict)
    _refused_calls: dict[str, int] = field(factory=dict)
    _yielded: set[int] = field(factory=set)

    def take(self, number: int, turn: Turn) -> bool:
        """Take one turn through the session, and return whether it was refused."""
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
        # Read the journal before anything else changes the session.
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
            return message_of(error)
        return f"its call was refused with turn {caller}"

    def _read_journal(
        self, number: int, conversation: polynomial.Conversation
    ) -> Iterator[ReplayStep]:
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
        """Return a turn of the window with the numbers of the turns that it is or stands for."""
        return Shown(self._numbers_of([turn]), turn, bool(turn.sources))

    def _numbers_of(self, turns: Iterable[Turn]) -> tuple[int, ...]:
        """Return the numbers of `turns`; a gist counts as the turns it was made from."""
        sources = {source for turn in turns for source in turn.sources or (turn.resource_id,)}
        return tuple(sorted({self._numbers[source] for source in sources}))

    def _deliver(self, turn: Turn) -> str | None:
        """Request the message list after `turn`; return the reason if it was refused, else None."""
        try:
            self.session.request(self.provider)
        except PolycontextError as error:
            return message_of(error)
        # A model answers these; after its own turn nothing is sent.
        if turn.role in (Role.USER, Role.TOOL):
            self.meter.add(self.session.window, self.provider)
        return None
