"""The memory of a strict provider: results for prefixes of conversations, by digest.

An agent sends its whole conversation with each request. Reading it is cheap and unavoidable.
Judging and counting it is expensive, so it is done once for each message: the result for a prefix
is stored by the digest of its content. The oldest results are evicted first.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, Generic, TypeVar

import orjson
from attrs import define, field

from polycontext.testing.strict.provider import invalid_request

V = TypeVar("V")

MOST_PREFIXES = 1024
"""The number of prefixes that a provider remembers, which is about how many conversations can grow
in parallel."""


def digest(*parts: bytes) -> bytes:
    """Return a 16-byte digest of `parts`, which differs for other splits of the same bytes.

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
    """A store of at most `most` values by digest. Safe under threads."""

    most: int = 20_000
    _kept: OrderedDict[bytes, V] = field(init=False, repr=False, factory=OrderedDict)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def get(self, key: bytes) -> V | None:
        """Return the value of `key`, or None."""
        return self._kept.get(key)

    def keep(self, key: bytes, value: V) -> None:
        """Store `value`, and evict the oldest value if there are too many."""
        with self._lock:
            self._kept[key] = value
            if len(self._kept) > self.most:
                self._kept.popitem(last=False)


def longest(memory: Memory[V], digests: Sequence[bytes]) -> tuple[int, V] | tuple[int, None]:
    """Return how many entries of a list are known, and the result stored for them.

    ``digests[i]`` is the digest of entries 0 to i.
    """
    for index in range(len(digests) - 1, -1, -1):
        learned = memory.get(digests[index])
        if learned is not None:
            return index + 1, learned
    return 0, None


def json_bytes(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys, so that equal values give equal bytes.

    Raises:
        RequestRefusedError: it is not JSON data.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        message = f"We could not parse the JSON body of your request: {error}"
        raise invalid_request(message, "not-json") from None


def chain(start: bytes, texts: Iterable[bytes]) -> list[bytes]:
    """Return the digests of all prefixes of `texts` after `start`.

    Law: the digests of a prefix are a prefix of the digests.

    >>> chain(b"", [b"a", b"b"])[:1] == chain(b"", [b"a"])
    True
    """
    digests: list[bytes] = []
    last = blake2b(start, digest_size=16).digest()
    for text in texts:
        last = blake2b(text, key=last, digest_size=16).digest()
        digests.append(last)
    return digests
