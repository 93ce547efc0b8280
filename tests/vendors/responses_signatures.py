"""The binding of a response's reasoning to instructions, tools and every item before it.

Only items since the newest compaction count. An encrypted content holds the digest of the prefix
that it was made on, the model and its tokens, signed with the provider's key. If anything before a
reasoning item changes, or an earlier one is left out, the item is removed and reported in
``input_transformations``. An encrypted content that the provider did not make is rejected.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from attrs import define, field, frozen

from polycontext.testing.strict.provider import RequestRefusedError, invalid_request
from polycontext.window.providers.responses.item_rules import type_of

from .digests import json_bytes

_HEAD = b"\x80strict"
_SIZE = 16
_FAMILY = re.compile(r"gpt-\d+(\.\d+)?|o\d+")
_UNBOUND = frozenset(
    {"id", "status", "logprobs", "annotations", "prompt_cache_breakpoint", "created_by"}
)
"""Fields that a model does not see: changing or leaving them out changes nothing."""


@frozen
class Secret:
    """The data in an encrypted content: its kind, prefix, model family and tokens."""

    kind: str
    prefix: bytes
    family: str
    tokens: int


@frozen
class Secrets:
    """Writes and reads encrypted contents and item ids, signed with `key`.

    >>> secrets = Secrets(b"key")
    >>> secrets.read(secrets.write(Secret("reasoning", b"0" * 16, "gpt-5.6", 64))).tokens
    64
    """

    key: bytes

    def write(self, secret: Secret) -> str:
        """Return `secret` as text that only this key can write."""
        plain = b"|".join(
            (
                secret.kind.encode(),
                secret.family.encode(),
                str(secret.tokens).encode(),
                secret.prefix,
            )
        )
        return urlsafe_b64encode(_HEAD + self._sign(plain) + plain).decode()

    def read(self, text: str) -> Secret | None:
        """Return the secret in `text`, or None if this key did not write it."""
        try:
            raw = urlsafe_b64decode(text)
        except (Error, ValueError):
            return None
        start = len(_HEAD) + _SIZE
        plain = raw[start:]
        if not raw.startswith(_HEAD) or not hmac.compare_digest(
            raw[len(_HEAD) : start], self._sign(plain)
        ):
            return None
        kind, family, tokens, prefix = plain.split(b"|", 3)
        return Secret(kind.decode(), prefix, family.decode(), int(tokens))

    def item_id(self, start: str, response: str, place: int, needs: int | None) -> str:
        """Return the id of output item `place` of a response.

        `response` is the response's name, 12 hexadecimal digits. `needs` is the place of the
        reasoning item that must come before it, or None.
        """
        body = f"{response}{place:04x}{0 if needs is None else needs + 1:04x}"
        return f"{start}_{body}{self._sign(body.encode()).hex()[:28]}"

    def required(self, own: str) -> str | None:
        """Return the id of the reasoning item that the item `own` needs before it, or None."""
        body = own.rpartition("_")[2]
        response, place, needs = body[:12], body[12:16], body[16:20]
        if needs in ("", "0000") or body[20:] != self._sign(body[:20].encode()).hex()[:28]:
            return None
        return self.item_id("rs", response, int(needs, 16) - 1, None) if place else None

    def _sign(self, plain: bytes) -> bytes:
        return blake2b(plain, key=self.key[:64], digest_size=_SIZE).digest()


@define
class Binding:
    """The state of an input: the digest of what the model sees, and the reasoning withheld.

    Args:
        secrets: Reads the encrypted contents.
        family: The family of the model that reads the input.
        start: The digest of instructions and tools.
    """

    secrets: Secrets
    family: str
    start: bytes
    prefix: bytes = b""
    removed: list[dict[str, str]] = field(factory=list)
    _ids: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.prefix = self.prefix or self.start

    def add(self, item: Mapping[str, Any], index: int) -> None:
        """Add `item` at `index`.

        Raises:
            RequestRefusedError: its encrypted content is not of this provider, or it lacks the
                reasoning item that must come before it.
        """
        self._check_reasoning(item, index)
        kind, text = type_of(dict(item)), item.get("encrypted_content")
        if kind not in ("reasoning", "compaction") or not isinstance(text, str):
            self._pass(_visible_bytes(item, kind))
            return
        secret = self.secrets.read(text)
        if secret is None or secret.kind != kind:
            raise _unverified(text, index)
        if kind == "compaction":
            # The model no longer sees what comes before the newest compaction.
            self.prefix = self.start
            self.removed.clear()
        reason = self._mismatch(secret) if kind == "reasoning" else None
        if reason is None:
            self._pass(text.encode())
        else:
            self.removed.append(
                {
                    "type": "reasoning",
                    "id": str(item.get("id", "")),
                    "action": "removed",
                    "reason": reason,
                }
            )

    def _check_reasoning(self, item: Mapping[str, Any], index: int) -> None:
        own = item.get("id")
        if not isinstance(own, str):
            return
        self._ids.add(own)
        reasoning = self.secrets.required(own)
        if reasoning is not None and reasoning not in self._ids:
            message = (
                f"Item '{own}' of type '{type_of(dict(item))}' was provided without its required "
                f"'reasoning' item: '{reasoning}'."
            )
            legal = "the reasoning item before it, or the item without its id"
            raise invalid_request(message, "reasoning-missing", index, legal, param="input")

    def tokens_of(self, item: Mapping[str, Any]) -> int:
        """Return the tokens in the encrypted content of `item`, or 0 if it has none."""
        text = item.get("encrypted_content")
        secret = self.secrets.read(text) if isinstance(text, str) else None
        return secret.tokens if secret is not None else 0

    def bound(self, kind: str, tokens: int) -> str:
        """Return an encrypted content that is bound to the current prefix."""
        return self.secrets.write(Secret(kind, self.prefix, self.family, tokens))

    def _mismatch(self, secret: Secret) -> str | None:
        if secret.family != self.family:
            return "model_mismatch"
        return None if secret.prefix == self.prefix else "prefix_mismatch"

    def _pass(self, text: bytes) -> None:
        self.prefix = blake2b(text, key=self.prefix, digest_size=_SIZE).digest()


def family_of(model: str) -> str:
    """Return the family of `model`; its members can read each other's reasoning.

    >>> family_of("gpt-5.6-mini"), family_of("gpt-5.6-2026-03-01"), family_of("mine")
    ('gpt-5.6', 'gpt-5.6', 'mine')
    """
    found = _FAMILY.match(model)
    return found[0] if found else model


def start_of(instructions: object, tools: object) -> bytes:
    """Return the digest of instructions and tools, which come before the first item."""
    return blake2b(json_bytes([instructions, tools or []]), digest_size=_SIZE).digest()


def _visible_bytes(item: Mapping[str, Any], kind: str) -> bytes:
    """Return what a model sees of `item` in a normal form, so that equivalent forms are equal."""
    fields = _visible_fields(item)
    if kind == "message":
        fields["type"] = kind
        if isinstance(item.get("content"), str):
            text = "output_text" if item.get("role") == "assistant" else "input_text"
            fields["content"] = [{"type": text, "text": item["content"]}]
        elif isinstance(item.get("content"), list):
            fields["content"] = [_visible_fields(part) for part in item["content"]]
    return json_bytes(fields)


def _visible_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in fields.items() if value is not None and key not in _UNBOUND
    }


def _unverified(text: str, index: int) -> RequestRefusedError:
    # The vendor shows only the first and last characters.
    shown = f"{text[:4]}...{text[-4:]}"
    message = (
        f"The encrypted content {shown} could not be verified. Reason: Encrypted content could "
        "not be decrypted or parsed."
    )
    rule, code = "invalid-encrypted-content", "invalid_encrypted_content"
    return invalid_request(message, rule, index, "what the provider gave, unchanged", code)
