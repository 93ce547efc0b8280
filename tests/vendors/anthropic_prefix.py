"""The judging of a list of Messages: order rules, signatures, and what the cache sees."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from polycontext.testing.strict.anthropic import text_blocks
from polycontext.testing.strict.provider import RequestRefusedError, invalid_request
from polycontext.window.providers.anthropic.message_rules import LIMITS
from polycontext.window.providers.anthropic.versions import COMPACTION_BETA

from .digests import digest
from .request_tokens import PER_MESSAGE, BlockTokens
from .signatures import Bound, Signer, Verdict, canonical

PREFIX, MODEL = "prefix_binding_mismatch", "model_binding_mismatch"
"""The vendor's reasons for dropping a thinking block."""

MOST_BYTES = LIMITS["size"]
"""The maximum size of a request, in bytes."""


@frozen
class Frame:
    """The settings that apply to all messages of a request."""

    head: bytes
    """Digest of system and tools, to which thinking is bound."""
    cached: bytes
    """Digest of model, tools and system, for the prompt cache."""
    model: str
    betas: frozenset[str]
    drops: bool


@frozen
class Prefix:
    """The result for the messages up to one: binding, and that message's blocks."""

    bound: Bound = field(factory=Bound)
    cached: bytes = b""
    """The chain of digests for the prompt cache."""
    blocks: tuple[tuple[bytes, int], ...] = ()
    """Cache digest and tokens of each block of the last message."""
    marks: tuple[tuple[int, float], ...] = ()
    """Block and lifetime in seconds of each cache breakpoint of the last message."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Path and reason of each dropped thinking block of the last message."""
    restarts: int | None = None
    """The block of the last message that holds a summary at a threshold, if any; the model sees
    nothing before it."""


@frozen
class PrefixJudge:
    """A judge of message lists for one provider."""

    signer: Signer
    tokens: BlockTokens

    def prefixes(self, messages: Sequence[Any], frame: Frame) -> list[Prefix]:
        """Return the result for the prefix that ends with each of `messages`.

        Raises:
            RequestRefusedError: Anthropic would reject a signature.
        """
        found = [Prefix()]
        for index in range(len(messages)):
            found.append(self._read(messages, index, found[-1], frame))
        return found[1:]

    def _read(self, messages: Sequence[Any], index: int, before: Prefix, frame: Frame) -> Prefix:
        message = messages[index]
        role = message["role"]
        bound, cached, restarts = before.bound, before.cached, None
        blocks, marks, dropped = (
            list[tuple[bytes, int]](),
            list[tuple[int, float]](),
            list[tuple[str, str]](),
        )
        for number, block in enumerate(text_blocks(message["content"])):
            content = canonical(block)
            match block["type"]:
                case "thinking" | "redacted_thinking":
                    path = f"messages.{index}.content.{number}"
                    reason = self._drop_reason(block, bound, frame, path)
                    if reason is not None:
                        dropped.append((path, reason))
                        blocks.append((digest(frame.cached, cached), 0))
                        continue
                case "compaction" if block.get("signature"):
                    bound = self._resume(block, bound, frame, index)
                    cached = digest(cached, content)
                    blocks.append((digest(frame.cached, cached), self.tokens.block(block)))
                    continue
                case "compaction" if block.get("content") is not None:
                    bound, restarts = Bound(), number
                case _:
                    pass
            bound, cached = bound.behind(role, content), digest(cached, role.encode(), content)
            marks.extend((number, seconds) for seconds in _mark_lifetimes(block))
            blocks.append(
                (
                    digest(frame.cached, cached),
                    self.tokens.block(block) + (0 if number else PER_MESSAGE),
                )
            )
        return Prefix(bound, cached, tuple(blocks), tuple(marks), tuple(dropped), restarts)

    def _drop_reason(
        self, block: Mapping[str, Any], bound: Bound, frame: Frame, path: str
    ) -> str | None:
        signature, said = (
            (block["signature"], block["thinking"])
            if block["type"] == "thinking"
            else split_data(block["data"])
        )
        match self.signer.verdict(signature, frame.model, frame.head, bound.chain, said):
            case Verdict.VALID:
                return None
            case Verdict.FOREIGN:
                return MODEL
            case Verdict.MOVED if frame.drops:
                return PREFIX
            case Verdict.MOVED:
                raise _bad_thinking(block["type"], path, "thinking-moved", _MOVED)
            case Verdict.FORGED:
                raise _bad_thinking(block["type"], path, "thinking-signature", "")

    def _resume(self, block: Mapping[str, Any], bound: Bound, frame: Frame, index: int) -> Bound:
        path = f"messages.{index}.content.0:"
        if COMPACTION_BETA not in frame.betas:
            header = f"anthropic-beta: {COMPACTION_BETA}"
            message = f"{path} `compaction` blocks require the `{header}` header"
            raise invalid_request(message, "compaction-beta", index, f"the header {header}")
        content = block.get("content")
        if content is None:
            return bound
        place = self.signer.resume(block["signature"], content)
        if place is None:
            message = f"{path} the `compaction` block's `signature` does not verify"
            raise invalid_request(
                message, "compaction-signature", index, _UNCHANGED, "compaction_signature_invalid"
            )
        return place


def too_large() -> RequestRefusedError:
    """Return the vendor's error for a request of too many bytes."""
    legal = f"at most {MOST_BYTES} bytes"
    return RequestRefusedError(
        413, "request_too_large", "Request exceeds the maximum size", "request-size", None, legal
    )


_UNCHANGED = "the block as it was returned, behind what it was returned for"


def split_data(data: str) -> tuple[str, str]:
    """Return the signature and the payload in the data of a redacted thinking block."""
    signature, _, payload = data.partition(".")
    return signature, payload


_MOVED = (
    ". The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def _bad_thinking(kind: str, path: str, rule: str, more: str) -> RequestRefusedError:
    name = "signature" if kind == "thinking" else "data"
    message = f"{path}: Invalid `{name}` in `{kind}` block{more}"
    return invalid_request(message, rule, int(path.split(".")[1]), _UNCHANGED)


def _mark_lifetimes(block: Mapping[str, Any]) -> list[float]:
    inner = block.get("content") if block["type"] == "tool_result" else None
    found = [
        seconds
        for item in (inner if isinstance(inner, list) else ())
        for seconds in _mark_lifetimes(item)
    ]
    mark = block.get("cache_control")
    return [*found, mark_seconds(mark)] if isinstance(mark, Mapping) else found


def mark_seconds(mark: Mapping[str, Any]) -> float:
    """Return the lifetime of a cache breakpoint in seconds."""
    return 3600.0 if mark.get("ttl") == "1h" else 300.0
