# ruff: noqa: SLF001 - a part of sessions, loaded when it is wanted
"""Have summaries written while a conversation goes on: one at a time, begun before room is needed, put in when they are ready.

Nothing of it is stored before it lands, as one commit: a process that dies in between has lost a summary and no turn.
"""

import asyncio
from collections import deque
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Literal

from attrs import define, field, frozen

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.session.commands import Commit
from polycontext.polynomial.session.decide import is_answering, planned
from polycontext.polynomial.state import ContextState
from polycontext.pressure import ConflictError, Fulfilment, Plan
from polycontext.pressure.fulfilment import Reading, Summariser

if TYPE_CHECKING:
    from polycontext.polynomial.session.compressing import CompressingSession

_REMEMBERED = 32
_MOST_PATIENCE = 64
"""Revisions that are let pass at most before it is tried again, where it failed again and again."""

_BEGINS = 0.5
"""Of the way from where compressing aims to where a window is pressured: there a summary is begun."""

_NO_GOOD = ("refused", "failed", "cancelled")

Became = Literal["landed", "refused", "outdated", "failed", "cancelled"]


@frozen
class BackgroundOutcome:
    """Say what became of a summary: it ``landed``; was ``refused``, being no good; came too late (``outdated``); ``failed`` to be stored; or was ``cancelled``.

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
        return (self._waits and not self.is_stranded) or (self.thread is not None and self.thread.is_alive())

    @property
    def is_stranded(self) -> bool:
        """Tell whether its event loop was closed before it was done: it never will be."""
        return self._waits and self.task is not None and self.task.get_loop().is_closed()

    @property
    def _waits(self) -> bool:
        return self.task is not None and not self.task.done()


class Background:
    """Watch a session's writes: begin a summary at a lower mark, put it in when it is ready, give it up when it is outdated.

    Written by a thread where the session is written by one, by a task where it is awaited. What a model is about to answer is not changed
    under its thoughts: where it thinks, a summary waits until the answer is in. Whoever is pressed before that gets an extract at once.

    Laws: at most one at a time; a summary that is no good, late or given up changes nothing; no turn is lost, and their order is kept.
    """

    def __init__(self, session: "CompressingSession") -> None:
        self._session = session
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
        if flight is not None and flight.task is not None and flight.task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({flight.task})
        elif flight is not None:
            await asyncio.to_thread(self.wait)

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

    def after(self, output: ContextOutput) -> None:
        """Put in what is ready, give up what is outdated, begin what is due: in a thread."""
        self._seen(output)
        if (flight := self._free()) is not None:
            self._land(flight)
        if (flight := self._begun()) is not None:
            flight.thread = Thread(target=self._written, args=(flight,), name="polycontext-background", daemon=True)
            try:
                flight.thread.start()
            except RuntimeError as error:  # there are too many threads, or the interpreter ends
                self._end(flight, "failed", f"{type(error).__name__}: {error}")

    async def aafter(self, output: ContextOutput) -> None:
        """Do what `after` does, in a task."""
        self._seen(output)
        if (flight := self._free()) is not None:
            await self._aland(flight)
        if (flight := self._begun()) is not None:
            # Held here: the loop itself does not keep a task alive.
            flight.task = asyncio.get_running_loop().create_task(self._awritten(flight), name="polycontext-background")

    def _seen(self, output: ContextOutput) -> None:
        """See whether what was ready came in with a turn that needed room, or is outdated."""
        flight = self._current
        if flight is None or flight.landing or flight.plan.fits(self._session.window):
            return
        if output.compression is not None and output.compression.plan is flight.plan:
            self._end(flight, "landed", str(output.compression))
        else:
            self._end(flight, "outdated", "the conversation was compressed, cleared or rewound meanwhile")

    def _begun(self) -> _Flight | None:
        """Return a new flight if one is due."""
        conversation, policy = self._session.conversation, self._session.policy
        due = conversation.state is not ContextState.EMPTY and conversation.revision >= self._not_before
        # A thread that was given up may wait for its model still: there is never a second one.
        busy = self._given_up is not None and self._given_up.is_busy
        if self.running or busy or not due or not policy.begins(conversation.window, self._share):
            return None
        plan = planned(conversation.window, policy)
        if any(job.kind.needs_words for job in plan.jobs):
            return self._started(_Flight(plan, conversation.reading))
        # Pressed by what yields without words, or not at all: to ask again at every turn would cost as much as planning does.
        self._not_before = conversation.revision + policy.cooldown + 1
        return None

    def _started(self, flight: _Flight) -> _Flight | None:
        """Return `flight` if there is no other one."""
        with self._lock:
            if self._flight is None:
                self._flight = flight
            return flight if self._flight is flight else None

    # --- writing ----------------------------------------------------------------------

    def _written(self, flight: _Flight) -> None:
        projector = self._session.policy.projector
        summariser: object = projector.summariser
        try:
            if isinstance(summariser, Summariser):
                flight.fulfilment = projector.fulfil(flight.plan, reading=flight.reading)
            else:
                flight.fulfilment = asyncio.run(projector.afulfil(flight.plan, reading=flight.reading))
        except BaseException as error:
            self._end(flight, "failed", f"{type(error).__name__}: {error}")
            raise
        flight.written.set()
        if self._free() is flight:
            self._land(flight)

    async def _awritten(self, flight: _Flight) -> None:
        try:
            flight.fulfilment = await self._session.policy.projector.afulfil(flight.plan, reading=flight.reading)
            flight.written.set()
            if self._free() is flight:
                await self._aland(flight)
        except asyncio.CancelledError:
            self._end(flight, "cancelled", "its task was cancelled")
            raise
        except BaseException as error:
            self._end(flight, "failed", f"{type(error).__name__}: {error}")
            raise

    # --- putting in -------------------------------------------------------------------

    def _free(self) -> _Flight | None:
        """Return what can be put in now: what is written, unless a model that thinks is about to answer."""
        flight = self._flight
        return None if flight is None or flight.fulfilment is None or is_answering(self._session.conversation) else flight

    def _land(self, flight: _Flight) -> None:
        if self._taken(flight) and flight.fulfilment is not None:
            try:
                self._landed(flight, self._session._writer.write(self._session._asked(Commit(flight.fulfilment))))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no fault of the turn that came meanwhile
                self._missed(flight, error)
            except BaseException:
                flight.landing = False  # whoever comes next may put it in, or give it up
                raise

    async def _aland(self, flight: _Flight) -> None:
        if self._taken(flight) and flight.fulfilment is not None:
            try:
                self._landed(flight, await self._session._writer.awrite(self._session._asked(Commit(flight.fulfilment))))
            except Exception as error:  # noqa: BLE001 - as above
                self._missed(flight, error)
            except BaseException:
                flight.landing = False  # whoever comes next may put it in, or give it up
                raise

    def _taken(self, flight: _Flight) -> bool:
        """Tell whether nobody else puts it in, or has given it up."""
        with self._lock:
            free = self._flight is flight and not flight.landing
            flight.landing = flight.landing or free
        return free

    def _landed(self, flight: _Flight, output: ContextOutput) -> None:
        if output.refused:
            self._end(flight, "refused", "; ".join(each.reason for each in output.refused))
        else:
            self._end(flight, "landed", str(output.compression))

    def _missed(self, flight: _Flight, error: Exception) -> None:
        if isinstance(error, ConflictError):
            self._end(flight, "outdated", str(error))
        else:
            self._end(flight, "failed", f"{type(error).__name__}: {error}")

    def _end(self, flight: _Flight, became: Became, why: str) -> None:
        with self._lock:
            if self._flight is not flight or (became == "cancelled" and flight.landing):
                return
            revision = self._session.revision
            # What came too late is begun sooner the next time, and without a pause; what landed, a little later again.
            self._share = self._share / 2 if became == "outdated" else min(_BEGINS, self._share * 1.25)
            self._failed = self._failed + 1 if became in _NO_GOOD else 0
            self._not_before = revision + min(_MOST_PATIENCE, 2**self._failed) if self._failed else revision
            self._outcomes.append(BackgroundOutcome(became, why, revision))
            self._given_up = flight
            self._flight = None
            flight.written.set()
            flight.over.set()
        if flight.task is not None and not flight.task.done():
            with suppress(RuntimeError):  # its loop is closed
                flight.task.get_loop().call_soon_threadsafe(flight.task.cancel)
