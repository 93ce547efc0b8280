"""What was learned of a list so far, so that a list which grows is judged at its end only.

An agent sends its whole conversation with each request. Reading it is cheap and cannot be spared; judging and counting it is not,
and is done once for each message: what came of a prefix is remembered by the digest of all that it holds.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import orjson

from .memory import Memory
from .refusal import RequestRefusedError

Learned = TypeVar("Learned")

MOST_PREFIXES = 1024
"""Prefixes that a provider remembers: about as many conversations can grow side by side."""


def longest(memory: Memory[Learned], digests: Sequence[bytes]) -> tuple[int, Learned] | tuple[int, None]:
    """Return how many entries of a list are known, and what was learned of them; ``digests[i]`` is that of entries 0 to i."""
    for index in range(len(digests) - 1, -1, -1):
        learned = memory.get(digests[index])
        if learned is not None:
            return index + 1, learned
    return 0, None


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
