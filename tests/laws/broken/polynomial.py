"""Broken operads, operations, engines, sessions and projections that laws reject."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, ClassVar

from attrs import evolve
from statemachine import State

from polycontext.agents import AgentMachine
from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    ContextInput,
    ContextMachine,
    ContextOutput,
    ContextPolicy,
    ContextSession,
    ContextState,
    Event,
    InputKind,
    Operad,
    Operation,
    Projection,
    project,
)
from polycontext.polynomial.algebra.delegation import Worker
from polycontext.polynomial.algebra.operad import Machine
from polycontext.polynomial.context_session import HistoryPart
from polycontext.polynomial.laws import machines, policies
from polycontext.polynomial.machine import OwnStates, Region
from polycontext.polynomial.machine.context_machine import decider
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.policies import Policy
from polycontext.polynomial.session.history import History
from polycontext.pressure import ContextProjector, Reach, Signals
from polycontext.pressure.schedule import Schedule
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Epoch, Part, Splice, Store, TokenCounter, Turn
from polycontext.window.providers import Message, Provider, get_format
from tests.laws.counterexamples import breaks, obeys
from tests.laws.inputs import Polite, Tidy
from tests.laws.internal import histories, hosts, operads, projections, sessions, workers
from tests.laws.internal import machines as engines
from tests.laws.internal.machines import TableMachine
from tests.laws.internal.projections import Projecting

# --- the operad -------------------------------------------------------------------

EMPTY = ContextWindow(200, counter=FAST)
TALK = [
    ContextInput.user_turn("hello"),
    ContextInput.assistant_turn("hi"),
    ContextInput.compress(0.1),
    ContextInput.user_turn("go on"),
]
CHATTER = [
    ContextInput.user_turn("Paint it red, and the other one as well. " * 3),
    ContextInput.assistant_turn("It is red now, and so is the other one. " * 3),
] * 2


class First(Operad):
    """Take the first machine for all of them."""

    def beside(self, *machines: Machine) -> Machine:
        return machines[0]


class Flat(Operad):
    """Leave out what stands beside a machine that is composed already."""

    def beside(self, *machines: Machine) -> Machine:
        composed = (each for each in machines if "composed_of" in vars(each))
        return next(composed, None) or super().beside(*machines)


breaks(
    operads.machines_beside_each_other_need_no_brackets,
    "an operad that does not nest",
    lambda law: law(Flat(), Polite, Tidy, AgentMachine),
)
breaks(
    operads.the_plain_machine_is_the_unit,
    "an operad that takes the first machine",
    lambda law: law(First(), Polite),
)
breaks(
    operads.the_order_of_machines_does_not_matter,
    "an operad that takes the first machine",
    lambda law: law(First(), Polite, Tidy),
)
breaks(
    operads.machines_beside_each_other_run_as_each_alone,
    "an operad that takes the first machine",
    lambda law: law(First(), Polite, Tidy, EMPTY, TALK),
    lambda law: law(First(), Tidy, Polite, EMPTY, [*TALK[:2], TALK[1]]),
)


def saying(text: str) -> Worker:
    """Return the worker that says a text."""
    return lambda session: session.add_assistant_turn(text)


def asked(text: str) -> Worker:
    """Return the worker that says a text about its task."""
    return lambda session: session.add_assistant_turn(f"{text}: {session.log()[-1].text}")


YES, NO = saying("yes"), saying("no")
PAIR = {"hotel": "Find a room.", "train": "Find a train."}
BOTH = CONTEXT_OPERAD.delegate(PAIR, saying("done"))
ONE = CONTEXT_OPERAD.delegate({"hotel": "Find a room."}, saying("done"))


class Mute(Operad):
    """Have an identity that does not listen."""

    identity = Operation("id", 1, lambda worker: NO)


breaks(
    workers.composing_with_identities_changes_nothing,
    "an identity that does not listen",
    lambda law: law(Mute(), BOTH, [YES]),
)


class Hasty(Operation):
    """Compose without applying what is inside."""

    def compose(self, *inner: Operation) -> Operation:
        arity = sum(op.arity for op in inner)
        return Operation(self.name, arity, lambda *given: self.function(*given[: self.arity]))


class Unsummed(Operation):
    """Compose without adding up."""

    def compose(self, *inner: Operation) -> Operation:
        return evolve(super().compose(*inner), arity=self.arity)


class Greedy(Operation):
    """Take more than is asked for."""

    def __call__(self, *workers: Worker) -> Worker:
        return self.function(*workers[: self.arity])


breaks(
    workers.composing_is_associative,
    "an operation that forgets what is inside",
    lambda law: law(Hasty("both", 2, BOTH.function), [BOTH], [YES]),
)
breaks(
    workers.an_operation_takes_as_many_workers_as_its_arity,
    "an operation that does not add up",
    lambda law: law(Unsummed("both", 2, BOTH.function), [BOTH], [YES]),
)
breaks(
    workers.an_operation_takes_as_many_workers_as_its_arity,
    "an operation that drops what is too much",
    lambda law: law(Greedy("one", 1, ONE.function), [ONE], [YES]),
)


class Mixed(Operad):
    """Give the tasks to the workers in an order of its own."""

    def delegate(self, tasks: Mapping[str, str], then: Worker, **options: Any) -> Operation:
        return super().delegate(dict(sorted(tasks.items())), then, **options)


class Turned(Operad):
    """Give each task to the worker of another."""

    def delegate(self, tasks: Mapping[str, str], then: Worker, **options: Any) -> Operation:
        made = super().delegate(tasks, then, **options)
        return evolve(made, function=lambda *workers: made.function(*workers[::-1]))


breaks(
    workers.each_task_is_for_its_worker_in_any_order,
    "tasks that are sorted, and workers that are not",
    lambda law: law(Mixed(), PAIR, [YES, NO], YES),
)
breaks(
    workers.each_task_is_for_its_worker_in_any_order,
    "workers that do the tasks of others",
    lambda law: law(Turned(), PAIR, [asked("yes"), asked("no")], YES),
)


class Restarting(Operad):
    """Begin anew whenever it is called."""

    def delegate(self, tasks: Mapping[str, str], then: Worker, **options: Any) -> Operation:
        calls = count()

        def made(*workers: Worker) -> Worker:
            def work(session: ContextSession) -> None:
                number = next(calls)
                told = {f"{name}{number}": task for name, task in tasks.items()}
                CONTEXT_OPERAD.delegate(told, then, **options)(*workers)(session)

            return work

        return Operation("delegate", len(tasks), made)


breaks(
    workers.a_delegation_goes_on_where_it_stopped,
    "a delegation that begins anew",
    lambda law: law(Restarting(), PAIR, [YES, NO], YES, 1),
)


# --- the machine ------------------------------------------------------------------

POLICY = ContextPolicy()


class Changed(TableMachine):
    """Run a machine in which compressing does not lead to COMPRESSED."""

    changed = (ContextState.ACCUMULATING, InputKind.COMPRESS)

    def advance(self, context_input: ContextInput) -> ContextOutput:
        step = Step(context_input, self.window, self.policy)
        target = decider(ContextMachine).decide(step, self.context_state)
        if (self.context_state, context_input.kind) == self.changed:
            target = ContextState.ACCUMULATING
        self.restore(target, step.output(target).window)
        return step.output(target)


class Restless(Changed):
    """Run a machine without a cooldown."""

    changed = (ContextState.COMPRESSED, InputKind.USER_TURN)


class Dirty(TableMachine):
    """Lose the window to an input that is refused."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        try:
            return super().advance(context_input)
        except PolycontextError:
            self.restore(self.context_state, self.window.cleared())
            raise


breaks(
    engines.engines_agree,
    "a table with one transition changed",
    lambda law: law(ContextMachine, Changed, EMPTY, POLICY, TALK),
)
breaks(
    engines.engines_agree,
    "an engine that is dirty stands elsewhere",
    lambda law: law(
        Dirty, ContextMachine, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")]
    ),
)
breaks(
    machines.a_refused_input_changes_nothing,
    "a machine that loses its window to a refusal",
    lambda law: law(Dirty, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")]),
)
breaks(
    machines.the_state_is_what_the_guards_say,
    "a machine that compresses in secret",
    lambda law: law(Changed, EMPTY, POLICY, TALK),
)
breaks(
    machines.the_state_is_what_the_guards_say,
    "a machine that does not cool down",
    lambda law: law(Restless, EMPTY, POLICY, TALK),
)


class Early(ContextMachine):
    """Let the assistant begin."""

    assistant_turn = ContextMachine.empty.to(ContextMachine.accumulating)


breaks(
    policies.nothing_happens_before_its_permission,
    "a machine that takes an answer before a question",
    lambda law: law(Early, Policy("assistant_turn", "user_turn")),
)


class Lenient(OwnStates):
    """Let everything happen that one region accepts."""

    @property
    def directions(self) -> Any:
        """Return the events that any region accepts."""
        return dict.fromkeys(super().directions, self.places.kinds)


class Waiting(Region):
    """A region in which an assistant turn waits."""

    waiting = State("WAITING", value="WAITING", initial=True)
    opened = State("OPEN", value="OPEN")
    let = waiting.to(opened)
    assistant_turn = opened.to.itself()  # type: ignore[no-untyped-call]


class Loose(ContextMachine, metaclass=Lenient):
    """A machine that does not ask all of its regions."""

    regions: ClassVar = {"waiting": Waiting}


class Asking(ContextMachine):
    """A machine that does."""

    regions: ClassVar = {"waiting": Waiting}


breaks(
    operads.what_is_legal_is_what_every_region_accepts,
    "a machine that does not ask all of its regions",
    lambda law: law(Loose),
)


class Fewer(OwnStates):
    """Leave an event out."""

    @property
    def directions(self) -> Any:
        """Return the events without compressions."""
        return {place: kinds - {"compress"} for place, kinds in super().directions.items()}


class Unlisted(ContextMachine, metaclass=Fewer):
    """A machine that accepts more than its directions."""


breaks(
    operads.what_is_no_direction_is_refused,
    "a machine that accepts more than its directions",
    lambda law: law(Unlisted, EMPTY, TALK),
)
obeys(
    operads.what_is_legal_is_what_every_region_accepts,
    "a machine with a region",
    lambda law: law(Asking),
)


class Sinking(TableMachine):
    """Lose the first turn to a compression, whatever its class."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        output = super().advance(context_input)
        if context_input.kind is InputKind.COMPRESS:
            self.restore(self.context_state, self.window.splice([Splice(0, 1)]))
        return output


breaks(
    machines.no_compression_goes_below_a_floor,
    "a machine that drops what is PRESERVED",
    lambda law: law(Sinking, ContextProjector(), EMPTY, POLICY, TALK),
)


class Clinging(TableMachine):
    """Keep what is bound when what it was made on has changed."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        bound = {
            turn.resource_id: turn
            for turn in self.window.all_turns()
            if any(part.is_bound for part in turn.parts)
        }
        output = super().advance(context_input)
        places = [
            (place, turn.resource_id)
            for place, turn in enumerate(output.window.all_turns())
            if turn.resource_id in bound
        ]
        self.restore(
            output.state,
            output.window.splice(
                [Splice(place, place + 1, (bound[name],)) for place, name in places]
            ),
        )
        return output


THOUGHT = Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}')
THOUGHTFUL = [
    ContextInput.user_turn("Look it up."),
    *(ContextInput.assistant_turn("Looking. " * 60) for _ in range(8)),
    ContextInput.assistant_turn(Turn("assistant", "Found.", parts=[THOUGHT])),
    ContextInput.compress(0.1),
]
breaks(
    machines.what_is_bound_stands_behind_what_it_was_made_on,
    "a machine that keeps signed thinking behind another prefix",
    lambda law: law(
        Clinging,
        ContextWindow(2_000, counter=FAST),
        ContextPolicy(ContextProjector(reach=Reach(keep_recent=1))),
        THOUGHTFUL,
    ),
)


class Timeless(ContextSession):
    """Say that no epoch ever ends."""

    @property
    def window(self) -> ContextWindow:
        return super().window.with_facts(epoch=Epoch())


breaks(
    sessions.requests_only_grow_within_an_epoch,
    "a session that compresses in secret",
    lambda law: law(Timeless(2_000, counter=FAST), THOUGHTFUL),
)


# --- sessions ---------------------------------------------------------------------


class Deaf(ContextSession):
    """Show a machine that has followed nothing."""

    @property
    def machine(self) -> ContextMachine:
        return ContextMachine(EMPTY)


class Broken(HistoryPart):
    """Hand out a broken history."""

    def __init__(self, kind: type[History[Any]]) -> None:
        self.kind = kind

    def __get__(self, session: Any, owner: Any) -> Any:
        return super().__get__(None, owner) if session is None else self.kind(session)


class Lost(History[Any]):
    """Lose an event."""

    def events(self, after: int = 0) -> tuple[Event, ...]:
        return super().events(after)[:-1]


class Amnesiac(ContextSession):
    """Lose an event."""

    history = Broken(Lost)


class LeftOut(History[Any]):
    """Write less than there is."""

    def export(self) -> Iterator[str]:
        first, *events = super().export()
        header = json.loads(first)
        header["settings"].pop(getattr(self._session, "left_out"))  # noqa: B009 - a broken one
        return iter([json.dumps(header) + "\n", *events])


class Unsaved(ContextSession):
    """Write less than there is."""

    left_out = "signals"
    history = Broken(LeftOut)


def lived(session: ContextSession) -> ContextSession:
    """Return a session with two turns and signals of its own."""
    session.add_user_turn("hello")
    session.add_assistant_turn("hi")
    session.background.signal(Signals(progress=0.5))
    return session


def said_once(session: ContextSession) -> ContextSession:
    """Return a session with two turns of different words."""
    session.add_user_turn("Deliver parcel4711 tomorrow.")
    session.add_assistant_turn("Certainly, parcel4712 arrives.")
    return session


breaks(
    sessions.replaying_the_journal_gives_the_session,
    "a journal that loses an event",
    lambda law: law(lived(Amnesiac(500, counter=FAST))),
)
breaks(
    sessions.the_live_machine_stands_where_the_session_stands,
    "a machine that does not follow",
    lambda law: law(lived(Deaf(500, counter=FAST)), []),
)
breaks(
    sessions.json_keeps_the_session,
    "a saved session that lost its signals",
    lambda law: law(lived(Unsaved(500, counter=FAST))),
)


class Impatient(Schedule):
    """Compress whenever somebody looks."""

    def is_idle(self, seconds: float, *, asks_model: bool = False) -> bool:
        return True


breaks(
    sessions.schedules_wait_for_idle_time,
    "a schedule that does not wait",
    lambda law: law(EMPTY, ContextPolicy(), Impatient(240.0), CHATTER, [1]),
)
obeys(
    sessions.schedules_wait_for_idle_time,
    "a sound schedule",
    lambda law: law(EMPTY, ContextPolicy(), Schedule(240.0), CHATTER, [1, 5]),
)


class Unforgetting(History[Any]):
    """Say that a turn is forgotten, and keep it."""

    def forget(self, resource_id: str) -> bool:
        return True


class Careless(History[Any]):
    """Forget everything that was said instead of one turn."""

    def forget(self, resource_id: str) -> bool:
        for turn in self._session.log():
            super().forget(turn.resource_id)
        return True


class Tenacious(ContextSession):
    """Keep what is to be forgotten."""

    history = Broken(Unforgetting)


class Oblivious(ContextSession):
    """Forget more than is asked."""

    history = Broken(Careless)


breaks(
    histories.forgotten_words_are_nowhere,
    "a forgotten turn that stays",
    lambda law: law(said_once(Tenacious(500, counter=FAST)), [0]),
)
breaks(
    histories.forgotten_words_are_nowhere,
    "an erasure of all turns",
    lambda law: law(said_once(Oblivious(500, counter=FAST)), [0]),
)


class Blank(History[Any]):
    """Show nothing of the past."""

    def at(self, moment: Any) -> Any:
        return super().at(0)


class Wholesale(History[Any]):
    """Fork the present, whatever the moment."""

    def fork(self, new_id: str, moment: Any = None) -> Any:
        return super().fork(new_id)


class Idle(History[Any]):
    """Rewind to where the session is."""

    def rewind(self, to: Any, **when: Any) -> Any:
        return super().rewind(self.revision, **when)


class Final(History[Any]):
    """Rewind once."""

    def rewind(self, to: Any, **when: Any) -> Any:
        return super().rewind(min(to, 2), **when)


def travelling(kind: type[History[Any]]) -> ContextSession:
    """Return a session with two turns whose history is of that kind."""
    return said_once(
        type("Travelling", (ContextSession,), {"history": Broken(kind)})(500, counter=FAST)
    )


for travel, fault in (
    (Blank, "an empty past"),
    (Wholesale, "a fork of the present"),
    (Idle, "a rewind that does nothing"),
    (Final, "a rewind that cannot be undone"),
):
    breaks(
        histories.going_back_restores_what_was,
        fault,
        partial(lambda kind, law: law(travelling(kind), TALK), travel),
    )
obeys(
    histories.going_back_restores_what_was,
    "a sound history",
    lambda law: law(travelling(History), TALK),
)


class Late(History[Any]):
    """Show at each event what stood before it."""

    def timeline(self) -> Any:
        told = super().timeline()
        return Store(lambda position: told.peek(max(0, position - 1)), told.last)


class Gathering(History[Any]):
    """Show turns that come, and none that goes."""

    def timeline(self) -> Any:
        return super().timeline().map(lambda entry: evolve(entry, went=()))


class Flattening(History[Any]):
    """Count what the view holds in one class."""

    def timeline(self) -> Any:
        def flat(entry: Any) -> Any:
            return evolve(entry, tokens={**dict.fromkeys(ResourceClass, 0)})

        return super().timeline().map(flat)


def cleared(kind: type[History[Any]]) -> ContextSession:
    """Return a session whose view was cleared."""
    session = travelling(kind)
    session.clear()
    return session


for telling, fault in (
    (Late, "entries one event late"),
    (Gathering, "turns that never go"),
    (Flattening, "a count of no tokens"),
    (Blank, "an empty past"),
):
    breaks(
        histories.the_timeline_shows_what_stood,
        fault,
        partial(lambda kind, law: law(cleared(kind)), telling),
    )


class Overflowing(History[Any]):
    """Refill up to the high mark."""

    def refill(self, **_: Any) -> Any:
        for turn in reversed(self._session.log()):
            with suppress(PolycontextError):
                self._session.recall(turn.resource_id)


class Shrinking(History[Any]):
    """Make room in place of filling it."""

    def refill(self, **_: Any) -> Any:
        return self._session.compress(0.0)


class Endless(History[Any]):
    """Bring back one turn at a time."""

    def refill(self, **_: Any) -> Any:
        turns = self._session.window.all_turns()
        stands = {turn.resource_id for turn in turns}
        gone = (each for turn in turns for each in turn.sources if each not in stands)
        return self._session.recall(next(gone))


def with_room(kind: type[History[Any]]) -> ContextSession:
    """Return a session with a summary and room for some of what it stands for."""
    travels = type("Travelling", (ContextSession,), {"history": Broken(kind)})
    session: ContextSession = travels(600, counter=FAST)
    for number in range(12):
        session.add_user_turn(f"Wall {number} " + "gets one more layer of paint, " * 5)
    session.compress(0.3)
    return session


for filling, fault in (
    (Overflowing, "a refill up to the high mark"),
    (Shrinking, "a refill that compresses"),
    (Endless, "a refill that never ends"),
):
    breaks(
        histories.refilling_only_raises_fidelities,
        fault,
        partial(lambda kind, law: law(with_room(kind)), filling),
    )
obeys(
    histories.refilling_only_raises_fidelities,
    "a sound refill",
    lambda law: law(with_room(History)),
)


class Forgetful(History[Any]):
    """Rewind to before the compression."""

    def undo(self, receipt_id: str | None = None, **when: Any) -> Any:
        last = self.receipts()[-1] if receipt_id is None else self.receipt(receipt_id)
        return super().rewind(last.revision - 1, **when)


class Recalling(History[Any]):
    """Recall the messages, which leaves out what was dropped, and the order."""

    def undo(self, receipt_id: str | None = None, **when: Any) -> Any:
        gists = [turn.resource_id for turn in self._session.window.all_turns() if turn.sources]
        return self._session.recall(gists)


class Once(History[Any]):
    """Take a compression back, and never make it again."""

    def undo(self, receipt_id: str | None = None, **when: Any) -> Any:
        stands = self.receipts()[-1].stands
        return super().undo(receipt_id, **when) if stands else None


def talkative(kind: type[History[Any]]) -> ContextSession:
    """Return a session with enough to compress, whose history is of that kind."""
    talks = type("Talkative", (ContextSession,), {"history": Broken(kind)})
    session: ContextSession = talks(900, counter=FAST)
    for number in range(12):
        session.add_user_turn(f"Which colour does wall {number} of the long hall get?")
        session.add_assistant_turn("OK.")
    return session


for undoing, fault in (
    (Forgetful, "an undo that loses what came since"),
    (Recalling, "an undo that only recalls"),
    (Once, "an undo that cannot be undone"),
):
    breaks(
        histories.undoing_restores_the_view,
        fault,
        partial(lambda kind, law: law(talkative(kind), TALK), undoing),
    )
obeys(
    histories.undoing_restores_the_view,
    "a sound history",
    lambda law: law(talkative(History), TALK),
)


# --- projections ------------------------------------------------------------------

TURNS = [Turn("assistant" if n % 2 else "user", f"Message {n}: " + "word " * 30) for n in range(20)]
OPENAI = get_format("openai")


def edited(change: Callable[[Projection], Projection]) -> Projecting:
    """Return a `project` whose results are changed."""

    def projecting(
        messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
    ) -> Projection:
        return change(project(messages, max_tokens, provider=provider, counter=counter))

    return projecting


def counted() -> Projecting:
    """Return a `project` that counts its calls."""
    calls = count()
    return edited(lambda p: evolve(p, floor=next(calls)))


def noted(projection: Projection) -> Projection:
    """Add a note, each time."""
    return evolve(
        projection, messages=[*projection.messages, {"role": "user", "content": "(shortened)"}]
    )


def turned(projection: Projection) -> Projection:
    """Say the newest before what it answers."""
    return evolve(projection, messages=[projection.messages[0], *reversed(projection.messages[1:])])


def eating(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Cut in place."""
    projection = project(messages, max_tokens, provider=provider, counter=counter)
    messages.pop(2)
    return projection


def sharing(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Hand the input out again: what is done to the output is done to the input."""
    return evolve(
        project(messages, max_tokens, provider=provider, counter=counter), messages=messages
    )


def doubling(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Take twice the room, and report otherwise."""
    projection = project(messages, 2 * max_tokens, provider=provider, counter=counter)
    return evolve(projection, max_tokens=max_tokens, tokens_after=max_tokens)


GIVEN = (500, OPENAI, FAST)
breaks(
    projections.projecting_is_deterministic,
    "it counts its calls",
    lambda law: law(counted(), TURNS, *GIVEN),
)
breaks(
    projections.projecting_twice_is_projecting_once,
    "it adds a note each time",
    lambda law: law(edited(noted), TURNS, *GIVEN),
)
breaks(
    projections.projecting_leaves_its_input_alone,
    "it eats its input",
    lambda law: law(eating, TURNS, *GIVEN),
)
breaks(
    projections.projecting_leaves_its_input_alone,
    "it hands the input out again",
    lambda law: law(sharing, TURNS, *GIVEN),
)
breaks(
    projections.a_projection_is_within_its_budget,
    "it takes twice the room",
    lambda law: law(doubling, TURNS, *GIVEN),
)
breaks(
    projections.projecting_keeps_what_must_stay,
    "the first user message, or the order, is lost",
    lambda law: law(edited(lambda p: evolve(p, messages=p.messages[1:])), TURNS, *GIVEN),
    lambda law: law(edited(turned), TURNS, 5_000, OPENAI, FAST),
)


# --- hosts ------------------------------------------------------------------------


def unframed(projection: Projection) -> Projection:
    """Hand summaries out in a frame that nobody knows again."""
    text = json.dumps(projection.messages)
    return evolve(
        projection,
        messages=json.loads(
            text.replace("[Summary of earlier messages]", "Notes:").replace("[End of summary]", "")
        ),
    )


def rewritten(provider: Provider) -> Callable[[Any], object]:
    """Return the call of a law with such projections, which a host rewrites."""
    return lambda law: law(edited(unframed), [1, 1, 2, 0, 5, 3, 8, 2], get_format(provider), FAST)


for provider in Provider:
    breaks(
        hosts.hosts_pin_nothing,
        f"summaries that nobody knows again, for {provider}",
        rewritten(provider),
    )
