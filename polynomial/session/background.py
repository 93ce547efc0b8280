"""Background summaries: written while the conversation continues, before room is needed."""

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, Literal, Unpack

from attrs import define, evolve, field, frozen

from polycontext.base import guided, require
from polycontext.base.effects import Effect, Steps, adrive, drive, procedure, twin
from polycontext.pressure import (
    ConflictError,
    ContextProjector,
    Fulfilment,
    Plan,
    Reading,
    Signals,
    Summariser,
)
from polycontext.pressure.native import prefix_plan

from ..inputs import ContextOutput
from ..state import ContextState
from .commands import Commit, WriteOptions
from .compression import BY_HAND, is_answering, plan_window
from .writer import Session, SessionPart

_REMEMBERED = 32
_MOST_PATIENCE = 64
"""The longest pause between attempts that keep failing, in revisions."""
_BEGINS = 0.5
"""The point at which a summary starts, as a share of the way from the low to the high mark."""
_NO_GOOD = ("refused", "failed", "cancelled")

Became = Literal["landed", "refused", "outdated", "failed", "cancelled"]


@frozen
class BackgroundOutcome:
    """The outcome of one background summary.

    `became` is ``landed`` (committed), ``refused`` (rejected), ``outdated`` (came too late),
    ``failed`` (could not be written or stored), or ``cancelled`` before it was committed. `why` is
    the reason as text, and `revision` the session's revision at that time.
    """

    became: Became
    why: str
    revision: int


@define(eq=False)
class _Flight:
    """A summary that is being written or is ready to commit."""

    plan: Plan
    reading: Reading
    fulfilment: Fulfilment | None = None
    landing: bool = False
    written: Event = field(factory=Event)
    """Set when there is nothing left to wait for: a fulfilment exists, or there will be none."""
    over: Event = field(factory=Event)
    task: "asyncio.Task[None] | None" = None
    thread: Thread | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a model may still be writing."""
        return (self._waits and not self.is_stranded) or (
            self.thread is not None and self.thread.is_alive()
        )

    @property
    def is_stranded(self) -> bool:
        """Return whether its event loop was closed before it finished, so that it never will."""
        return self._waits and self.task is not None and self.task.get_loop().is_closed()

    @property
    def _waits(self) -> bool:
        return self.task is not None and not self.task.done()


@guided
class Background(SessionPart):
    """Watches the session's writes and manages its background summaries.

    It starts a summary above a lower mark, commits it when it is ready, and cancels it when it is
    outdated. A thread writes it if the session is used synchronously, a task if it is awaited. It
    waits while a thinking model answers. If room is needed before, an extract is used at once.

    Laws: at most one summary is written at a time; a rejected, late or cancelled summary changes
    nothing; no turn is lost, and the order of turns is kept.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._lock = Lock()
        self._flight: _Flight | None = None
        self._given_up: _Flight | None = None
        self._failed = self._not_before = 0
        self._share = _BEGINS
        self._outcomes: deque[BackgroundOutcome] = deque(maxlen=_REMEMBERED)

    def __repr__(self) -> str:
        return f"Background({'writing' if self.running else 'at rest'}, last: {self.last})"

    @property
    def running(self) -> bool:
        """Return whether a summary is being written or waits to be committed."""
        return self._current is not None

    @property
    def last(self) -> BackgroundOutcome | None:
        """Return the latest outcome, or None if there is none."""
        return self._outcomes[-1] if self._outcomes else None

    @property
    def outcomes(self) -> tuple[BackgroundOutcome, ...]:
        """Return the last 32 outcomes, oldest first."""
        return tuple(self._outcomes)

    def cancel(self) -> None:
        """Cancel the current summary unless it is being committed; a late result is discarded."""
        flight = self._current
        if flight is not None and not flight.landing:
            self._end(flight, "cancelled", "it was given up")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the summary; return False after `timeout` seconds (tasks: await `settled`)."""
        flight = self._current
        return flight is None or flight.written.wait(timeout)

    async def settled(self) -> None:
        """Wait until no summary is being written, without blocking."""
        flight = self._current
        if (
            flight is not None
            and flight.task is not None
            and flight.task.get_loop() is asyncio.get_running_loop()
        ):
            await asyncio.wait({flight.task})
        elif flight is not None:
            await asyncio.to_thread(self.wait)

    # --- compression in three steps -----------------------------------------------------

    def plan(
        self, target: float | None = None, *, query: str | None = None, native: bool = False
    ) -> Plan:
        """Return the plan of a compression, without changing anything.

        `fulfil` has its summaries written, and `commit` commits them. With `native`, a whole prefix
        yields to a summary that the provider writes itself (docs/native-compaction.md).

        Raises:
            InvalidOptionError: `target` is not a number from 0 to 1, or `query` is not a string.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=400)
        >>> for number in range(3):
        ...     _ = session.add_user_turn(f"Shelf {number} holds " + "jars of plums, " * 12)
        >>> summaries = session.background
        >>> plan = summaries.plan(0.45)
        >>> fulfilment = summaries.fulfil(plan, lambda turns, max_tokens: "Shelves hold plums.")
        >>> _ = session.add_assistant_turn("Noted.")
        >>> reached = summaries.commit(fulfilment).compression.reached
        >>> reached, session.messages()[-1]["content"]
        (True, 'Noted.')
        """
        require("query", query, isinstance(query, str | None), "a text, or None")
        window, policy = self._session.window, self._session.policy
        plan = plan_window(window, policy, target, query, BY_HAND)
        if native:
            return prefix_plan(plan.window, plan.tokens_wanted, policy.projector.reach)
        return plan

    @procedure
    def fulfil(self, plan: Plan, summariser: Any = None) -> Steps[Fulfilment]:
        """Have the summaries of a plan written, and return the fulfilment.

        The session's summariser writes them unless you pass another (docs/summarisers.md). If it
        fails for a gist, only that gist is missing, and the fulfilment has the exception. An object
        with its own `fulfil`, such as a provider's compaction, returns the whole fulfilment.

        Raises:
            InvalidOptionError: `plan` is not a plan, or `summariser` cannot summarise.
        """
        require("plan", plan, isinstance(plan, Plan), "what session.background.plan() returned")
        reading = self._session.conversation.reading
        begun = self._session._now()
        made: Any = yield Effect(
            lambda: self._fulfiller(summariser, "fulfil").fulfil(plan, reading=reading),
            lambda: self._fulfiller(summariser, "afulfil").afulfil(plan, reading=reading),
        )
        # A summariser's own `fulfil` may return anything, which the commit refuses.
        taken = self._session._now() - begun
        return made.timed(taken) if isinstance(made, Fulfilment) else made

    afulfil = twin(fulfil)

    @procedure
    def commit(
        self, fulfilment: Fulfilment, *, fallback: bool = False, **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Commit the fulfilment of a plan; turns that were added since stay unchanged behind it.

        A summary is rejected if it is empty, not a string, as long as the turns it stands for, or
        longer than its allowance. Then nothing changes, and `refused` of the output gives the
        reasons. With `fallback`, an extract replaces it instead.

        Raises:
            ConflictError: planned turns have yielded, were recalled, or one was promoted.
            InvalidOptionError: `fulfilment` is not a fulfilment.
        """
        return self._session._write(Commit(fulfilment, fallback), **when)

    acommit = twin(commit)

    def signal(self, signals: Signals) -> None:
        """Report the task's progress; the threshold and the machine's guard use it from now on."""
        legal = "Signals(progress=, error_rate=, looping=)"
        require("signals", signals, isinstance(signals, Signals), legal)
        self._session._writer.resize(policy=evolve(self._session.policy, signals=signals))

    def _fulfiller(self, summariser: Any, method: str) -> Any:
        if callable(getattr(summariser, method, None)):
            return summariser
        projector = self._session.policy.projector
        return projector if summariser is None else evolve(projector, summariser=summariser)

    # --- after each write of the session ----------------------------------------------

    @property
    def ready(self) -> Fulfilment | None:
        """Return the fulfilment that is ready to commit, or None."""
        flight = self._current
        return None if flight is None else flight.fulfilment

    @property
    def _current(self) -> _Flight | None:
        """Return the current summary, after cancelling it if its event loop is closed."""
        flight = self._flight
        if flight is not None and flight.is_stranded:
            flight.landing = False
            self._end(flight, "cancelled", "its event loop was closed before it was done")
        return self._flight

    def after(self, output: ContextOutput) -> Steps[ContextOutput]:
        """Commit a ready summary, drop an outdated one, start one that is due; return `output`."""
        self._check_flight(output)
        if (flight := self._landable()) is not None:
            yield from self._land(flight)
        if (flight := self._plan_flight()) is not None:
            yield Effect(partial(self._begin_thread, flight), partial(self._begin_task, flight))
        return output

    def _begin_thread(self, flight: _Flight) -> None:
        flight.thread = Thread(
            target=drive,
            args=(self._write_summary(flight),),
            name="polycontext-background",
            daemon=True,
        )
        try:
            flight.thread.start()
        except RuntimeError as error:  # too many threads, or the interpreter is shutting down
            self._end(flight, "failed", f"{type(error).__name__}: {error}")

    async def _begin_task(self, flight: _Flight) -> None:
        # Keep a reference: the event loop does not keep a task alive.
        flight.task = asyncio.get_running_loop().create_task(
            adrive(self._write_summary(flight)), name="polycontext-background"
        )

    def _check_flight(self, output: ContextOutput) -> None:
        """End a summary that was committed with a turn that needed room, or that is outdated."""
        flight = self._current
        if flight is None or flight.landing or flight.plan.fits(self._session.window):
            return
        if output.compression is not None and output.compression.plan is flight.plan:
            self._end(flight, "landed", str(output.compression))
        else:
            why = "the conversation was compressed, cleared or rewound meanwhile"
            self._end(flight, "outdated", why)

    def _plan_flight(self) -> _Flight | None:
        """Return a new flight if one is due."""
        conversation, policy = self._session.conversation, self._session.policy
        due = (
            conversation.state is not ContextState.EMPTY
            and conversation.revision >= self._not_before
        )
        # A cancelled thread may still wait for its model: never start a second one.
        busy = self._given_up is not None and self._given_up.is_busy
        if self.running or busy or not due or not policy.begins(conversation.window, self._share):
            return None
        plan = plan_window(conversation.window, policy)
        if any(job.kind.needs_words for job in plan.jobs):
            return self._start(_Flight(plan, conversation.reading))
        # The plan needs no summary. Pause: planning again at every turn would be expensive.
        self._not_before = conversation.revision + policy.cooldown + 1
        return None

    def _start(self, flight: _Flight) -> _Flight | None:
        """Return `flight`, or None if another one is current."""
        with self._lock:
            if self._flight is None:
                self._flight = flight
            return flight if self._flight is flight else None

    def _write_summary(self, flight: _Flight) -> Steps[None]:
        projector = self._session.policy.projector
        try:
            afulfil = partial(projector.afulfil, flight.plan, reading=flight.reading)
            begun = self._session._now()
            made = yield Effect(partial(_fulfil_in_thread, projector, flight), afulfil)
            flight.fulfilment = made.timed(self._session._now() - begun)
            flight.written.set()
            if self._landable() is flight:
                yield from self._land(flight)
        except asyncio.CancelledError:
            self._end(flight, "cancelled", "its task was cancelled")
            raise
        except BaseException as error:
            self._end(flight, "failed", f"{type(error).__name__}: {error}")
            raise

    # --- committing -------------------------------------------------------------------

    def _landable(self) -> _Flight | None:
        """Return a written summary, unless a thinking model is about to answer."""
        flight = self._flight
        if flight is None or flight.fulfilment is None:
            return None
        return None if is_answering(self._session.conversation) else flight

    def _land(self, flight: _Flight) -> Steps[None]:
        if self._claim(flight) and flight.fulfilment is not None:
            request = self._session._request(Commit(flight.fulfilment))
            try:
                output = yield from self._session._writer.write(request)
            except ConflictError as error:
                self._end(flight, "outdated", str(error))
            except Exception as error:  # noqa: BLE001 - must not fail an unrelated turn
                self._end(flight, "failed", f"{type(error).__name__}: {error}")
            except BaseException:
                flight.landing = False  # the next writer may commit it or cancel it
                raise
            else:
                refused = "; ".join(each.reason for each in output.refused)
                became: Became = "refused" if output.refused else "landed"
                self._end(flight, became, refused if output.refused else str(output.compression))

    def _claim(self, flight: _Flight) -> bool:
        """Return whether the caller may commit: no one else is, and nothing was cancelled."""
        with self._lock:
            free = self._flight is flight and not flight.landing
            flight.landing = flight.landing or free
        return free

    def _end(self, flight: _Flight, became: Became, why: str) -> None:
        with self._lock:
            if self._flight is not flight or (became == "cancelled" and flight.landing):
                return
            revision = self._session.conversation.revision
            # After a late summary, start the next one sooner, without a pause; otherwise later.
            later = min(_BEGINS, self._share * 1.25)
            self._share = self._share / 2 if became == "outdated" else later
            self._failed = self._failed + 1 if became in _NO_GOOD else 0
            pause = min(_MOST_PATIENCE, 2**self._failed) if self._failed else 0
            self._not_before = revision + pause
            self._outcomes.append(BackgroundOutcome(became, why, revision))
            self._given_up = flight
            self._flight = None
            flight.written.set()
            flight.over.set()
        if flight.task is not None and not flight.task.done():
            with suppress(RuntimeError):  # its loop is closed
                flight.task.get_loop().call_soon_threadsafe(flight.task.cancel)


def _fulfil_in_thread(projector: ContextProjector, flight: _Flight) -> Fulfilment:
    """Fulfil the plan in the current thread."""
    summariser: object = projector.summariser
    if isinstance(summariser, Summariser):
        return projector.fulfil(flight.plan, reading=flight.reading)
    return asyncio.run(projector.afulfil(flight.plan, reading=flight.reading))
