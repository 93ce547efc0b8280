"""Every map that was ever handed out stays what it was, whoever derives what from it."""

import threading
from collections.abc import Callable

import pytest

from polycontext.linearity import LinearityMap, ResourceClass, UnknownResourceError

DROPPABLE, REQUIRED, PRESERVED = ResourceClass
Change = Callable[[LinearityMap], LinearityMap]

CHANGES: dict[str, Change] = {
    "tag": lambda ledger: ledger.tag("new", REQUIRED),
    "promote": lambda ledger: ledger.promote("a", PRESERVED),
    "drop": lambda ledger: ledger.drop("a"),
}


def base() -> LinearityMap:
    """Return a ledger with two resources."""
    return LinearityMap().tag("a", DROPPABLE).tag("b", REQUIRED)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_leaves_the_old_map_as_it_was(name: str) -> None:
    """The old map neither sees the change nor stops working."""
    old = base()
    new = CHANGES[name](old)
    assert new != old
    assert old == base()
    assert "new" not in old
    assert old.get("a") is DROPPABLE


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_two_branches_of_one_map_do_not_see_each_other(first: str, second: str) -> None:
    """Deriving twice from one map gives what deriving from two equal maps gives."""
    old = base()
    one, other = CHANGES[first](old), CHANGES[second](old)
    assert one == CHANGES[first](base())
    assert other == CHANGES[second](base())


def test_branches_may_tag_the_same_id_differently() -> None:
    """An id that another branch knows is new to this one, with a place and class of its own."""
    old = base()
    one = old.tag("x", DROPPABLE).tag("y", DROPPABLE)
    other = old.tag("y", PRESERVED)
    assert (one.get("y"), other.get("y")) == (DROPPABLE, PRESERVED)
    assert (list(one), list(other)) == (["a", "b", "x", "y"], ["a", "b", "y"])
    assert "x" not in other


def test_a_fork_keeps_the_promotions_its_version_knew_and_no_others() -> None:
    """Promotions before the fork go along, later ones do not, and both sides can promote on."""
    early = base().promote("a", REQUIRED, rationale="first")
    late = early.promote("a", PRESERVED, rationale="second").promote("b", PRESERVED)
    fork = early.tag("c", DROPPABLE)
    assert [fork.get(i) for i in fork] == [REQUIRED, REQUIRED, DROPPABLE]
    assert fork.promote("a", PRESERVED, rationale="third").tag_of("a").rationale == "third"
    assert late.tag_of("a").rationale == "second"
    assert early.tag_of("a").rationale == "first"


def test_iterating_while_newer_versions_grow_ends_where_the_map_ends() -> None:
    """A reader of an old map is not disturbed by a writer on the same store."""
    ledger = base()
    reader = iter(ledger)
    seen = [next(reader)]
    newest = ledger.tag("c", DROPPABLE).promote("a", REQUIRED)
    assert [*seen, *reader] == ["a", "b"]
    assert list(newest) == ["a", "b", "c"]


def test_an_id_may_stand_elsewhere_in_another_fork() -> None:
    """Forks that tag the same ids in different orders each find their own classes."""
    old = base()
    left = old.tag("x", REQUIRED).tag("y", DROPPABLE)
    right = old.tag("y", PRESERVED).tag("z", REQUIRED).tag("x", DROPPABLE)
    later = right.tag("v", REQUIRED)
    for ledger, classes in (
        (left, [REQUIRED, DROPPABLE]),
        (right, [DROPPABLE, PRESERVED]),
        (later, [DROPPABLE, PRESERVED]),
    ):
        assert [ledger.get("x"), ledger.get("y")] == classes
        assert ledger.classes_of(["x", "y"]) == ledger.classes_of(["x", "y"] * 20)[:2] == classes
    assert "z" not in left
    assert "x" not in old
    assert ["x" in ledger for ledger in (old.tag("y", REQUIRED), old.tag("x", REQUIRED))] == [
        False,
        True,
    ]
    with pytest.raises(UnknownResourceError):
        left.classes_of(["z"] * 20)


def test_the_empty_ledger_is_not_shared_between_conversations() -> None:
    """Two new ledgers have indices of their own."""
    one, other = LinearityMap(), LinearityMap()
    assert list(one.tag("a", REQUIRED)) == ["a"]
    assert other._store._places is not one._store._places
    assert "a" not in other.tag("b", REQUIRED)


def test_racing_threads_each_get_a_right_result() -> None:
    """Of threads that derive from one map at once, every one gets exactly its own change."""
    old, threads, rounds = base(), 8, 200
    barrier = threading.Barrier(threads)
    results: list[list[LinearityMap]] = [[] for _ in range(threads)]

    def derive(number: int) -> None:
        barrier.wait()
        for turn in range(rounds):
            branch = (
                old.tag(f"{number}-{turn}", DROPPABLE)
                .promote(f"{number}-{turn}", REQUIRED)
                .promote("a", REQUIRED)
            )
            results[number].append(branch)

    workers = [threading.Thread(target=derive, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, branches in enumerate(results):
        expected = [["a", "b", f"{number}-{turn}"] for turn in range(rounds)]
        assert [list(branch) for branch in branches] == expected
        assert all({branch.get(i) for i in branch} == {REQUIRED} for branch in branches)
    assert old == base()


def test_threads_that_put_an_id_at_different_places_all_find_it() -> None:
    """However the index is raced for, no version loses sight of an id that it tagged."""
    ledgers = [base()]
    for number in range(20):
        ledgers.append(ledgers[-1].tag(f"before {number}", DROPPABLE))
    barrier = threading.Barrier(len(ledgers))
    found: list[bool] = []

    def tag_it(ledger: LinearityMap) -> None:
        barrier.wait()
        found.extend(f"id {turn}" in ledger.tag(f"id {turn}", REQUIRED) for turn in range(200))

    workers = [threading.Thread(target=tag_it, args=(ledger,)) for ledger in ledgers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 200 * len(ledgers)


def test_a_long_ledger_reads_right_at_both_ends() -> None:
    """Many appends in a row give every id its own place."""
    ledger = LinearityMap()
    for number in range(5_000):
        ledger = ledger.tag(f"t{number}", ResourceClass(number % 3))
    assert ledger.ids.since(4_998) == ["t4998", "t4999"]
    assert [ledger.get(f"t{number}") for number in (0, 1, 2, 4_999)] == [
        DROPPABLE,
        REQUIRED,
        PRESERVED,
        REQUIRED,
    ]
    assert ledger.stats().counts == {DROPPABLE: 1667, REQUIRED: 1667, PRESERVED: 1666}
