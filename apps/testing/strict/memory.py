"""What a strict provider remembers: verdicts on prefixes of conversations, by digest, the oldest forgotten first."""

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

from attrs import define, field

V = TypeVar("V")


def digest(*parts: bytes) -> bytes:
    """Return 16 bytes that stand for `parts`, and for no other split of the same bytes.

    >>> digest(b"ab", b"c") == digest(b"a", b"bc")
    False
    """
    total = blake2b(digest_size=16)
    for part in parts:
        total.update(len(part).to_bytes(8))
        total.update(part)
    return total.digest()


@define
class Memory(Generic[V]):
    """Keep values by digest, `most` of them. Safe under threads."""

    most: int = 20_000
    _kept: OrderedDict[bytes, V] = field(init=False, repr=False, factory=OrderedDict)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def get(self, key: bytes) -> V | None:
        """Return the value of `key`, or None."""
        return self._kept.get(key)

    def keep(self, key: bytes, value: V) -> None:
        """Remember `value`; forget the oldest where there are too many."""
        with self._lock:
            self._kept[key] = value
            if len(self._kept) > self.most:
                self._kept.popitem(last=False)
