"""An entity's data: a JSON object that cannot change, so that all versions of a registry may share it."""

from collections.abc import Iterator, Mapping
from typing import Any

from polycontext.nodes._values import InvalidRecordError, json_data, thawed


class JsonObject(Mapping[str, Any]):
    """Hold a JSON object, copied and judged once; equal to any mapping of equal items.

    Raises:
        InvalidRecordError: it is no mapping of JSON data, of integers of 64 bits and 100 levels at most.

    >>> soup = JsonObject({"tags": ["hot"]})
    >>> soup["tags"], soup.thawed()
    (('hot',), {'tags': ['hot']})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        if not isinstance(items, Mapping):
            raise InvalidRecordError("data", f"{type(items).__name__} is no object", "a mapping of JSON data, or None")
        self._items: Mapping[str, Any] = json_data(items, "data")

    def thawed(self) -> dict[str, Any]:
        """Return the same as the dicts and lists that a JSON writer takes."""
        data: dict[str, Any] = thawed(self._items)
        return data

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, JsonObject) else other)

    def __hash__(self) -> int:
        return hash(tuple(self._items))

    def __repr__(self) -> str:
        return f"JsonObject({self.thawed()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonObject, (self.thawed(),)
