"""What an event checks and does is declared on its transitions, as methods that one overrides."""

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import evolve
from statemachine import State

from benchmarks.budget.reading import calls_of
from polycontext.base import InvalidOptionError, PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextMachine, ContextSession, IllegalDirectionError
from polycontext.polynomial.machine import Region, once
from polycontext.polynomial.machine.declaration import OwnStates
from polycontext.pressure import Edit, FloorError, removal
from polycontext.window import EstimatingCounter, Splice, ToolCall, Turn

CARD = re.compile(r"\b(?:\d[ -]?){15}\d\b")
FROM: Any = ContextMachine.accumulating


class Redacted(ContextMachine):
    """A machine that stores no card numbers."""

    def append_turn(self, step: Any) -> Any:
        """Return the window with the turn, without a card's number."""
        turn = step.input.turn
        if CARD.search(turn.text):
            turn = evolve(turn, content=CARD.sub("[card]", turn.text), tokens=None)
            step.input = evolve(step.input, payload=turn)
        return super().append_turn(step)


class Tidy(ContextMachine):
    """Takes chatter out of the view, and results of tools that are older than five turns."""

    archive = FROM.to.itself(on="drop_old")

    @once
    def drop_old(self, step: Any) -> Edit:
        """Return the edit that takes them out."""
        window, turns = step.window, step.window.all_turns()
        chatter = [t for t in turns if window.class_of(t) is ResourceClass.DROPPABLE]
        results = [t for t in turns[:-5] if t.role == "tool"]
        return removal(window, [turn.resource_id for turn in [*chatter, *results]])


class Approval(Region):
    """A region in which a payment waits for an approval."""

    free: Any = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    assistant_turn = free.to(waiting, cond="is_payment") | free.to.itself()
    tool_turn = free.to.itself()
    approve = waiting.to(free)

    def is_payment(self, step: Any) -> bool:
        """Return whether a turn calls for a payment."""
        return any(call.name == "pay" for call in step.input.turn.tool_calls)


class Safe(ContextMachine):
    """A machine whose payments are approved, whatever the context does."""

    regions: ClassVar = {"approval": Approval}


def redacting(session: ContextSession) -> None:
    """Speak of a card."""
    session.add_user_turn("My card is 4111 1111 1111 1111, please book.")
    session.add_assistant_turn("Booked on 4111-1111-1111-1111.")


def archiving(session: ContextSession) -> None:
    """Archive what tools have said."""
    for number in range(3):
        session.add_user_turn(f"Question {number}?")
        session.add_assistant_turn(tool_calls=[ToolCall(f"c{number}", "log", "{}")])
        session.add_tool_turn(f"Row {number}. " * 9, tool_call_id=f"c{number}")
        session.add_assistant_turn("Hm.", resource_class="DROPPABLE")
    session.send("archive")


def waiting(session: ContextSession) -> None:
    """Ask for a payment, and compress while it waits."""
    session.add_user_turn("Pay.")
    session.add_assistant_turn(tool_calls=[ToolCall("c1", "pay", "{}")])
    session.compress(0.1)
    assert (session.state, session.regions) == ("COMPRESSED", {"approval": "WAITING"})
    with pytest.raises(IllegalDirectionError, match="tool_turn is not allowed in state WAITING"):
        session.add_tool_turn("paid", tool_call_id="c1")


def stands(session: ContextSession) -> object:
    """Return all that a reader sees."""
    return session.state, dict(session.regions), session.window.all_turns(), len(session.log())


@pytest.mark.parametrize(
    ("machine", "live"),
    [(Redacted, redacting), (Tidy, archiving), (Safe, waiting)],
)
def test_what_a_user_declares_holds_wherever_a_session_is(
    machine: Any, live: Any, tmp_path: Path
) -> None:
    """Live, replayed, at its revision, forked, reopened, followed, rewound and erased."""
    file = tmp_path / "s.db"
    with ContextSession.open(file, "s", max_tokens=4000, machine=machine) as session:
        follower = ContextSession.open(file, "s", machine=machine, listeners=[object()])
        live(session)
        wanted = stands(session)
        follower.history.refresh()
        saved = "".join(session.history.export())
        for other in (
            ContextSession.history.load(saved, machine=machine),
            session.history.at(session.history.revision),
            session.history.fork("f"),
            follower,
        ):
            assert stands(other) == wanted
        follower.close()
    with ContextSession.open(file, "s", machine=machine) as session:
        assert stands(session) == wanted
        number = session.history.revision
        session.history.rewind(1)
        session.history.rewind(number)
        assert stands(session) == wanted
        for turn in session.log():
            session.history.forget(turn.resource_id)
        assert stands(session)[:2] == wanted[:2]  # type: ignore[index]
        said = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert not re.search(rb"4111.1111|Row \d\.", said)


def test_an_archived_result_leaves_the_view_and_comes_back() -> None:
    """The view has a line in its place; the log is as it was."""
    session = ContextSession(4000, machine=Tidy)
    archiving(session)
    texts = [turn.text for turn in session.window.all_turns()]
    assert not any(text.startswith("Row 0") or text == "Hm." for text in texts)
    (first,) = [turn for turn in session.log() if turn.text.startswith("Row 0")]
    session.recall([first.resource_id])
    assert first in session.window.all_turns()
    session.send("archive")
    assert first not in session.window.all_turns()


def with_action(does: Any, name: str = "archive") -> Any:
    """Return a machine of which an event, or a method, does something."""
    if name not in ("archive", "user_turn"):
        return OwnStates("Own", (Tidy,), {name: does})
    declared = {name: FROM.to.itself(on="does"), "does": once(does)}
    return OwnStates("Own", (ContextMachine,), declared)


NEW = Turn("user", "I never said this.", resource_id="g9").with_tokens(9)


def doubled(self: Any, step: Any) -> Any:
    """Return a window with two turns."""
    return ContextMachine.append_turn(self, step).append(Turn("user", "And another."))


@pytest.mark.parametrize(
    ("does", "name", "event", "error", "said"),
    [
        (
            lambda self, step: step.window.cleared(),
            "archive",
            "archive",
            InvalidOptionError,
            "Edit",
        ),
        (
            lambda self, step: Edit((Splice(0, 0, (NEW,)),)),
            "archive",
            "archive",
            PolycontextError,
            ".",
        ),
        (
            lambda self, step: Edit((Splice(0, 1),), ("t1",)),
            "archive",
            "archive",
            FloorError,
            "'t1' would be DROPPED",
        ),
        (lambda self, step: step.window, "clear_view", "clear", InvalidOptionError, "clear"),
        (
            lambda self, step: None,
            "archive",
            "archive",
            InvalidOptionError,
            "action of archive = None. Use an Edit, which",
        ),
        (
            lambda self, step: None,
            "user_turn",
            "user_turn",
            InvalidOptionError,
            "action of user_turn = None. Use an Edit, which",
        ),
        (doubled, "append_turn", "user_turn", InvalidOptionError, "user_turn"),
    ],
)
def test_an_action_that_the_journal_could_not_tell_again_is_refused(
    does: Any, name: str, event: str, error: type[Exception], said: str
) -> None:
    """New words, a lost PRESERVED turn, another window, nothing, two turns; nothing changes."""
    session = ContextSession(4000, machine=ContextMachine)
    session.add_user_turn("Never book a flight.", resource_class="PRESERVED")
    saved = "".join(session.history.export())
    session = ContextSession.history.load(saved, machine=with_action(does, name))
    before = stands(session)
    with pytest.raises(error, match=said):
        session.send(event, *["Two."] * (event == "user_turn"))
    assert stands(session) == before


def test_a_transition_of_ones_own_keeps_what_its_event_does() -> None:
    """A turn that leads to a state of one's own is appended and checked, and runs once."""
    ran = list[str]()

    class Held(ContextMachine):
        hold = State("HOLD", value="HOLD")
        user_turn = FROM.to(hold, cond="is_secret")
        go = hold.to(FROM)

        def is_secret(self, step: Any) -> bool:
            return step.after.value.text == "secret"  # type: ignore[no-any-return]

        def append_turn(self, step: Any) -> Any:
            ran.append(step.input.turn.text)
            return super().append_turn(step)

    session = ContextSession(4000, machine=Held)
    for text in ("one", "secret"):
        session.add_user_turn(text)
    assert (session.state, ran) == ("HOLD", ["one", "secret"])
    assert [turn.text for turn in session.window.all_turns()] == ran


def test_a_turn_through_an_action_of_ones_own_costs_the_same_however_long_the_log() -> None:
    """Its event is replayed beside it, in the same time."""
    session, costs = ContextSession(10**7, counter=EstimatingCounter(), machine=Redacted), []
    for _ in range(3):
        for number in range(200):
            session.add_user_turn(f"Question {number}")
        costs.append(calls_of(lambda: session.add_user_turn("And now?")).total())
    assert costs[-1] < 1.1 * costs[0]


def test_a_guard_that_asks_for_a_turn_is_told_of_the_step() -> None:
    """And nothing changes."""

    class Guarded(ContextMachine):
        user_turn = FROM.to.itself(cond="is_short")

        def is_short(self, turn: Turn) -> bool:
            """Return whether the turn is short."""
            return len(turn.text) < 5

    session = ContextSession(4000, machine=Guarded)
    session.add_user_turn("One.")
    with pytest.raises(InvalidOptionError, match=r"is_short.* missing .*'turn'.*\(self, step\)"):
        session.add_user_turn("Two.")
    assert len(session.log()) == 1
