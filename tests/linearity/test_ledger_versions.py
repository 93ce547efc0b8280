"""Every map that was ever handed out stays what it was, whoever derives what from it."""

import threading
from collections.abc import Callable

import pytest

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.shared_store import SharedStore, Version
from polycontext.linearity.tag import Tag

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


def test_appending_shares_the_store_with_the_old_map() -> None:
    """A derivation of the newest map copies nothing; one of an older map gets a store of its own."""
    old = base()
    new, other = old.tag("x", REQUIRED), old.tag("y", REQUIRED)
    assert new._store is old._store
    assert other._store is not old._store
    assert other.tag("z", REQUIRED)._store is other._store


def test_a_writer_that_died_halfway_harms_nobody() -> None:
    """When a write stops in the middle, the maps made before and after it read and derive correctly."""
    old = base()
    store = old._store
    assert store._claim(old._version)
    store._ids.append("half written")
    assert list(old) == ["a", "b"]
    new = old.tag("x", PRESERVED)
    assert (list(new), new.get("x")) == (["a", "b", "x"], PRESERVED)
    assert new._store is not store


def test_the_empty_ledger_is_not_shared_between_conversations() -> None:
    """Two new ledgers have stores of their own."""
    one, other = LinearityMap(), LinearityMap()
    assert list(one.tag("a", REQUIRED)) == ["a"]
    assert other.tag("b", REQUIRED)._store is other._store


def test_racing_threads_each_get_a_right_result() -> None:
    """Of threads that derive from one map at once, every one gets exactly its own change."""
    old, threads, rounds = base(), 8, 200
    barrier = threading.Barrier(threads)
    results: list[list[LinearityMap]] = [[] for _ in range(threads)]

    def derive(number: int) -> None:
        barrier.wait()
        for turn in range(rounds):
            branch = old.tag(f"{number}-{turn}", DROPPABLE).promote(f"{number}-{turn}", REQUIRED).promote("a", REQUIRED)
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


def test_of_racing_claims_exactly_one_wins() -> None:
    """The right to extend a version in place goes to one thread only, round after round."""
    store, version, threads = SharedStore([], []), Version(), 4
    for round_number in range(200):
        barrier, wins = threading.Barrier(threads), list[bool]()

        def claim(at: Version = version, barrier: threading.Barrier = barrier, wins: list[bool] = wins) -> None:
            barrier.wait()
            wins.append(store._claim(at))

        workers = [threading.Thread(target=claim) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(wins) == [False, False, False, True], round_number
        version = store._extended(version.length, version)


def test_a_long_ledger_reads_right_at_both_ends() -> None:
    """Many appends in a row give every id its own place."""
    ledger = LinearityMap()
    for number in range(5_000):
        ledger = ledger.tag(f"t{number}", ResourceClass(number % 3))
    assert ledger._store.newest_ids(ledger._version, 2) == ["t4998", "t4999"]
    assert [ledger.get(f"t{number}") for number in (0, 1, 2, 4_999)] == [DROPPABLE, REQUIRED, PRESERVED, REQUIRED]
    assert ledger.stats().counts == {DROPPABLE: 1667, REQUIRED: 1667, PRESERVED: 1666}


def test_the_newest_ids_of_a_short_version_are_all_of_them() -> None:
    """Asking for more ids than there are gives what there is."""
    store, version = SharedStore(["a"], [Tag(REQUIRED)]), Version(1)
    assert store.newest_ids(version, 5) == ["a"]
