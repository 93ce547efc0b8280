"""Digests of prefixes of conversations, by which a strict provider knows them again."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import orjson

from polycontext.testing.strict.provider import invalid_request


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
