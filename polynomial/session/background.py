"""Have summaries written while a conversation goes on: one at a time, begun before room is needed, put in when they are ready.

Nothing of it is stored before it lands, as one commit: a process that dies in between has lost a
summary and no turn.
"""

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Literal, Unpack

from attrs import define, evolve, field, frozen

from polycontext.linearity.effects import Effect, Steps, adrive, drive, procedure, twin
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
from .commands import Command, Commit, WriteOptions
from .compression import BY_HAND, is_answering, plan_window
from .options import check_arguments, require
from .verbs import SessionPart, verb

if TYPE_CHECKING:
    from .context_session import ContextSession

_REMEMBERED = 32
_MOST_PATIENCE = 64
"""Revisions that are let pass at most before it is tried again, where it failed again and again."""

_BEGINS = 0.5
"""Of the way from where compressing aims to where a window is pressured: there a summary is begun.
"""

_NO_GOOD = ("refused", "failed", "cancelled")

Became = Literal["landed", "refused", "outdated", "failed", "cancelled"]


@frozen
class BackgroundOutcome:
    """Say what became of a summary: it ``landed``.

    Was ``refused``, being no good; came too late (``outdated``); ``failed`` to be stored; or was
    ``cancelled``.

    `why` says it in words, `revision` is where the session stood then.
    """

    became: Became
    why: str
    revision: int


@define(eq=False)
class _Flight:
    """Hold one summary that is being written, or waits to be put in."""

    plan: Plan
    reading: Reading
    fulfilment: Fulfilment | None = None
    landing: bool = False
    written: Event = field(factory=Event)
    """Set once there is nothing more to wait for: there is a fulfilment, or there will be none."""
    over: Event = field(factory=Event)
    task: "asyncio.Task[None] | None" = None
    thread: Thread | None = None

    @property
    def is_busy(self) -> bool:
        """Tell whether a model may be at it still."""
        return (self._waits and not self.is_stranded) or (
            self.thread is not None and self.thread.is_alive()
        )

    @property
    def is_stranded(self) -> bool:
        """Tell whether its event loop was closed before it was done: it never will be."""
        return self._waits and self.task is not None and self.task.get_loop().is_closed()

    @property
    def _waits(self) -> bool:
        return self.task is not None and not self.task.done()


class Background(SessionPart):
    """Watch a session's writes: begin a summary at a lower mark, put it in when it is ready, give it up when it is outdated.

    Written by a thread where the session is written by one, by a task where it is awaited. What a
    model is about to answer is not changed
    under its thoughts: where it thinks, a summary waits until the answer is in. Whoever is pressed
    before that gets an extract at once.

    Laws: at most one at a time; a summary that is no good, late or given up changes nothing; no
    turn is lost, and their order is kept.
    """

    def __init__(self, session: "ContextSession") -> None:
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
        """Tell whether a summary is being written, or waits to be put in."""
        return self._current is not None

    @property
    def last(self) -> BackgroundOutcome | None:
        """Return what became of the last one, None before there was any."""
        return self._outcomes[-1] if self._outcomes else None

    @property
    def outcomes(self) -> tuple[BackgroundOutcome, ...]:
        """Return what became of the last 32, oldest first."""
        return tuple(self._outcomes)

    def cancel(self) -> None:
        """Give up what is being written, if it is not being put in just now: a thread that waits for a model goes on for nothing."""
        flight = self._current
        if flight is not None and not flight.landing:
            self._end(flight, "cancelled", "it was given up")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being written, `timeout` seconds at most, and tell whether that came about; tasks await `settled`."""
        flight = self._current
        return flight is None or flight.written.wait(timeout)

    async def settled(self) -> None:
        """Wait without blocking until nothing is being written."""
        flight = self._current
        if (
            flight is not None
            and flight.task is not None
            and flight.task.get_loop() is asyncio.get_running_loop()
        ):
            await asyncio.wait({flight.task})
        elif flight is not None:
            await asyncio.to_thread(self.wait)

    # --- in three steps -----------------------------------------------------------------

    def plan(
        self, target: float | None = None, *, query: str | None = None, native: bool = False
    ) -> Plan:
        """Return what compressing now would come to, and change nothing: `fulfil` has its words written, `commit` puts them in.

        With `native` a whole prefix yields, to a summary that the provider writes itself
        (docs/native-compaction.md).

        Raises:
            InvalidOptionError: `target` is no number from 0 to 1, `query` no text.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=400)
        >>> for number in range(3):
        ...     _ = session.add_user_turn(f"Shelf {number} holds " + "jars of plums, " * 12)
        >>> plan = session.background.plan(0.45)
        >>> fulfilment = session.background.fulfil(plan, lambda turns, max_tokens: "Shelves 0 and 1 hold plums.")
        >>> _ = session.add_assistant_turn("Noted.")
        >>> session.background.commit(fulfilment).compression.reached, session.messages()[-1]["content"]
        (True, 'Noted.')
        """
        check_arguments(query=query)
        window, policy = self._session.window, self._session.policy
        plan = plan_window(window, policy, target, query, BY_HAND)
        if native:
            return prefix_plan(plan.window, plan.tokens_wanted, policy.projector.reach)
        return plan

    @procedure
    def fulfil(self, plan: Plan, summariser: Any = None) -> Steps[Fulfilment]:
        """Have the words of a plan written by the session's summariser, or another one (docs/summarisers.md); nothing changes, and others may write meanwhile.

        What has a `fulfil` of its own, such as a provider's compaction, is asked for the whole
        fulfilment. A summariser that fails costs its
        own gist: what it raised is in the fulfilment.

        Raises:
            InvalidOptionError: no plan, or nothing that can summarise.
        """
        require("plan", plan, isinstance(plan, Plan), "what session.background.plan() returned")
        reading = self._session.conversation.reading
        fulfilment: Fulfilment = yield Effect(
            lambda: self._fulfiller(summariser, "fulfil").fulfil(plan, reading=reading),
            lambda: self._fulfiller(summariser, "afulfil").afulfil(plan, reading=reading),
        )
        return fulfilment

    afulfil = twin(fulfil)

    @verb
    def commit(
        self, fulfilment: Fulfilment, *, fallback: bool = False, **when: Unpack[WriteOptions]
    ) -> Command:
        """Put in what was made of a plan.

        Turns that came since the plan stand behind it, untouched.

        Where an answer is empty, no text, as long as what it stands for or longer than its
        allowance, nothing happens and the output says in `refused` why; with `fallback` an extract
        stands in its place.

        Raises:
            ConflictError: anything else happened to the turns that were planned on: they yielded,
                came back, or one was raised to a higher class.
            InvalidOptionError: no fulfilment.
        """
        legal = "what session.background.fulfil() returned, or Fulfilment.of(plan, text)"
        require("fulfilment", fulfilment, isinstance(fulfilment, Fulfilment), legal)
        return Commit(fulfilment, fallback)

    acommit = twin(commit)

    def signal(self, signals: Signals) -> None:
        """Tell the threshold how the task goes.

        The machine's guard asks it with these from now on.
        """
        legal = "Signals(progress=, error_rate=, looping=)"
        require("signals", signals, isinstance(signals, Signals), legal)
        self._session._writer.resize(policy=evolve(self._session.policy, signals=signals))

    def _fulfiller(self, summariser: Any, method: str) -> Any:
        if callable(getattr(summariser, method, None)):
            return summariser
        projector = self._session.policy.projector
        return projector if summariser is None else evolve(projector, summariser=summariser)

    # --- around each write of the session ---------------------------------------------

    @property
    def ready(self) -> Fulfilment | None:
        """Return what is written and not yet put in."""
        flight = self._current
        return None if flight is None else flight.fulfilment

    @property
    def _current(self) -> _Flight | None:
        """Return what is under way, and give up what cannot go on."""
        flight = self._flight
        if flight is not None and flight.is_stranded:
            flight.landing = False
            self._end(flight, "cancelled", "its event loop was closed before it was done")
        return self._flight

    @procedure
    def after(self, output: ContextOutput) -> Steps[ContextOutput]:
        """Put in what is ready, give up what is outdated, begin what is due, and return what was written."""
        self._check_flight(output)
        if (flight := self._landable()) is not None:
            yield from self._land(flight)
        if (flight := self._plan_flight()) is not None:
            yield Effect(partial(self._begin_thread, flight), partial(self._begin_task, flight))
        return output

    aafter = twin(after)

    def _begin_thread(self, flight: _Flight) -> None:
        flight.thread = Thread(
            target=drive,
            args=(self._write_summary(flight),),
            name="polycontext-background",
            daemon=True,
        )
        try:
            flight.thread.start()
        except RuntimeError as error:  # there are too many threads, or the interpreter ends
            self._end(flight, "failed", f"{type(error).__name__}: {error}")

    async def _begin_task(self, flight: _Flight) -> None:
        # Held here: the loop itself does not keep a task alive.
        flight.task = asyncio.get_running_loop().create_task(
            adrive(self._write_summary(flight)), name="polycontext-background"
        )

    def _check_flight(self, output: ContextOutput) -> None:
        """See whether what was ready came in with a turn that needed room, or is outdated."""
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
        # A thread that was given up may wait for its model still: there is never a second one.
        busy = self._given_up is not None and self._given_up.is_busy
        if self.running or busy or not due or not policy.begins(conversation.window, self._share):
            return None
        plan = plan_window(conversation.window, policy)
        if any(job.kind.needs_words for job in plan.jobs):
            return self._start(_Flight(plan, conversation.reading))
        # Pressed by what yields without words, or not at all: to ask again at every turn would cost
        # as much as planning does.
        self._not_before = conversation.revision + policy.cooldown + 1
        return None

    def _start(self, flight: _Flight) -> _Flight | None:
        """Return `flight` if there is no other one."""
        with self._lock:
            if self._flight is None:
                self._flight = flight
            return flight if self._flight is flight else None

    # --- writing ----------------------------------------------------------------------

    def _write_summary(self, flight: _Flight) -> Steps[None]:
        projector = self._session.policy.projector
        try:
            afulfil = partial(projector.afulfil, flight.plan, reading=flight.reading)
            flight.fulfilment = yield Effect(partial(_fulfil_in_thread, projector, flight), afulfil)
            flight.written.set()
            if self._landable() is flight:
                yield from self._land(flight)
        except asyncio.CancelledError:
            self._end(flight, "cancelled", "its task was cancelled")
            raise
        except BaseException as error:
            self._end(flight, "failed", f"{type(error).__name__}: {error}")
            raise

    # --- putting in -------------------------------------------------------------------

    def _landable(self) -> _Flight | None:
        """Return what can be put in now: what is written, unless a model that thinks is about to answer."""
        flight = self._flight
        if flight is None or flight.fulfilment is None:
            return None
        return None if is_answering(self._session.conversation) else flight

    def _land(self, flight: _Flight) -> Steps[None]:
        if self._claim(flight) and flight.fulfilment is not None:
            request, _ = self._session._write_request(Commit(flight.fulfilment), {})
            writer = self._session._writer
            try:
                output: ContextOutput = yield Effect(
                    partial(writer.write, request), partial(writer.awrite, request)
                )
            except ConflictError as error:
                self._end(flight, "outdated", str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no fault of the turn that came meanwhile
                self._end(flight, "failed", f"{type(error).__name__}: {error}")
            except BaseException:
                flight.landing = False  # whoever comes next may put it in, or give it up
                raise
            else:
                refused = "; ".join(each.reason for each in output.refused)
                became: Became = "refused" if output.refused else "landed"
                self._end(flight, became, refused if output.refused else str(output.compression))

    def _claim(self, flight: _Flight) -> bool:
        """Tell whether nobody else puts it in, or has given it up."""
        with self._lock:
            free = self._flight is flight and not flight.landing
            flight.landing = flight.landing or free
        return free

    def _end(self, flight: _Flight, became: Became, why: str) -> None:
        with self._lock:
            if self._flight is not flight or (became == "cancelled" and flight.landing):
                return
            revision = self._session.conversation.revision
            # What came too late is begun sooner the next time, and without a pause; what landed, a
            # little later again.
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
    """Have the words of a plan written in this thread."""
    summariser: object = projector.summariser
    if isinstance(summariser, Summariser):
        return projector.fulfil(flight.plan, reading=flight.reading)
    return asyncio.run(projector.afulfil(flight.plan, reading=flight.reading))
