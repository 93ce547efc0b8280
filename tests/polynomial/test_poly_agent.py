"""Polynomial agents and their combinators, their laws checked exhaustively on small finite agents."""

from collections.abc import Callable, Hashable, Iterable
from itertools import product as pairs
from typing import Any

import pytest

from polycontext.linearity import PolycontextError
from polycontext.polynomial import (
    CONTEXT_POLYNOMIAL,
    VALID_DIRECTIONS,
    ContextInput,
    ContextState,
    DirectionError,
    InputKind,
    Left,
    Lens,
    PolyAgent,
    Right,
    coproduct,
    parallel,
    product,
    sequential,
    through,
)
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS

Agent = PolyAgent[Any, Any, Any]
Rename = Callable[[Any], Any]


def finite(table: dict[Hashable, dict[Hashable, tuple[Hashable, Hashable]]]) -> Agent:
    """Return the agent that a table of positions, inputs, next positions and outputs describes."""
    return PolyAgent(frozenset(table), lambda s: frozenset(table[s]), lambda s, a: table[s][a])


DOOR = finite({"open": {"close": ("shut", 0)}, "shut": {"open": ("open", 1), "lock": ("locked", 2)}, "locked": {"unlock": ("shut", 1)}})
COUNTER = finite({n: {0: (n, "same"), 1: ((n + 1) % 3, "more")} for n in range(3)})
LAMP = finite({"off": {"more": ("on", True)}, "on": {"same": ("on", True), "more": ("off", False)}})
ECHO = finite({"only": {True: ("only", "T"), False: ("only", "F")}})
STUCK = finite({"end": {}})
UNIT = finite({(): {(): ((), ())}})
NOTHING = finite({})
AGENTS = {"door": DOOR, "counter": COUNTER, "lamp": LAMP, "echo": ECHO, "stuck": STUCK}
SMALL = [DOOR, COUNTER, LAMP]


def same(value: Any) -> Any:
    """Return the value as it is."""
    return value


def assert_isomorphic(left: Agent, right: Agent, *, positions: Rename = same, inputs: Rename = same, outputs: Rename = same) -> None:
    """Check everywhere that `right` is `left` with positions, inputs and outputs renamed, one to one."""
    assert {positions(s) for s in left.positions} == right.positions
    assert len(left.positions) == len(right.positions)
    for s in left.positions:
        directions = left.directions(s)
        assert {inputs(a) for a in directions} == right.directions(positions(s))
        assert len({inputs(a) for a in directions}) == len(directions)
        for a in directions:
            after, output = left.invoke(s, a)
            assert right.invoke(positions(s), inputs(a)) == (positions(after), outputs(output))


def assert_total(agent: Agent) -> None:
    """Check that every direction leads to a position, and that anything else is refused."""
    for s in agent.positions:
        for a in agent.directions(s):
            assert agent.invoke(s, a)[0] in agent.positions
        for stranger in ("stranger", Left("stranger"), ("stranger", "stranger")):
            assert not safely(agent, s, stranger)


def safely(agent: Agent, position: object, stranger: object) -> bool:
    """Tell whether an agent takes a strange input; inputs of another shape are the type checker's business."""
    try:
        return agent.accepts(position, stranger)
    except (AttributeError, IndexError):
        return False


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_agents_take_exactly_their_directions(agent: Agent) -> None:
    """A direction leads to a position; anything else is refused by name."""
    assert_total(agent)
    for s in agent.positions:
        with pytest.raises(DirectionError, match="stranger") as caught:
            agent.invoke(s, "stranger")
        assert caught.value.position == s
        assert isinstance(caught.value, PolycontextError | ValueError)


def test_run_takes_inputs_one_after_the_other() -> None:
    """`run` threads the position through and collects the outputs; it stops at the first refusal."""
    assert DOOR.run("open", ["close", "lock", "unlock"]) == ("shut", [0, 2, 1])
    assert DOOR.run("open", []) == ("open", [])
    with pytest.raises(DirectionError, match="'lock' is no direction of position 'open'"):
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
    with pytest.raises(DirectionError):
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
    with pytest.raises(DirectionError):
        chain.invoke((0, "off"), 0)


def test_through_shows_another_interface() -> None:
    """A lens renames inputs and outputs; inputs outside its domain, or that the agent refuses, are no directions."""
    polite = through(DOOR, Lens(push=str, pull=lambda a: a.removeprefix("please "), domain=frozenset({"please close", "please open"})))
    assert polite.directions("open") == {"please close"}
    assert polite.directions("locked") == frozenset()
    assert polite.invoke("shut", "please open") == ("open", "1")


COMBINED = {
    "parallel": parallel(DOOR, COUNTER),
    "coproduct": coproduct(DOOR, COUNTER),
    "product": product(DOOR, COUNTER),
    "sequential": sequential(DOOR, sequential(COUNTER, LAMP)) if DOOR.positions else DOOR,
    "through": through(COUNTER, Lens(same, same, frozenset({1}))),
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
            with pytest.raises(DirectionError):
                agent.invoke(s, a)


# --- laws -------------------------------------------------------------------------


def right_bracket(nested: Any) -> Any:
    """Return ((a, b), c) as (a, (b, c))."""
    (a, b), c = nested
    return a, (b, c)


def swap(pair: Any) -> Any:
    """Return (a, b) as (b, a)."""
    return pair[1], pair[0]


def other_side(tagged: Any) -> Any:
    """Return Left as Right and Right as Left."""
    return Right(tagged.value) if isinstance(tagged, Left) else Left(tagged.value)


def right_sum(tagged: Any) -> Any:
    """Return (A + B) + C as A + (B + C)."""
    if isinstance(tagged, Right):
        return Right(tagged)
    return tagged.value if isinstance(tagged.value, Left) else Right(Left(tagged.value.value))


def triples() -> Iterable[tuple[Agent, Agent, Agent]]:
    """Return all triples of small agents."""
    return pairs(SMALL, SMALL, SMALL)


def test_parallel_is_associative_commutative_and_has_a_unit() -> None:
    """(p ⊗ q) ⊗ r ≅ p ⊗ (q ⊗ r); p ⊗ q ≅ q ⊗ p; p ⊗ y ≅ p, which has one position and one direction."""
    for p, q, r in triples():
        names = {"positions": right_bracket, "inputs": right_bracket, "outputs": right_bracket}
        assert_isomorphic(parallel(parallel(p, q), r), parallel(p, parallel(q, r)), **names)
        assert_isomorphic(parallel(p, q), parallel(q, p), positions=swap, inputs=swap, outputs=swap)
    for p in SMALL:
        first = {"positions": lambda x: x[0], "inputs": lambda x: x[0], "outputs": lambda x: x[0]}
        assert_isomorphic(parallel(p, UNIT), p, **first)


def test_coproduct_is_associative_commutative_and_has_a_unit() -> None:
    """(p + q) + r ≅ p + (q + r); p + q ≅ q + p; p + 0 ≅ p, which has no position."""
    for p, q, r in triples():
        names = {"positions": right_sum, "inputs": right_sum, "outputs": right_sum}
        assert_isomorphic(coproduct(coproduct(p, q), r), coproduct(p, coproduct(q, r)), **names)
        assert_isomorphic(coproduct(p, q), coproduct(q, p), positions=other_side, inputs=other_side, outputs=other_side)
    for p in SMALL:
        bare = {"positions": lambda x: x.value, "inputs": lambda x: x.value, "outputs": lambda x: x.value}
        assert_isomorphic(coproduct(p, NOTHING), p, **bare)


def test_product_is_associative_commutative_and_has_a_unit() -> None:
    """(p × q) × r ≅ p × (q × r); p × q ≅ q × p; p × 1 ≅ p, which has one position and no direction."""
    for p, q, r in triples():
        names = {"positions": right_bracket, "inputs": right_sum, "outputs": right_sum}
        assert_isomorphic(product(product(p, q), r), product(p, product(q, r)), **names)
        assert_isomorphic(product(p, q), product(q, p), positions=swap, inputs=other_side, outputs=other_side)
    for p in SMALL:
        assert_isomorphic(product(p, STUCK), p, positions=lambda x: x[0], inputs=lambda x: x.value, outputs=lambda x: x.value)


def test_parallel_distributes_over_coproduct() -> None:
    """Both are the same: p ⊗ (q + r) ≅ (p ⊗ q) + (p ⊗ r)."""

    def distribute(pair: Any) -> Any:
        a, tagged = pair
        return type(tagged)((a, tagged.value))

    for p, q, r in triples():
        names = {"positions": distribute, "inputs": distribute, "outputs": distribute}
        assert_isomorphic(parallel(p, coproduct(q, r)), coproduct(parallel(p, q), parallel(p, r)), **names)


def test_sequential_is_associative_and_has_units() -> None:
    """(p ; q) ; r ≅ p ; (q ; r), and an agent that only passes on is a unit on either side."""
    chains = [(DOOR, COUNTER, LAMP), (COUNTER, LAMP, ECHO), (DOOR, COUNTER, STUCK)]
    for p, q, r in chains:
        assert_isomorphic(sequential(sequential(p, q), r), sequential(p, sequential(q, r)), positions=right_bracket)
    for p in SMALL:
        assert_isomorphic(
            sequential(p, passing({b for s in p.positions for a in p.directions(s) for b in [p.invoke(s, a)[1]]})),
            p,
            positions=lambda x: x[0],
        )
        assert_isomorphic(sequential(passing({a for s in p.positions for a in p.directions(s)}), p), p, positions=lambda x: x[1])


def passing(values: Iterable[Any]) -> Agent:
    """Return the agent that passes `values` on."""
    return finite({"pass": {value: ("pass", value) for value in values}})


def test_parallel_and_sequential_interchange() -> None:
    """(p ⊗ q) ; (r ⊗ s) ≅ (p ; r) ⊗ (q ; s)."""

    def interchange(nested: Any) -> Any:
        (a, b), (c, d) = nested
        return (a, c), (b, d)

    for p, r in [(DOOR, COUNTER), (COUNTER, LAMP), (LAMP, ECHO)]:
        for q, s in [(DOOR, COUNTER), (COUNTER, LAMP)]:
            left = sequential(parallel(p, q), parallel(r, s))
            assert_isomorphic(left, parallel(sequential(p, r), sequential(q, s)), positions=interchange)


SHORTER: Lens[Any, Any, Any, Any] = Lens(lambda b: f"<{b}>", str.lower, frozenset({"OPEN", "CLOSE", "LOCK", "UNLOCK"}))
NUMBERED: Lens[Any, Any, Any, Any] = Lens(lambda b: [b], ["OPEN", "CLOSE", "open", "LOCK"].__getitem__, frozenset(range(4)))
IDENTITY: Lens[Any, Any, Any, Any] = Lens(same, same, frozenset({"open", "close", "lock", "unlock"}))


def test_lenses_compose() -> None:
    """Through one lens and then another is through both composed; the identity lens changes nothing; composing is associative."""
    assert_isomorphic(through(through(DOOR, SHORTER), NUMBERED), through(DOOR, SHORTER.then(NUMBERED)))
    assert through(DOOR, SHORTER.then(NUMBERED)).directions("shut") == {0, 3}
    assert_isomorphic(through(DOOR, IDENTITY), DOOR)
    assert_isomorphic(through(DOOR, IDENTITY.then(SHORTER)), through(DOOR, SHORTER))
    last: Lens[Any, Any, Any, Any] = Lens(len, len, frozenset({"", "a", "aaa"}))
    left, right = SHORTER.then(NUMBERED).then(last), SHORTER.then(NUMBERED.then(last))
    assert_isomorphic(through(DOOR, left), through(DOOR, right))
    assert left.domain == right.domain == {"", "a", "aaa"}


def test_a_wrong_law_is_noticed() -> None:
    """The comparison sees a difference in positions, directions, outputs: p ⊗ q is not p × q."""
    with pytest.raises(AssertionError):
        assert_isomorphic(parallel(DOOR, COUNTER), product(DOOR, COUNTER))
    with pytest.raises(AssertionError):
        assert_isomorphic(DOOR, through(DOOR, SHORTER))
    with pytest.raises(AssertionError):
        assert_isomorphic(COUNTER, COUNTER, outputs=str.upper)


# --- the context -----------------------------------------------------------------------


def test_the_context_polynomial_is_the_machine() -> None:
    """Positions are the states, directions the table's; a legal input moves it as the machine is moved, an illegal one is refused."""
    window = ContextWindow(100, counter=WORDS)
    assert CONTEXT_POLYNOMIAL.positions == frozenset(ContextState)
    for state in ContextState:
        assert CONTEXT_POLYNOMIAL.directions(state) == VALID_DIRECTIONS[state]
    state, output = CONTEXT_POLYNOMIAL.invoke(ContextState.EMPTY, ContextInput.user_turn("hello"), window)
    assert (state, len(output.window)) == (ContextState.ACCUMULATING, 1)
    with pytest.raises(DirectionError, match="compress"):
        CONTEXT_POLYNOMIAL.invoke(ContextState.EMPTY, ContextInput.compress(), window)
    assert CONTEXT_POLYNOMIAL.accepts(ContextState.PRESSURED, ContextInput.clear())
    assert not CONTEXT_POLYNOMIAL.accepts(ContextState.PRESSURED, ContextInput(InputKind.SYSTEM, "hi"))
