"""Every map that was ever handed out stays what it was, whoever derives what from it."""

import threading

from polycontext.linearity import LinearityMap, ResourceClass

DROPPABLE, REQUIRED, PRESERVED = ResourceClass


def base() -> LinearityMap:
    """Return a ledger with two resources."""
    return LinearityMap().tag("a", DROPPABLE).tag("b", REQUIRED)


def test_the_empty_ledger_is_not_shared_between_conversations() -> None:
    """Two new ledgers have indices of their own."""
    one, other = LinearityMap(), LinearityMap()
    assert list(one.tag("a", REQUIRED)) == ["a"]
    assert other._index is not one._index
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
