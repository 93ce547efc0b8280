"""The table of states and inputs, cell by cell."""

from inspect import getsource

import pytest
from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextPressureError,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    InputKind,
)
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.pressure import CompressionResult, ContextProjector, Edit, FloorError, Fulfilment
from polycontext.pressure.view import apply_edit
from polycontext.window import ContextWindow, Splice, ToolCall, Turn
from tests.house import ROOT
from tests.polynomial.conversations import WORDS, session_of, whole, words

EMPTY, ACCUMULATING, PRESSURED, COMPRESSED = "EMPTY", "ACCUMULATING", "PRESSURED", "COMPRESSED"
INPUTS = [
    "user_turn",
    "assistant_turn",
    "tool_turn",
    "system",
    "compress",
    "clear",
    "recall",
    "refill",
    "promote",
    "resize",
    "rewind",
    "undo",
    "forget",
]

# Written by hand from the design, one column an input; "-" is illegal. A small turn is meant: it
# presses nothing.
EXPECTED = {
    #              user_turn     assistant_turn  tool_turn     system        compress    clear
    # recall        refill, promote, resize, rewind, undo, forget
    EMPTY: [ACCUMULATING, "-", "-", ACCUMULATING, *["-"] * 5, EMPTY, EMPTY, "-", EMPTY],
    ACCUMULATING: [*[ACCUMULATING] * 4, COMPRESSED, EMPTY, *[ACCUMULATING] * 7],
    PRESSURED: ["-", "-", "-", "-", COMPRESSED, EMPTY, "-", "-", *[PRESSURED] * 5],
    COMPRESSED: [
        COMPRESSED,
        COMPRESSED,
        COMPRESSED,
        COMPRESSED,
        COMPRESSED,
        EMPTY,
        *[COMPRESSED] * 7,
    ],
}
CELLS = [
    (state, kind, target)
    for state, row in EXPECTED.items()
    for kind, target in zip(INPUTS, row, strict=True)
]
BACK = ("recall", "refill")
SETTLING = ("resize", "rewind", "forget")
LEGAL = [cell for cell in CELLS if cell[2] != "-" and cell[1] not in (*SETTLING, "undo")]
# An undo finds no compression before the machine is asked (`test_undo.py`).
ILLEGAL = [(state, kind) for state, kind, target in CELLS if target == "-" and kind != "undo"]
CALL = (ToolCall("c1", "search"),)


def name(cell: tuple[str, ...]) -> str:
    """Return the name of a cell's test."""
    return f"{cell[0]}-{cell[1]}-{'illegal' if len(cell) == 2 else f'to-{cell[2]}'}"


def session_in(state: str, kind: str = "") -> ContextSession:
    """Return a session driven into `state`, in which an input of `kind` has something to do."""
    cooldown = 2 if state == COMPRESSED else 0
    session = session_of(100, auto=False, cooldown=cooldown)
    if state == EMPTY:
        return session
    session.add_user_turn("book a flight")
    if state == PRESSURED or kind == "promote":
        session.add_assistant_turn(words(70 if state == PRESSURED else 2))
    if kind in BACK and state != PRESSURED:
        session.add_assistant_turn(words(46 if kind == "recall" else 16, "gone"))
        session.add_user_turn("and now")
        session.compress(0.0)
        if state == ACCUMULATING:
            session.add_assistant_turn("yes")
    if kind == "tool_turn" and state != PRESSURED:
        session.add_assistant_turn(tool_calls=CALL)
    if state == COMPRESSED and kind not in BACK:
        session.compress(0.5)
    assert session.state == state
    return session


def send(session: ContextSession, kind: str) -> None:
    """Send one small input of `kind`."""
    match kind:
        case "tool_turn":
            session.add_tool_turn("found", tool_call_id="c1")
        case "compress":
            session.compress(0.5)
        case "clear":
            session.clear()
        case "recall":
            session.recall([turn.resource_id for turn in session.log() if "gone" in turn.text])
        case "refill":
            session.history.refill()
        case "promote":
            session.promote(
                session.log()[-1].resource_id if session.log() else "t1", ResourceClass.PRESERVED
            )
        case _:
            session.add(Turn(kind.removesuffix("_turn"), "hello there"))


@pytest.mark.parametrize("cell", LEGAL, ids=name)
def test_legal_input_leads_to(cell: tuple[str, str, str]) -> None:
    """A legal input leads to the state that the table names, and becomes one event."""
    state, kind, target = cell
    session = session_in(state, kind)
    events = session.history.revision
    send(session, kind)
    assert session.state == target
    assert session.history.revision == events + 1
    assert session.history.events()[-1].state == target


@pytest.mark.parametrize("cell", ILLEGAL, ids=name)
def test_illegal_input_raises_and_changes_nothing(cell: tuple[str, str]) -> None:
    """An illegal input raises its state's error, lists the legal inputs, and changes nothing."""
    state, kind = cell
    session = session_in(state)
    before = whole(session)
    expected = ContextPressureError if state == PRESSURED else IllegalDirectionError
    with pytest.raises(IllegalDirectionError) as caught:
        send(session, kind)
    assert type(caught.value) is expected
    assert (caught.value.state, caught.value.kind) == (state, kind)
    legal = sorted(i for i, target in zip(INPUTS, EXPECTED[state], strict=True) if target != "-")
    assert sorted(map(str, caught.value.legal)) == legal
    for word in (kind, *legal, *([] if state == PRESSURED else [state])):
        assert word in str(caught.value)
    assert "pressured" in str(caught.value) or state != PRESSURED
    assert whole(session) == before


@pytest.mark.parametrize("kind", SETTLING)
@pytest.mark.parametrize("source", ContextState)
@pytest.mark.parametrize("target", ContextState)
def test_a_settling_event_leads_anywhere(
    source: ContextState, target: ContextState, kind: str
) -> None:
    """From every state it leads to every other one, as the window that it leads to says."""
    window = session_in(target).window
    machine = ContextMachine(
        window if kind == "resize" else ContextWindow(100, counter=WORDS),
        ContextPolicy(auto=False),
        source,
    )
    given = ContextInput.resize(100) if kind == "resize" else ContextInput.named(kind, window)
    assert machine.advance(given).state is target


@pytest.mark.parametrize("state", [EMPTY, ACCUMULATING, COMPRESSED])
def test_a_turn_that_presses_leads_to_pressured(state: str) -> None:
    """A turn above the high mark leads to PRESSURED from every state, even during the cooldown."""
    session = session_in(state)
    session.add_user_turn(words(80, "big"))
    assert session.state == PRESSURED


class Sinking(ContextProjector):
    """Compress by dropping the first turn, whatever its class."""

    def commit(self, window: ContextWindow, fulfilment: Fulfilment) -> CompressionResult:
        """Return a compression that its own edit makes, and that takes the task away."""
        edit = Edit((Splice(0, 1),))
        return evolve(
            super().commit(window, fulfilment),
            edit=edit,
            window=apply_edit(window, edit, compressed=True),
        )


def test_a_compression_below_a_floor_is_refused_whoever_made_it() -> None:
    """A projector that drops a PRESERVED turn is refused, and nothing changes."""
    session = ContextSession(100, auto=False, counter=WORDS, projector=Sinking())
    session.add_user_turn("book a flight")
    session.add_assistant_turn(words(60))
    before = whole(session)
    with pytest.raises(FloorError, match="PRESERVED turn 't1' would be DROPPED"):
        session.compress(0.0)
    assert whole(session) == before


def test_the_page_shows_the_class_body() -> None:
    """Each row of docs/machine.md is a line of the class, in order."""
    page = (ROOT / "docs/machine.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if " = _turns(" in line or "**_does(" in line]
    source = [line.strip() for line in getsource(ContextMachine).splitlines()]
    assert len(shown) == len(InputKind)
    assert shown == [line for line in source if line in shown]
