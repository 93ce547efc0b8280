"""Signatures that bind thinking to its prefix, and summaries to the place they stand for.

A chain of digests covers the content of a conversation, block by block with its role. It leaves out
what the vendor does not compare: cache breakpoints, whether text was a string or one block, and
where one message of a role ends and the next of the same role begins. A signature is an HMAC over
the model, system and tools, the chain up to the block, and the block. A dropped block leaves no
trace in the chain, so that thinking made later stays valid without it.

Source: the vendor's pages on preserved thinking, prefix checks, and compaction on demand.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from enum import Enum
from hashlib import blake2b
from typing import Any

import orjson
from attrs import frozen

START = bytes(16)
"""The chain before the first block."""

_TAG, _MAC, _CHAIN = 8, 16, 16
_THINKING, _SUMMARY = b"t", b"s"
_ROLES = {"user": b"u", "assistant": b"a", "system": b"s"}


class Verdict(Enum):
    """The result of checking a signature for the model that reads it."""

    VALID = "valid"
    FORGED = "forged"
    """The signature is invalid, or the block was changed."""
    FOREIGN = "foreign"
    """The signature is from another model, whose thinking this one may not read."""
    MOVED = "moved"
    """Something before the block has changed."""


@frozen
class Bound:
    """The chain up to a place, and the role of the last summarised message, if it matters.

    The next block after a summary must have another role, or its chain differs.
    """

    chain: bytes = START
    seam: bytes = b""

    def behind(self, role: str, content: bytes) -> "Bound":
        """Return the place after one more block."""
        seam = b"seam" if self.seam == _ROLES[role] else b""
        return Bound(
            blake2b(self.chain + seam + _ROLES[role] + content, digest_size=_CHAIN).digest()
        )


def canonical(block: Mapping[str, Any]) -> bytes:
    """Return the content of a block as bytes: no cache breakpoint, no empty field, fields in order.

    The order of keys inside a call's arguments is content.

    >>> canonical(
    ...     {
    ...         "text": "hi",
    ...         "type": "text",
    ...         "cache_control": {"type": "ephemeral"},
    ...         "citations": None,
    ...     }
    ... )
    b'{"text":"hi","type":"text"}'
    """
    return orjson.dumps(_plain(block), option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    plain = {
        name: block[name]
        for name in sorted(block)
        if name != "cache_control" and block[name] is not None
    }
    if block.get("type") == "tool_result":
        content = block.get("content")
        blocks = (
            [{"type": "text", "text": content}]
            if isinstance(content, str) and content
            else content or []
        )
        plain["content"] = [_plain(inner) for inner in blocks]
    return plain


@frozen
class Signer:
    """A signer with one secret; providers with the same secret accept each other's signatures."""

    secret: bytes

    def thinking(self, model: str, head: bytes, chain: bytes, said: str) -> str:
        """Return the signature of a thinking block with the text `said`.

        It binds the block to `model`, `head` and `chain`.
        """
        tag = self._tag(model)
        return b64encode(
            _THINKING
            + tag
            + self._mac(b"said", tag, said.encode())
            + self._mac(b"bound", tag, head, chain)
        ).decode()

    def verdict(
        self,
        signature: str,
        model: str,
        head: bytes,
        chain: bytes,
        said: str,
    ) -> Verdict:
        """Return the verdict on a signature for the model that reads it."""
        raw = _decode(signature)
        if raw is None or len(raw) != 1 + _TAG + 2 * _MAC or raw[:1] != _THINKING:
            return Verdict.FORGED
        tag, auth, bound = (
            raw[1 : 1 + _TAG],
            raw[1 + _TAG : 1 + _TAG + _MAC],
            raw[1 + _TAG + _MAC :],
        )
        if not hmac.compare_digest(auth, self._mac(b"said", tag, said.encode())):
            return Verdict.FORGED
        if tag != self._tag(model):
            return Verdict.FOREIGN
        if not hmac.compare_digest(bound, self._mac(b"bound", tag, head, chain)):
            return Verdict.MOVED
        return Verdict.VALID

    def summary(self, content: str, bound: Bound, last_role: str) -> str:
        """Return the signature of a summary of everything up to `bound`.

        `last_role` is the role of the last summarised message.
        """
        state = bound.chain + _ROLES[last_role]
        return b64encode(_SUMMARY + state + self._mac(b"content", state, content.encode())).decode()

    def resume(self, signature: object, content: str) -> Bound | None:
        """Return the place that a summary stands for, or None if its signature is invalid."""
        raw = _decode(signature) if isinstance(signature, str) else None
        if raw is None or len(raw) != 1 + _CHAIN + 1 + _MAC or raw[:1] != _SUMMARY:
            return None
        state, auth = raw[1 : _CHAIN + 2], raw[_CHAIN + 2 :]
        if not hmac.compare_digest(auth, self._mac(b"content", state, content.encode())):
            return None
        return Bound(state[:_CHAIN], state[_CHAIN:])

    def name(self, prefix: str, *parts: bytes) -> str:
        """Return an id that is derived from `parts`."""
        return prefix + self._mac(prefix.encode(), *parts).hex()[:24]

    def _tag(self, model: str) -> bytes:
        return blake2b(model.encode(), digest_size=_TAG).digest()

    def _mac(self, purpose: bytes, *parts: bytes) -> bytes:
        mac = blake2b(key=self.secret, digest_size=_MAC, person=purpose)
        for part in parts:
            mac.update(len(part).to_bytes(8))
            mac.update(part)
        return mac.digest()


def _decode(signature: str) -> bytes | None:
    try:
        return b64decode(signature, validate=True)
    except ValueError:
        return None
