"""The laws of polynomial agents, checked exhaustively on small finite ones."""

from collections.abc import Callable, Iterable
from itertools import product as pairs
from typing import Any

import pytest

from polycontext.polynomial import (
    Left,
    Lens,
    Right,
    coproduct,
    parallel,
    product,
    sequential,
    through,
)
from tests.polynomial.algebra.agents import (
    COUNTER,
    DOOR,
    ECHO,
    LAMP,
    NOTHING,
    SMALL,
    STUCK,
    UNIT,
    Agent,
    finite,
)

Rename = Callable[[Any], Any]


def same(value: Any) -> Any:
    """Return the value as it is."""
    return value


def assert_isomorphic(
    left: Agent,
    right: Agent,
    *,
    positions: Rename = same,
    inputs: Rename = same,
    outputs: Rename = same,
) -> None:
    """Check that `right` is `left` with positions, inputs and outputs renamed one to one."""
    assert {positions(s) for s in left.positions} == right.positions
    assert len(left.positions) == len(right.positions)
    for s in left.positions:
        directions = left.directions(s)
        assert {inputs(a) for a in directions} == right.directions(positions(s))
        assert len({inputs(a) for a in directions}) == len(directions)
        for a in directions:
            after, output = left.invoke(s, a)
            assert right.invoke(positions(s), inputs(a)) == (positions(after), outputs(output))


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
    """(p ⊗ q) ⊗ r ≅ p ⊗ (q ⊗ r), p ⊗ q ≅ q ⊗ p, and p ⊗ y ≅ p."""
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
        assert_isomorphic(
            coproduct(p, q),
            coproduct(q, p),
            positions=other_side,
            inputs=other_side,
            outputs=other_side,
        )
    for p in SMALL:
        bare = {
            "positions": lambda x: x.value,
            "inputs": lambda x: x.value,
            "outputs": lambda x: x.value,
        }
        assert_isomorphic(coproduct(p, NOTHING), p, **bare)


def test_product_is_associative_commutative_and_has_a_unit() -> None:
    """(p × q) × r ≅ p × (q × r), p × q ≅ q × p, and p × 1 ≅ p."""
    for p, q, r in triples():
        names = {"positions": right_bracket, "inputs": right_sum, "outputs": right_sum}
        assert_isomorphic(product(product(p, q), r), product(p, product(q, r)), **names)
        assert_isomorphic(
            product(p, q), product(q, p), positions=swap, inputs=other_side, outputs=other_side
        )
    for p in SMALL:
        assert_isomorphic(
            product(p, STUCK),
            p,
            positions=lambda x: x[0],
            inputs=lambda x: x.value,
            outputs=lambda x: x.value,
        )


def test_parallel_distributes_over_coproduct() -> None:
    """Both are the same: p ⊗ (q + r) ≅ (p ⊗ q) + (p ⊗ r)."""

    def distribute(pair: Any) -> Any:
        a, tagged = pair
        return type(tagged)((a, tagged.value))

    for p, q, r in triples():
        names = {"positions": distribute, "inputs": distribute, "outputs": distribute}
        assert_isomorphic(
            parallel(p, coproduct(q, r)), coproduct(parallel(p, q), parallel(p, r)), **names
        )


def test_sequential_is_associative_and_has_units() -> None:
    """(p ; q) ; r ≅ p ; (q ; r), and an agent that only passes on is a unit on either side."""
    chains = [(DOOR, COUNTER, LAMP), (COUNTER, LAMP, ECHO), (DOOR, COUNTER, STUCK)]
    for p, q, r in chains:
        assert_isomorphic(
            sequential(sequential(p, q), r),
            sequential(p, sequential(q, r)),
            positions=right_bracket,
        )
    for p in SMALL:
        assert_isomorphic(
            sequential(
                p,
                passing(
                    {b for s in p.positions for a in p.directions(s) for b in [p.invoke(s, a)[1]]}
                ),
            ),
            p,
            positions=lambda x: x[0],
        )
        assert_isomorphic(
            sequential(passing({a for s in p.positions for a in p.directions(s)}), p),
            p,
            positions=lambda x: x[1],
        )


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
            assert_isomorphic(
                left, parallel(sequential(p, r), sequential(q, s)), positions=interchange
            )


SHORTER: Lens[Any, Any, Any, Any] = Lens(
    lambda b: f"<{b}>", str.lower, frozenset({"OPEN", "CLOSE", "LOCK", "UNLOCK"})
)
NUMBERED: Lens[Any, Any, Any, Any] = Lens(
    lambda b: [b], ["OPEN", "CLOSE", "open", "LOCK"].__getitem__, frozenset(range(4))
)
IDENTITY: Lens[Any, Any, Any, Any] = Lens(
    same, same, frozenset({"open", "close", "lock", "unlock"})
)


def test_lenses_compose() -> None:
    """Lenses compose associatively, with the identity lens as unit."""
    assert_isomorphic(
        through(through(DOOR, SHORTER), NUMBERED), through(DOOR, SHORTER.then(NUMBERED))
    )
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
