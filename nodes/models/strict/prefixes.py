"""What was learned of a list so far, so that a list which grows is judged at its end only.

An agent sends its whole conversation with each request. Reading it is cheap and cannot be spared; judging and counting it is not,
and is done once for each message: what came of a prefix is remembered by the digest of all that it holds.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, Generic, TypeVar

import orjson
from attrs import define, field

from polycontext.nodes.models.strict.refusal import RequestRefusedError

Learned = TypeVar("Learned")


@define
class Recent(Generic[Learned]):
    """Remember values by key: the `most` that were asked for or kept last. Safe under threads.

    What is kept must not be changed afterwards.
    """

    most: int = 1024
    _known: OrderedDict[Hashable, Learned] = field(init=False, repr=False, factory=OrderedDict)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def get(self, key: Hashable) -> Learned | None:
        """Return what is kept under `key`, if it is."""
        return self.longest((key,))[1]

    def longest(self, keys: Sequence[Hashable]) -> tuple[int, Learned | None]:
        """Return what is kept under the last of `keys` that is known, and how many keys there are up to and with it.

        With the digests of all prefixes of a list these are the entries that are known, and what was learned of them.
        """
        with self._lock:
            for index in range(len(keys) - 1, -1, -1):
                learned = self._known.get(keys[index])
                if learned is not None:
                    self._known.move_to_end(keys[index])
                    return index + 1, learned
        return 0, None

    def keep(self, key: Hashable, learned: Learned) -> None:
        """Remember `learned` under `key`."""
        with self._lock:
            self._known[key] = learned
            self._known.move_to_end(key)
            if len(self._known) > self.most:
                self._known.popitem(last=False)


def json_bytes(value: Any) -> bytes:
    """Return `value` as JSON whose keys are in order, so that what is equal looks equal.

    Raises:
        RequestRefusedError: it is no JSON data.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        message = f"We could not parse the JSON body of your request: {error}"
        raise RequestRefusedError(400, "invalid_request_error", message, "not-json") from None


def chain(start: bytes, texts: Iterable[bytes]) -> list[bytes]:
    """Return the digests of all prefixes of `texts` behind `start`.

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
