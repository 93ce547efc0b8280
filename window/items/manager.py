"""The manager: the items that somebody has at hand, bounded, oldest out first."""

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from threading import RLock
from typing import Any

from attrs import define, evolve

from polycontext.linearity import (
    CallerError,
    InvalidDataError,
    InvalidOptionError,
    UnknownNameError,
)

from ..tokens.counter import TokenCounter
from ..tokens.tiktoken_counter import default_counter
from .item import ContextItem, ItemType, check_item_type
from .markdown import context_to_string


@define(slots=False, eq=False)
class DuplicateItemError(CallerError, ValueError):
    """Refuse an item that is held already.

    `existing` is the one that is there, `what` is what they share.
    """

    item: ContextItem
    existing: ContextItem
    what: str

    def __str__(self) -> str:
        return f"item {self.item.id!r} has the {self.what} of {self.existing.id!r}, which is already held. Remove that one first, or leave this one out."


class ContextManager:
    """Hold up to `max_items` items in the order they came, within `max_tokens` where that is given.

    An item that comes in makes the oldest ones leave until both bounds are kept; `on_evict` is
    told each of them, once the new item is in. Items that were removed are no evictions. Tokens are
    those of each item printed alone, as `counter` counts them. Safe under threads. A copy tells
    nobody.

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
        """Take `item` in and return it.

        Raises:
            DuplicateItemError: one with its id, or with its type, content and metadata, is held
                already.
            InvalidDataError: it takes more than `max_tokens` alone.
        """
        tokens = self._count(item)
        with self._lock:
            self._check_new(item)
            evicted = self._put(item, tokens)
        self._tell(evicted)
        return item

    def update(self, item: ContextItem) -> ContextItem:
        """Put `item` in the place of the one that has its id, and return it as it is held: it keeps the first one's creation time.

        Raises:
            UnknownNameError: no item of its id is held.
            DuplicateItemError: another one with its type, content and metadata is.
            InvalidDataError: it takes more than `max_tokens` alone.

        >>> from attrs import evolve
        >>> manager = ContextManager()
        >>> item = manager.add(ContextItem("x = 1"))
        >>> manager.update(evolve(item, content="x = 2")).id == item.id, [each.content for each in manager]
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
        """Return the last `limit` items of `types`, in the order they came.

        All of them by default.
        """
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
        """Return the tokens of all items; 0 where no `max_tokens` asks for counting them."""
        return self._tokens

    def __iter__(self) -> Iterator[ContextItem]:
        with self._lock:
            return iter([item for item, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)

    def _count(self, item: ContextItem) -> int:
        if not isinstance(item, ContextItem):
            raise InvalidDataError(
                "item", f"{type(item).__name__} is no ContextItem", "a ContextItem"
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
            raise UnknownNameError(
                "item", item_id, near=tuple(get_close_matches(str(item_id), self._items))
            )
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
        """Take an item in, in its place where it has one, and return the oldest others, which had to leave for it."""
        self._tokens += tokens - self._items.get(item.id, (item, 0))[1]
        self._items[item.id] = item, tokens
        evicted: list[ContextItem] = []
        while len(self._items) > self.max_items or (
            self.max_tokens is not None and self._tokens > self.max_tokens
        ):
            evicted.append(self._pop(next(held for held in self._items if held != item.id)))
        return evicted

    def _tell(self, evicted: Iterable[ContextItem]) -> None:
        # Outside of the lock, so that the caller may use the manager.
        if self._on_evict is not None:
            for old in evicted:
                self._on_evict(old)

    def _pop(self, item_id: str) -> ContextItem:
        item, tokens = self._items.pop(item_id)
        self._tokens -= tokens
        return item

    # A lock cannot travel; whom the first one tells is none of a copy's business.
    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {**vars(self), "_items": dict(self._items), "_lock": None, "_on_evict": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())


def _within(name: str, value: int, least: int, most: int | None = None) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < least
        or (most is not None and value > most)
    ):
        legal = (
            f"a whole number, at least {least}"
            if most is None
            else f"a whole number from {least} to {most}"
        )
        raise InvalidOptionError(name, value, legal)
    return value
