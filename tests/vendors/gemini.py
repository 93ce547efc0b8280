"""A strict stand-in for Gemini's `generateContent` that signs its calls.

Within the current step of a conversation, the first call of each content must have its signature,
or the one that the vendor does not check.

Source: the vendor's page on thought signatures, and recorded errors.
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from attrs import define

from polycontext.testing import strict
from polycontext.testing.strict.gemini import Answer
from polycontext.testing.strict.provider import Request, RequestRefusedError
from polycontext.window.providers.gemini.rules import UNSIGNED

_UNSIGNED_CALL = "Function call is missing a thought_signature in functionCall parts."
_BAD_SIGNATURE = "Thought signature is not valid."


@define(eq=False)
class StrictGemini(strict.StrictGemini):
    """A provider that signs its calls, and rejects a current call without its signature."""

    def check(self, request: Request) -> None:
        """Reject a call of the current step without a signature, and signatures of nobody."""
        super().check(request)
        contents: Sequence[Mapping[str, Any]] = request["contents"]
        asked = [
            index
            for index, content in enumerate(contents)
            if content.get("role") != "model"
            and not any("functionResponse" in part for part in content["parts"])
        ]
        for index, content in enumerate(contents):
            calls = [part for part in content["parts"] if "functionCall" in part]
            given = [part["thoughtSignature"] for part in calls if "thoughtSignature" in part]
            if any(not self._is_ours(signature) for signature in given):
                raise _refused(_BAD_SIGNATURE, "bad-signature", index)
            is_current = index > max(asked, default=-1)
            if calls and is_current and "thoughtSignature" not in calls[0]:
                raise _refused(_UNSIGNED_CALL, "missing-signature", index)

    def render(self, request: Request, reply: Answer, tokens: int) -> dict[str, Any]:
        """Return `reply` as an answer, with a signature on its first call."""
        answer = super().render(request, reply, tokens)
        parts = answer["candidates"][0]["content"]["parts"]
        call = next((part for part in parts if "functionCall" in part), None)
        if call is not None:
            call["thoughtSignature"] = self._signature(b"%d" % next(self._numbers))
        return answer

    def _signature(self, nonce: bytes) -> str:
        mac = hmac.new(b"strict", nonce, sha256).hexdigest()[:32]
        return b64encode(nonce + b"." + mac.encode()).decode()

    def _is_ours(self, signature: object) -> bool:
        if not isinstance(signature, str):
            return False
        nonce = re.match(rb"\d+", _decoded(signature))
        return signature == UNSIGNED or (
            nonce is not None and signature == self._signature(nonce[0])
        )


def _decoded(signature: str) -> bytes:
    try:
        return b64decode(signature.encode(), altchars=b"-_")
    except ValueError:
        return b""


def _refused(message: str, rule: str, index: int) -> RequestRefusedError:
    return RequestRefusedError(400, "INVALID_ARGUMENT", message, rule, index)
