"""The item manager: a bounded collection of items that evicts the oldest first."""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from threading import RLock
from typing import Any

from attrs import define, evolve

from polycontext.base import (
    CallerError,
    InvalidDataError,
    InvalidOptionError,
    UnknownNameError,
    is_whole,
    similar,
)

from ..tokens.counter import TokenCounter
from ..tokens.tiktoken_counter import default_counter
from .item import ContextItem, ItemType, check_item_type
from .markdown import context_to_string


@define(slots=False, eq=False)
class DuplicateItemError(CallerError, ValueError):
    """Raised for an item that the manager already holds.

    `existing` is the held item and `what` names the fields that both share.
    """

    item: ContextItem
    existing: ContextItem
    what: str

    def __str__(self) -> str:
        return (
            f"item {self.item.id!r} has the {self.what} of {self.existing.id!r}, which is already "
            "held. Remove that one first, or leave this one out."
        )


class ContextManager:
    """A thread-safe, insertion-ordered collection of items, bounded by number and by tokens.

    Adding an item evicts the oldest ones until at most `max_items` remain and, if `max_tokens` is
    set, their tokens fit. `on_evict` is called with each evicted item, after the new one was added;
    it is not called for removed items. The tokens of an item are those of its markdown on its own,
    as `counter` counts them. Copies have no `on_evict` callback.

    Raises:
        InvalidOptionError: `max_items` is not within 1..1000, or `max_tokens` is less than 1.

    >>> gone = []
    >>> manager = ContextManager(max_items=1, on_evict=gone.append)
    >>> first, second = manager.add(ContextItem("one")), manager.add(ContextItem("two"))
    >>> manager.get() == (second,), gone == [first]
    (True, True)
    """

    def __init__(
        self,
        max_items: int = 50,
        *,
        max_tokens: int | None = None,
        counter: TokenCounter | None = None,
        on_evict: Callable[[ContextItem], object] | None = None,
    ) -> None:
        self.max_items = _within("max_items", max_items, 1, 1000)
        self.max_tokens = None if max_tokens is None else _within("max_tokens", max_tokens, 1)
        self._counter = counter
        self._on_evict = on_evict
        self._items: dict[str, tuple[ContextItem, int]] = {}
        self._tokens = 0
        self._lock = RLock()

    def add(self, item: ContextItem) -> ContextItem:
        """Add `item` and return it.

        Raises:
            DuplicateItemError: An item with the same id, or with the same type, content and
                metadata, is already held.
            InvalidDataError: `item` is not a `ContextItem`, or takes more than `max_tokens` on its
                own.
        """
        tokens = self._count(item)
        with self._lock:
            self._check_new(item)
            evicted = self._put(item, tokens)
        self._tell(evicted)
        return item

    def update(self, item: ContextItem) -> ContextItem:
        """Replace the item that has the id of `item`, and return the stored item.

        The stored item keeps its position and the creation time of the item it replaces.

        Raises:
            UnknownNameError: No item with this id is held.
            DuplicateItemError: Another item with the same type, content and metadata is held.
            InvalidDataError: `item` is not a `ContextItem`, or takes more than `max_tokens` on its
                own.

        >>> from attrs import evolve
        >>> manager = ContextManager()
        >>> item = manager.add(ContextItem("x = 1"))
        >>> (
        ...     manager.update(evolve(item, content="x = 2")).id == item.id,
        ...     [each.content for each in manager],
        ... )
        (True, ['x = 2'])
        """
        tokens = self._count(item)
        with self._lock:
            held = self._held(item.id)
            changed = evolve(item, timestamp=held.universal_time)
            self._check_new(changed, besides=held.id)
            evicted = self._put(changed, tokens)
        self._tell(evicted)
        return changed

    def remove(self, item_id: str) -> ContextItem:
        """Remove one item and return it; raise `UnknownNameError` if it is not held."""
        with self._lock:
            return self._pop(self._held(item_id).id)

    def clear(self) -> None:
        """Remove every item."""
        with self._lock:
            self._items.clear()
            self._tokens = 0

    def get(
        self, types: Iterable[ItemType | str] | str | None = None, limit: int | None = None
    ) -> tuple[ContextItem, ...]:
        """Return the last `limit` items of `types`, in insertion order; all items by default."""
        wanted = set(
            map(
                check_item_type,
                ItemType if types is None else [types] if isinstance(types, str) else types,
            )
        )
        items = tuple(item for item in self if item.type in wanted)
        return items if limit is None else items[max(0, len(items) - _within("limit", limit, 0)) :]

    @property
    def tokens(self) -> int:
        """Return the tokens of all items, or 0 without `max_tokens` (they are not counted then)."""
        return self._tokens

    def __iter__(self) -> Iterator[ContextItem]:
        with self._lock:
            return iter([item for item, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)

    def _count(self, item: ContextItem) -> int:
        if not isinstance(item, ContextItem):
            raise InvalidDataError(
                "item", f"{type(item).__name__} is not a ContextItem", "a ContextItem"
            )
        if self.max_tokens is None:
            return 0
        tokens = (self._counter or default_counter()).count(context_to_string([item]))
        if tokens > self.max_tokens:
            raise InvalidDataError(
                f"item {item.id!r}", f"takes {tokens} tokens", f"at most {self.max_tokens}"
            )
        return tokens

    def _held(self, item_id: str) -> ContextItem:
        if item_id not in self._items:
            raise UnknownNameError("item", item_id, near=similar(item_id, self._items))
        return self._items[item_id][0]

    def _check_new(self, item: ContextItem, besides: str | None = None) -> None:
        for existing, _ in self._items.values():
            if existing.id == besides:
                continue
            if existing.id == item.id:
                raise DuplicateItemError(item, existing, "id")
            if existing.says_the_same_as(item):
                raise DuplicateItemError(item, existing, "type, content and metadata")

    def _put(self, item: ContextItem, tokens: int) -> list[ContextItem]:
        """Insert or replace an item, and return the oldest other items that were evicted for it."""
        self._tokens += tokens - self._items.get(item.id, (item, 0))[1]
        self._items[item.id] = item, tokens
        evicted: list[ContextItem] = []
        while len(self._items) > self.max_items or (
            self.max_tokens is not None and self._tokens > self.max_tokens
        ):
            evicted.append(self._pop(next(held for held in self._items if held != item.id)))
        return evicted

    def _tell(self, evicted: Iterable[ContextItem]) -> None:
        # Called outside the lock, so that the callback may use the manager.
        if self._on_evict is not None:
            for old in evicted:
                self._on_evict(old)

    def _pop(self, item_id: str) -> ContextItem:
        item, tokens = self._items.pop(item_id)
        self._tokens -= tokens
        return item

    # A lock cannot be pickled, and a copy does not call the original's callback.
    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {**vars(self), "_items": dict(self._items), "_lock": None, "_on_evict": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())


def _within(name: str, value: int, least: int, most: int | None = None) -> int:
    if not is_whole(value, least, inf if most is None else most):
        legal = (
            f"a whole number, at least {least}"
            if most is None
            else f"a whole number from {least} to {most}"
        )
        raise InvalidOptionError(name, value, legal)
    return value
