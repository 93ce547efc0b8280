"""A strict stand-in for Anthropic's Messages API that remembers what it answered.

It adds signatures, summaries, options, the cache and the window to the rules that users get.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from time import monotonic
from typing import Any

import orjson
from attrs import define, field, frozen

from polycontext.testing import strict
from polycontext.testing.strict.anthropic import Reply, message_of, text_blocks
from polycontext.testing.strict.provider import (
    Event,
    Headers,
    Request,
    interrupt,
    invalid_request,
    vendor_errors,
)
from polycontext.testing.strict.streams import message_events
from polycontext.window.providers import Provider, copied_messages
from polycontext.window.providers.anthropic.order_rules import Judge
from polycontext.window.providers.anthropic.versions import BINDING_BETA
from polycontext.window.providers.judge import raise_first

from .anthropic_editing import Edits, edits_of, refuse_unfinished, usage_of_summary
from .anthropic_prefix import MOST_BYTES, Frame, Prefix, PrefixJudge, mark_seconds, too_large
from .anthropic_requests import check_head, check_whole
from .digests import digest
from .prefix_cache import Breakpoint, CacheUse, PrefixCache
from .request_tokens import BlockTokens
from .signatures import Bound, Signer, canonical


@frozen
class _Head:
    """The parsed parts of a request other than its messages."""

    frame: Frame
    blocks: tuple[tuple[bytes, int], ...]
    marks: tuple[tuple[int, float], ...]


@frozen
class _Judged:
    """A request that was found valid."""

    head: _Head
    judge: Judge
    prefixes: list[Prefix]
    tokens: int

    @property
    def bound(self) -> Bound:
        """Return the place after the last message."""
        return self.prefixes[-1].bound


def _summary(request: Request) -> str:
    return f"Summary of {len(request['messages'])} messages."


@define(eq=False)
class StrictAnthropic(strict.StrictAnthropic):
    """A provider that signs thinking, summarises, caches, and rejects what the vendor rejects.

    Args:
        summary: Returns the text of a summary on demand; None stands for a failed one.
        clock: Returns seconds, for the lifetime of cached prefixes.
    """

    summary: Callable[[Request], str | None] = field(default=_summary, kw_only=True)
    clock: Callable[[], float] = field(default=monotonic, kw_only=True)
    _signer: Signer = field(init=False, repr=False)
    _blocks: BlockTokens = field(init=False, repr=False)
    _judge: PrefixJudge = field(init=False, repr=False)
    _cache: PrefixCache = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._signer, self._blocks = Signer(b"strict"), BlockTokens(self.counter)
        self._judge = PrefixJudge(self._signer, self._blocks)
        self._cache = PrefixCache(self.clock)

    def create(
        self, request: Request, *, headers: Headers | None = None, betas: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the vendor's answer to `request`; `betas` adds to the header ``anthropic-beta``.

        Raises:
            RequestRefusedError: the vendor would reject the request, or a scripted fault.
            ConnectionResetError: the script breaks the connection.
            BaseException: an exception that `reply` raises.
        """
        self.faults.connect()
        return self._answer(request, _betas(headers, betas))

    def stream(
        self, request: Request, *, headers: Headers | None = None, betas: Collection[str] = ()
    ) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged immediately.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionResetError: the script breaks the stream while the events are read.
        """
        fault = self.faults.next()
        return interrupt(message_events(self._answer(request, _betas(headers, betas))), fault)

    def count_tokens(
        self, request: Request, *, headers: Headers | None = None, betas: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the tokens of `request`, or raise `RequestRefusedError` as if it were sent."""
        tokens = self._judge_request(request, _betas(headers, betas), counting=True).tokens
        if not request.get("context_management"):
            return {"input_tokens": tokens}
        saved = edits_of(request, tokens, self._blocks).saved
        return {
            "input_tokens": tokens - saved,
            "context_management": {"original_input_tokens": tokens},
        }

    def _answer(self, request: Request, betas: frozenset[str]) -> dict[str, Any]:
        judged = self._judge_request(request, betas)
        edits = edits_of(request, judged.tokens, self._blocks)
        summary = [self._summarise(request)] if edits.compacts else []
        if request.get("compaction") is not None:
            content, stop = [self._sign_summary(request, judged)], "compaction"
        else:
            content, stop = self._render_reply(self.reply(request), judged, summary)
        besides: dict[str, Any] = {}
        if request.get("context_management"):
            besides["context_management"] = {"applied_edits": [*map(dict, edits.applied)]}
        if BINDING_BETA in betas:
            besides["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": reason}
                for prefix in judged.prefixes
                for path, reason in prefix.dropped
            ]
        usage = self._usage(request, judged, content, edits, summary)
        name = self._signer.name("msg_", judged.bound.chain, orjson.dumps(content))
        return message_of(name, request, content, stop, usage) | besides

    def _judge_request(
        self, request: Request, betas: frozenset[str], *, counting: bool = False
    ) -> _Judged:
        with vendor_errors():
            check_head(request, betas=betas, counting=counting)
            messages = copied_messages(Provider.ANTHROPIC, request["messages"])
            if _size({**request, "messages": messages}) > MOST_BYTES:
                raise too_large()
            judge = Judge()
            raise_first(judge.faults(messages))
            head = self._read_head(request, betas)
            prefixes = self._judge.prefixes(messages, head.frame)
            if request.get("compaction") is not None:
                refuse_unfinished(judge.waiting, judge.count)
            check_whole(request, judge)
        blocks = list(head.blocks)
        for prefix in prefixes:
            if prefix.restarts is not None:
                blocks = [*head.blocks, *prefix.blocks[prefix.restarts :]]
            else:
                blocks += prefix.blocks
        tokens = sum(tokens for _, tokens in blocks)
        if tokens > self.window and not counting:
            raise self.overflow(tokens)
        return _Judged(head, judge, prefixes, tokens)

    def _read_head(self, request: Request, betas: frozenset[str]) -> _Head:
        tools, model = request.get("tools") or [], request["model"]
        system = text_blocks(request.get("system"))
        contents = [canonical(block) for block in (*tools, *system)]
        start = digest(model.encode(), len(tools).to_bytes(4))
        chain = list(accumulate(contents, digest, initial=start))
        marks = [block.get("cache_control") for block in (*tools, *system)]
        thinking, drops = request.get("thinking"), False
        if isinstance(thinking, Mapping):
            asked = (thinking.get("block_binding") or {}).get("prefix_mismatch_behavior")
            drops = asked == "drop_block"
        # The binding covers system and tools, but not the model that reads them.
        head = digest(len(tools).to_bytes(4), *contents)
        frame = Frame(head, chain[-1], model, betas, drops)
        blocks = tuple(zip(chain[1:], self._blocks.head(system, tools), strict=True))
        places = ((n, mark) for n, mark in enumerate(marks) if isinstance(mark, Mapping))
        return _Head(frame, blocks, tuple((n, mark_seconds(mark)) for n, mark in places))

    def _render_reply(
        self, reply: Reply, judged: _Judged, summary: Sequence[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], str]:
        whole = reply if isinstance(reply, Mapping) else {"content": reply}
        content = text_blocks(whole.get("content"))
        bound, frame, blocks = judged.bound, judged.head.frame, [*summary]
        for block in summary:
            bound = Bound().behind("assistant", canonical(block))
        for number, given in enumerate(content):
            block = self._finish_block(dict(given), bound, frame, number)
            bound = bound.behind("assistant", canonical(block))
            blocks.append(block)
        calls = any(block["type"] == "tool_use" for block in blocks)
        return blocks, str(whole.get("stop_reason") or ("tool_use" if calls else "end_turn"))

    def _finish_block(
        self, block: dict[str, Any], bound: Bound, frame: Frame, number: int
    ) -> dict[str, Any]:
        place = (frame.model, frame.head, bound.chain)
        match block["type"]:
            case "thinking":
                block["signature"] = self._signer.thinking(*place, block["thinking"])
            case "redacted_thinking":
                payload = str(block.get("data") or "hidden")
                block["data"] = f"{self._signer.thinking(*place, payload)}.{payload}"
            case "tool_use" if not block.get("id"):
                own = self._signer.name("toolu_", bound.chain, bytes([number % 256]))
                block = {"type": "tool_use", "id": own, **block}
            case _:
                pass
        return block

    def _sign_summary(self, request: Request, judged: _Judged) -> dict[str, Any]:
        block = self._summarise(request)
        content, role = block["content"], judged.judge.role or "user"
        signature = None if content is None else self._signer.summary(content, judged.bound, role)
        return block | {"signature": signature}

    def _summarise(self, request: Request) -> dict[str, Any]:
        """Return the block of a summary; the model no longer sees what comes before it."""
        return {"type": "compaction", "content": self.summary(request), "encrypted_content": None}

    def _usage(
        self,
        request: Request,
        judged: _Judged,
        content: Sequence[Mapping[str, Any]],
        edits: Edits,
        summary: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        said = sum(map(self._blocks.block, content))
        if summary:
            told = sum(map(self._blocks.block, summary))
            seen = sum(tokens for _, tokens in judged.head.blocks) + told
            return usage_of_summary(judged.tokens, told, seen, said - told)
        use = self._cache_use(request, judged)
        created = {
            "ephemeral_5m_input_tokens": use.written.get(300.0, 0),
            "ephemeral_1h_input_tokens": use.written.get(3600.0, 0),
        }
        return {
            "input_tokens": max(0, judged.tokens - use.read - use.all_written - edits.saved),
            "cache_creation_input_tokens": use.all_written,
            "cache_read_input_tokens": use.read,
            "cache_creation": created,
            "output_tokens": max(1, said),
            "service_tier": "standard",
        }

    def _cache_use(self, request: Request, judged: _Judged) -> CacheUse:
        top = request.get("cache_control")
        if not isinstance(top, Mapping) and not judged.head.marks and not judged.judge.marks:
            return CacheUse(0, {})
        blocks, marks = list(judged.head.blocks), [Breakpoint(*mark) for mark in judged.head.marks]
        for prefix in judged.prefixes:
            marks += (Breakpoint(len(blocks) + number, seconds) for number, seconds in prefix.marks)
            blocks += prefix.blocks
        if isinstance(top, Mapping):
            marks.append(Breakpoint(len(blocks) - 1, mark_seconds(top)))
        sums = list(accumulate(tokens for _, tokens in blocks))
        return self._cache.serve([key for key, _ in blocks], sums, marks)


def _size(request: Request) -> int:
    try:
        return len(orjson.dumps(request))
    except TypeError as error:
        message = f"the request is not JSON data: {error}"
        raise invalid_request(message, "not-json", None, "JSON data with text keys") from None


def _betas(headers: Headers | None, betas: Collection[str]) -> frozenset[str]:
    said = (headers or {}).get("anthropic-beta", "")
    return frozenset({*betas, *(beta.strip() for beta in said.split(",") if beta.strip())})
