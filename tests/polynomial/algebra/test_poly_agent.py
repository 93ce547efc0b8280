"""Polynomial agents and what each combinator makes of them."""

from collections.abc import Container
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext.base import PolycontextError
from polycontext.polynomial import (
    CONTEXT_POLYNOMIAL,
    VALID_DIRECTIONS,
    ContextInput,
    ContextMachine,
    ContextState,
    IllegalDirectionError,
    InputKind,
    Left,
    Lens,
    Position,
    Right,
    context_polynomial,
    coproduct,
    parallel,
    product,
    sequential,
    through,
)
from polycontext.polynomial.algebra.poly_agent import Those
from polycontext.polynomial.machine import Region
from polycontext.window import ContextWindow
from tests.polynomial.algebra.agents import COUNTER, DOOR, ECHO, LAMP, STUCK, Agent
from tests.polynomial.conversations import WORDS

AGENTS = {"door": DOOR, "counter": COUNTER, "lamp": LAMP, "echo": ECHO, "stuck": STUCK}


def assert_total(agent: Agent) -> None:
    """Check that every direction leads to a position, and that anything else is refused."""
    for s in agent.positions:
        for a in agent.directions(s):
            assert agent.invoke(s, a)[0] in agent.positions
        for stranger in ("stranger", Left("stranger"), ("stranger", "stranger")):
            assert not safely(agent, s, stranger)


def safely(agent: Agent, position: object, stranger: object) -> bool:
    """Return whether an agent accepts a foreign input, with inputs of another shape as refused."""
    try:
        return agent.accepts(position, stranger)
    except (AttributeError, IndexError):
        return False


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_agents_take_exactly_their_directions(agent: Agent) -> None:
    """A direction leads to a position; anything else is refused by name."""
    assert_total(agent)
    for s in agent.positions:
        with pytest.raises(IllegalDirectionError, match="stranger") as caught:
            agent.invoke(s, "stranger")
        assert caught.value.state == s
        assert isinstance(caught.value, PolycontextError | RuntimeError)


def test_run_takes_inputs_one_after_the_other() -> None:
    """`run` passes the position along, collects the outputs, and stops at the first refusal."""
    assert DOOR.run("open", ["close", "lock", "unlock"]) == ("shut", [0, 2, 1])
    assert DOOR.run("open", []) == ("open", [])
    with pytest.raises(
        IllegalDirectionError, match=r"input lock is not allowed in state open. Send close"
    ):
        DOOR.run("open", ["lock"])


def test_parallel_moves_both() -> None:
    """⊗: directions are pairs, and both agents move."""
    both = parallel(DOOR, COUNTER)
    assert len(both.positions) == 9
    assert both.directions(("shut", 0)) == {("open", 0), ("open", 1), ("lock", 0), ("lock", 1)}
    assert both.invoke(("shut", 2), ("lock", 1)) == (("locked", 0), (2, "more"))
    assert parallel(DOOR, STUCK).directions(("shut", "end")) == frozenset()


def test_coproduct_is_one_of_both() -> None:
    """+: the agent is one of both for ever; the other's inputs are no directions."""
    either = coproduct(DOOR, COUNTER)
    assert len(either.positions) == 6
    assert either.invoke(Left("shut"), Left("lock")) == (Left("locked"), Left(2))
    assert either.invoke(Right(2), Right(1)) == (Right(0), Right("more"))
    with pytest.raises(IllegalDirectionError):
        either.invoke(Left("shut"), Right(1))


def test_product_moves_one_of_both() -> None:
    """×: both are there, and each input moves one."""
    both = product(DOOR, COUNTER)
    assert both.directions(("open", 0)) == {Left("close"), Right(0), Right(1)}
    assert both.invoke(("open", 2), Right(1)) == (("open", 0), Right("more"))
    assert both.invoke(("open", 2), Left("close")) == (("shut", 2), Left(0))


def test_sequential_feeds_outputs_on() -> None:
    """The second takes what the first puts out; where it would not, the input is no direction."""
    chain = sequential(COUNTER, LAMP)
    assert chain.directions((0, "off")) == {1}
    assert chain.directions((0, "on")) == {0, 1}
    assert chain.run((0, "off"), [1, 0, 1]) == ((2, "off"), [True, True, False])
    with pytest.raises(IllegalDirectionError):
        chain.invoke((0, "off"), 0)


def test_through_shows_another_interface() -> None:
    """A lens renames inputs and outputs, and inputs outside its domain are not directions."""
    polite = through(
        DOOR,
        Lens(
            push=str,
            pull=lambda a: a.removeprefix("please "),
            domain=frozenset({"please close", "please open"}),
        ),
    )
    assert polite.directions("open") == {"please close"}
    assert polite.directions("locked") == frozenset()
    assert polite.invoke("shut", "please open") == ("open", "1")


COMBINED = {
    "parallel": parallel(DOOR, COUNTER),
    "coproduct": coproduct(DOOR, COUNTER),
    "product": product(DOOR, COUNTER),
    "sequential": sequential(DOOR, sequential(COUNTER, LAMP)) if DOOR.positions else DOOR,
    "through": through(COUNTER, Lens(str, int, frozenset({1}))),
}


@pytest.mark.parametrize("agent", COMBINED.values(), ids=COMBINED)
def test_combined_agents_take_exactly_their_directions(agent: Agent) -> None:
    """Every combinator makes an agent whose directions are exactly what it takes."""
    for s in agent.positions:
        for a in agent.directions(s):
            assert agent.accepts(s, a)
            assert agent.invoke(s, a)[0] in agent.positions
        known = {a for t in agent.positions for a in agent.directions(t)}
        for a in known - agent.directions(s):
            with pytest.raises(IllegalDirectionError):
                agent.invoke(s, a)


def test_the_context_polynomial_is_the_machine() -> None:
    """Positions are states with windows, and inputs move them as they move the machine."""
    places: Container[object] = CONTEXT_POLYNOMIAL.positions
    window = ContextWindow(100, counter=WORDS)
    start, pressured = (
        Position(ContextState.EMPTY, window),
        Position(ContextState.PRESSURED, window),
    )
    assert start in CONTEXT_POLYNOMIAL.positions
    assert "DREAMING" not in places
    for state in ContextState:
        assert state in places
        assert CONTEXT_POLYNOMIAL.directions(Position(state, window)) == VALID_DIRECTIONS[state]
    position, output = CONTEXT_POLYNOMIAL.invoke(start, ContextInput.user_turn("hello"))
    assert (position, len(output.window)) == (Position(ContextState.ACCUMULATING, output.window), 1)
    with pytest.raises(IllegalDirectionError, match="compress"):
        CONTEXT_POLYNOMIAL.invoke(start, ContextInput.compress())
    assert CONTEXT_POLYNOMIAL.accepts(pressured, ContextInput.clear())
    assert not CONTEXT_POLYNOMIAL.accepts(pressured, ContextInput(InputKind.SYSTEM, "hi"))


class Approval(Region):
    """A region in which a payment waits."""

    free = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    ask = free.to(waiting)
    approve = waiting.to(free)
    assistant_turn = free.to.itself()  # type: ignore[no-untyped-call]


class Safe(ContextMachine):
    """A machine with that region."""

    regions: ClassVar = {"approval": Approval}


def test_any_machine_is_a_polynomial() -> None:
    """Its places are listed; with regions, a direction is what every region accepts."""
    assert {*CONTEXT_POLYNOMIAL.positions} == {*ContextState}
    assert len(CONTEXT_POLYNOMIAL.positions) == 4
    safe = context_polynomial(Safe)
    assert {*safe.positions} == {*ContextState, *(f"{s}+approval:WAITING" for s in ContextState)}
    inputs = [ContextInput.user_turn("Pay."), ContextInput.named("ask")]
    position, outputs = safe.run(Position.start(1000), inputs)
    assert (position.state, outputs[-1].regions) == (
        "ACCUMULATING+approval:WAITING",
        {"approval": "WAITING"},
    )
    answer = ContextInput.assistant_turn("Paid.")
    assert not safe.accepts(position, answer)
    with pytest.raises(IllegalDirectionError, match="WAITING"):
        safe.invoke(position, answer)
    position, _ = safe.run(position, [ContextInput.named("approve"), answer])
    assert position.state is ContextState.ACCUMULATING


def test_what_cannot_be_listed_can_be_told() -> None:
    """Membership can be tested, but listing and counting raise TypeError."""
    both = parallel(CONTEXT_POLYNOMIAL, CONTEXT_POLYNOMIAL).positions
    with pytest.raises(TypeError, match="cannot be listed"):
        list(both)
    with pytest.raises(TypeError, match="cannot be counted"):
        len(both)


def test_the_context_polynomial_composes() -> None:
    """The context polynomial composes with others and with itself, and works through a lens."""
    start = Position(ContextState.EMPTY, ContextWindow(100, counter=WORDS))
    hello, answer = ContextInput.user_turn("hello"), ContextInput.assistant_turn("hi")
    both, _ = parallel(CONTEXT_POLYNOMIAL, CONTEXT_POLYNOMIAL).run(
        (start, start), [(hello, hello), (answer, hello)]
    )
    assert [len(each.window) for each in both] == [2, 2]
    told: Lens[Any, Any, Any, Any] = Lens(
        lambda output: output,
        lambda output: ContextInput.user_turn(f"review: {output.window.value.text}"),
        Those(lambda _: True),
    )
    reviewed = sequential(CONTEXT_POLYNOMIAL, through(CONTEXT_POLYNOMIAL, told))
    (_, reviewer), outputs = reviewed.run((start, start), [hello, answer])
    assert [turn.text for turn in reviewer.window.all_turns()] == ["review: hello", "review: hi"]
    assert outputs[-1].window == reviewer.window
    assert (start, start) in reviewed.positions
    assert reviewed.accepts((start, start), hello)
    assert not reviewed.accepts((start, start), answer)
    either, _ = coproduct(CONTEXT_POLYNOMIAL, CONTEXT_POLYNOMIAL).run(Left(start), [Left(hello)])
    assert isinstance(either, Left)
    assert len(either.value.window) == 1
    pair, _ = product(CONTEXT_POLYNOMIAL, CONTEXT_POLYNOMIAL).run(
        (start, start), [Left(hello), Right(hello), Left(answer)]
    )
    assert [len(each.window) for each in pair] == [2, 1]
