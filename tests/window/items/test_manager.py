"""The manager holds a bounded number of items, the oldest leave first, and nothing stands twice."""

import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.window import ItemType, context_to_string
from polycontext.window.items import ContextItem, ContextManager, DuplicateItemError
from tests.window.items.samples import seed_item


class Words:
    """Count a token a word."""

    exact = True

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


def numbered(count: int, kind: str = "text") -> list[ContextItem]:
    """Return so many different items."""
    return [ContextItem(f"item {number}", kind) for number in range(count)]


def filled(some: Iterable[ContextItem], **options: Any) -> ContextManager:
    """Return a manager that was given `some` items."""
    manager = ContextManager(**options)
    for item in some:
        assert manager.add(item) is item
    return manager


def test_the_fifty_first_item_pushes_the_first_one_out() -> None:
    """Fifty are held by default; the notice names who left."""
    gone: list[ContextItem] = []
    some = numbered(51)
    manager = filled(some[:50], on_evict=gone.append)
    assert (len(manager), manager.get(), gone) == (50, tuple(some[:50]), [])
    manager.add(some[50])
    assert (len(manager), manager.get(), gone) == (50, tuple(some[1:]), [some[0]])


@pytest.mark.parametrize("size", [1, 1000])
def test_the_bounds_of_the_size_are_legal(size: int) -> None:
    """1 and 1000 items may be held."""
    assert len(filled(numbered(size + 1), max_items=size)) == size


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(["max_items"], [0, 1001, -1, True, 2.0, "50", None]),
        *product(["max_tokens"], [0, -1, False, 1.5, "9"]),
    ],
)
def test_a_bound_outside_its_range_is_refused(name: str, value: Any) -> None:
    """The error names the option and its range."""
    with pytest.raises(InvalidOptionError, match=f"{name} = .*Use a whole number") as caught:
        ContextManager(**{name: value})
    assert caught.value.option == name


def test_get_returns_the_last_of_the_wanted_types_in_order() -> None:
    """Types and limit work together; the limit counts from the end."""
    codes, texts = numbered(3, "code"), numbered(3, "text")
    some = [item for pair in zip(codes, texts, strict=True) for item in pair]
    manager = filled(some)
    assert manager.get() == tuple(manager) == tuple(some)
    assert manager.get(limit=2) == tuple(some[-2:])
    assert (
        manager.get(["code"]) == manager.get("code") == manager.get(ItemType.CODE) == tuple(codes)
    )
    assert manager.get(types=["text", ItemType.ERROR], limit=2) == tuple(texts[-2:])
    assert manager.get([]) == manager.get(limit=0) == ()
    assert manager.get(limit=99) == tuple(some)


@pytest.mark.parametrize(
    ("options", "field"),
    [({"types": ["poem"]}, "type"), ({"types": "poem"}, "type"), ({"limit": -1}, "limit")],
)
def test_get_refuses_what_it_does_not_know(options: dict[str, Any], field: str) -> None:
    """An unknown type or a negative limit is an error, not an empty answer."""
    with pytest.raises((InvalidDataError, InvalidOptionError)) as caught:
        filled(numbered(2)).get(**options)
    assert field in str(caught.value)


def test_remove_takes_one_item_out_and_is_no_eviction() -> None:
    """The item comes back, the others keep their order, an unknown id changes nothing."""
    gone: list[ContextItem] = []
    some = numbered(3)
    manager = filled(some, on_evict=gone.append)
    assert manager.remove(some[1].id) == some[1]
    assert (manager.get(), gone) == ((some[0], some[2]), [])
    with pytest.raises(UnknownNameError, match=r"unknown item .*. Did you mean") as caught:
        manager.remove(some[1].id)
    assert set(caught.value.near) <= {some[0].id, some[2].id}
    with pytest.raises(KeyError, match=r"^unknown item 'nobody'\.$"):
        manager.remove("nobody")
    assert len(manager) == 2


def test_clear_removes_everything() -> None:
    """Afterwards the same items may come again."""
    some = numbered(3)
    manager = filled(some, max_tokens=100, counter=Words())
    manager.clear()
    assert (len(manager), manager.tokens, manager.get()) == (0, 0, ())
    assert manager.add(some[0]) is some[0]


def test_what_says_the_same_is_refused_with_the_one_that_is_held() -> None:
    """Adding the same type, content and metadata again is refused with the item that is held."""
    held = seed_item()
    manager = filled([held])
    with pytest.raises(DuplicateItemError, match="has the type, content and metadata of") as caught:
        manager.add(seed_item())
    assert caught.value.existing is held
    assert manager.get() == (held,)
    manager.add(seed_item(type="file"))
    manager.add(seed_item(metadata={"filename": "math.lisp"}))
    assert len(manager) == 3


def test_an_id_is_held_once() -> None:
    """A changed copy keeps its id, so it is refused until the other one is removed."""
    held = seed_item()
    manager = filled([held])
    with pytest.raises(DuplicateItemError, match="has the id of"):
        manager.add(evolve(held, content="another"))
    manager.remove(held.id)
    assert manager.add(evolve(held, content="another")).id == held.id


def test_an_item_too_large_alone_is_refused_and_nothing_leaves() -> None:
    """The error has both numbers, and whoever was there is still there."""
    gone: list[ContextItem] = []
    manager = filled(numbered(2), max_tokens=14, counter=Words(), on_evict=gone.append)
    before = manager.get()
    with pytest.raises(InvalidDataError, match=r"takes 16 tokens. Use at most 14"):
        manager.add(ContextItem(" ".join(map(str, range(12)))))
    assert (manager.get(), manager.tokens, gone) == (before, 12, [])


def test_a_notice_may_use_the_manager() -> None:
    """The callback runs when the new item is in and the lock is free to be taken again."""
    seen: list[tuple[ContextItem, ...]] = []
    manager = ContextManager(1, on_evict=lambda _: seen.append(manager.get()))
    first, second = numbered(2)
    manager.add(first)
    manager.add(second)
    assert seen == [(second,)]


def test_an_item_is_updated_where_it_stands() -> None:
    """An updated item takes the place and the creation time of the item with its id."""
    first, held, last = (
        ContextItem(f"item {number}", "text", timestamp=number) for number in range(3)
    )
    manager = filled([first, held, last])
    changed = manager.update(
        ContextItem("new", "code", {"filename": "a.py"}, id=held.id, timestamp=99)
    )
    assert manager.get() == (first, changed, last)
    assert (changed.id, changed.content, changed.type, changed.universal_time) == (
        held.id,
        "new",
        ItemType.CODE,
        1,
    )
    assert manager.update(changed) == changed


def test_an_update_that_is_refused_changes_nothing() -> None:
    """An id that is not held, what another item says already, and what is too large alone."""
    gone: list[ContextItem] = []
    first, second = numbered(2)
    manager = filled([first, second], max_tokens=14, counter=Words(), on_evict=gone.append)
    with pytest.raises(UnknownNameError, match="unknown item"):
        manager.update(ContextItem("new"))
    with pytest.raises(DuplicateItemError, match="has the type, content and metadata of") as caught:
        manager.update(evolve(second, content=first.content))
    assert caught.value.existing is first
    with pytest.raises(InvalidDataError, match="Use at most 14"):
        manager.update(evolve(first, content=" ".join(map(str, range(12)))))
    assert (manager.get(), manager.tokens, gone) == ((first, second), 12, [])


def test_an_update_that_grows_pushes_the_oldest_others_out() -> None:
    """Never itself, although it is the oldest; one that shrinks makes room."""
    gone: list[ContextItem] = []
    first, second, third = numbered(3)
    manager = filled([first, second, third], max_tokens=20, counter=Words(), on_evict=gone.append)
    grown = manager.update(evolve(first, content=" ".join(map(str, range(8)))))
    assert (manager.get(), gone, manager.tokens) == ((grown, third), [second], 18)
    manager.update(first)
    assert (manager.get(), manager.tokens) == ((first, third), 12)


@given(
    st.lists(st.text(max_size=8).map(ContextItem), max_size=12),
    st.integers(1, 5),
    st.integers(12, 30),
)
def test_the_newest_that_fit_are_held(some: list[ContextItem], size: int, budget: int) -> None:
    """The manager holds the longest suffix of the added items that fits; the rest was evicted."""
    gone: list[ContextItem] = []
    manager = ContextManager(size, max_tokens=budget, counter=Words(), on_evict=gone.append)
    came: list[ContextItem] = []
    for item in some:
        try:
            came.append(manager.add(item))
        except DuplicateItemError as error:
            assert error.existing in manager.get()
    start = len(came) - len(manager)
    assert (tuple(gone), manager.get()) == (tuple(came[:start]), tuple(came[start:]))
    assert len(manager) <= size
    assert (
        manager.tokens
        == sum(Words().count(context_to_string([item])) for item in manager)
        <= budget
    )
    longer = came[max(0, start - 1) :]
    assert (
        start == 0
        or len(longer) > size
        or sum(Words().count(context_to_string([item])) for item in longer) > budget
    )


def test_a_manager_is_safe_under_threads() -> None:
    """With eight writers every item is held or evicted exactly once, within the size."""
    gone: list[ContextItem] = []
    manager = ContextManager(100, max_tokens=100_000, counter=Words(), on_evict=gone.append)
    some = numbered(1600)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda lot: [manager.add(item) for item in some[lot::8]], range(8)))
    assert len(manager) == 100
    assert {item.id for item in [*gone, *manager]} == {item.id for item in some}
    assert len(gone) == 1500
    assert manager.tokens == sum(Words().count(context_to_string([item])) for item in manager)


@pytest.mark.parametrize(
    "copied",
    [deepcopy, lambda manager: pickle.loads(pickle.dumps(manager))],  # noqa: S301 - our own
    ids=["copied", "pickled"],
)
def test_a_copy_goes_on_by_itself(copied: Callable[[ContextManager], ContextManager]) -> None:
    """A copy holds the same items and bounds but does not call the original's `on_evict`."""
    gone: list[ContextItem] = []
    first, second, third = numbered(3)
    manager = filled(
        [first, second], max_items=2, max_tokens=50, counter=Words(), on_evict=gone.append
    )
    other = copied(manager)
    other.add(third)
    assert (other.get(), other.tokens, gone) == ((second, third), 12, [])
    assert (manager.get(), manager.tokens) == ((first, second), 12)
