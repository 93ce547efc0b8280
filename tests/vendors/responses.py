"""A strict stand-in for OpenAI's Responses that binds reasoning and compacts."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from polycontext.testing import strict
from polycontext.testing.strict.openai_requests import check_responses_fields
from polycontext.testing.strict.provider import (
    Endpoint,
    Headers,
    Request,
    vendor_errors,
)
from polycontext.testing.strict.responses import (
    REASONING_TOKENS,
    STARTS,
    Answer,
    Item,
    output_item,
    usage_of,
)
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Provider, load_errors
from polycontext.window.providers.judge import raise_first
from polycontext.window.providers.responses.item_rules import type_of
from polycontext.window.providers.responses.rules import TRIGGER, Judge
from polycontext.window.tokens.counter import TURN_OVERHEAD

from .openai import Remembering
from .openai_options import check_responses_options
from .prefix_cache import CacheUse
from .responses_signatures import Binding, Secrets, family_of, start_of

_LEAST_COMPACTION = 32
_COMPACTION_SHARE = 20


@frozen
class _Learned:
    """The result for an input.

    `shown` holds the running digest and tokens of each item that the model sees.
    """

    binding: Binding
    shown: list[tuple[bytes, int]]

    @property
    def tokens(self) -> int:
        """Return the tokens of everything that the model sees."""
        return self.shown[-1][1] if self.shown else 0


@define(eq=False)
class StrictResponses(Remembering, strict.StrictResponses):
    """A provider that binds reasoning to its prefix, and compacts.

    Reasoning items have an encrypted content that is bound to instructions, tools and all items
    before it. After a changed prefix, it is withheld and reported in ``input_transformations``. An
    input that reaches the ``compact_threshold`` of its request gives a compaction item.
    ``/v1/responses/compact``, or a ``compaction_trigger`` as the last item, gives one on demand.
    """

    _secrets: Secrets = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._secrets = Secrets(b"strict")

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handlers of further paths: compaction on demand, and the token count."""
        return {
            "/v1/responses/compact": self.compact,
            "/v1/responses/input_tokens": self.input_tokens,
        }

    def compact(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the user's messages of the input, and one compaction item for everything else.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        items, learned = self._read(request)
        name = self.new_name(request)
        users = [item for item in items if type_of(item) == "message" and item["role"] == "user"]
        kept = [
            message_of(item, self._secrets.item_id("msg", name, place, None))
            for place, item in enumerate(users)
        ]
        compaction = self._compaction(learned.binding, learned.tokens, name, len(kept))
        said = learned.binding.tokens_of(compaction)
        return {
            "id": f"resp_{name}",
            "object": "response.compaction",
            "created_at": int(self.clock()),
            "output": [*kept, compaction],
            "usage": _usage(learned.tokens, self._use(request, learned.shown), said, 0),
        }

    def input_tokens(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the tokens of the input of `request`.

        Raises:
            RequestRefusedError: as for `create`.
        """
        return {"object": "response.input_tokens", "input_tokens": self._read(request)[1].tokens}

    def answer(self, request: Request) -> dict[str, Any]:
        """Judge `request` and return the whole answer."""
        items, learned = self._read(request)
        name, use = self.new_name(request), self._use(request, learned.shown)
        binding, removed = learned.binding, [*map(dict, learned.binding.removed)]
        if items and items[-1].get("type") == TRIGGER:
            output = [self._compaction(binding, learned.tokens, name, 0)]
            tokens = binding.tokens_of(output[0])
        else:
            answer = self.reply(request)
            output, tokens = self._make(request, answer, binding, learned.tokens, name)
        reasoning = sum(binding.tokens_of(item) for item in output if item["type"] == "reasoning")
        response: dict[str, Any] = self.frame(request, name) | {
            "output": output,
            "usage": _usage(learned.tokens, use, tokens, reasoning),
        }
        if removed:
            response["input_transformations"] = removed
        return response

    def _read(self, request: Request) -> tuple[Sequence[Any], _Learned]:
        """Judge `request`, and return its items and the result for them."""
        with vendor_errors():
            check_responses_fields(request)
            check_responses_options(request)
        items = input_items(request)
        family = family_of(str(request.get("model")))
        start = start_of(request.get("instructions"), request.get("tools"))
        judge, learned = Judge(), _Learned(Binding(self._secrets, family, start), [])
        for index, item in enumerate(items):
            with vendor_errors():
                judge.add(item)
            learned.binding.add(item, index)
            self._show(request, item, learned.binding, learned.shown)
        with vendor_errors():
            raise_first(judge.ends())
            raise_first(load_errors(Provider.RESPONSES, items))
        if learned.tokens > self.window:
            raise self.overflow(learned.tokens)
        return items, learned

    def _show(
        self, request: Request, item: Item, binding: Binding, shown: list[tuple[bytes, int]]
    ) -> None:
        if item.get("type") == "compaction":
            shown.clear()
        if shown:
            before = shown[-1][1]
        else:
            instructions = request.get("instructions")
            before = REQUEST_OVERHEAD + self._tokens.tools(request.get("tools"))
            before += TURN_OVERHEAD + self.counter.count(instructions) if instructions else 0
        # An item withheld from the model does not count.
        if binding.prefix == (shown[-1][0] if shown else binding.start):
            return
        tokens = binding.tokens_of(item) or self._tokens.of(item) + TURN_OVERHEAD
        shown.append((binding.prefix, before + tokens))

    def _use(self, request: Request, shown: Sequence[tuple[bytes, int]]) -> CacheUse:
        key = f"{request.get('model')}|{request.get('prompt_cache_key')}".encode()
        return self._cache.serve_automatic(
            [digest + key for digest, _ in shown], [tokens for _, tokens in shown]
        )

    def _make(
        self, request: Request, answer: Answer, binding: Binding, tokens: int, name: str
    ) -> tuple[list[dict[str, Any]], int]:
        """Return the items of `answer` and their tokens.

        A compaction is added if the input, which has that many `tokens`, or the input with the
        answer reaches the threshold of `request`.
        """
        items, before, threshold = list[dict[str, Any]](), tokens, compact_threshold(request)
        said = {"content": answer} if isinstance(answer, str) else answer
        compact_first = tokens >= threshold
        if compact_first:
            items.append(self._compaction(binding, tokens, name, 0))
        stored = request.get("store") is not False
        for given in [said] if isinstance(said, Mapping) else said:
            items.append(self._item(given, binding, items, name, stored=stored))
            tokens += binding.tokens_of(items[-1]) or self._tokens.of(items[-1]) + TURN_OVERHEAD
        if tokens >= threshold and not compact_first:
            items.append(self._compaction(binding, tokens, name, len(items)))
        return items, tokens - before

    def _compaction(self, binding: Binding, tokens: int, name: str, place: int) -> dict[str, Any]:
        own = self._secrets.item_id("cmp", name, place, None)
        size = max(_LEAST_COMPACTION, tokens // _COMPACTION_SHARE)
        secret = binding.bound("compaction", size)
        item = {"id": own, "type": "compaction", "encrypted_content": secret}
        binding.add(item, place)
        return item

    def _item(
        self, given: Item, binding: Binding, items: Sequence[Item], name: str, *, stored: bool
    ) -> dict[str, Any]:
        """Return the output item that `given` scripts, and add it to `binding`."""
        kind, place = given.get("type", "message"), len(items)
        needs = place - 1 if stored and items and items[-1]["type"] == "reasoning" else None
        own = self._secrets.item_id(STARTS.get(kind, kind[:3]), name, place, needs)
        signed = {"id": own}
        if kind == "reasoning":
            tokens = given.get("tokens", REASONING_TOKENS)
            signed["encrypted_content"] = binding.bound(kind, tokens)
        item = output_item(signed | dict(given), name, place)
        binding.add(item, place)
        return item


def _usage(given: int, use: CacheUse, said: int, reasoning: int) -> Any:
    details = {"cached_tokens": use.read, "cache_write_tokens": use.all_written}
    return usage_of(given, said, reasoning) | {"input_tokens_details": details}


def input_items(request: Request) -> Sequence[Any]:
    """Return the items of the input; a text is one message."""
    given = request.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else given or ()


def compact_threshold(request: Request) -> float:
    """Return the number of tokens from which `request` asks for a compaction."""
    entries = request.get("context_management") or ()
    return min(
        (entry["compact_threshold"] for entry in entries if entry.get("compact_threshold")),
        default=float("inf"),
    )


def message_of(item: Mapping[str, Any], own: str) -> dict[str, Any]:
    """Return an input message as a compaction keeps it, with the id `own`."""
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"id": own, "type": "message", "status": "completed"} | dict(item) | {"content": parts}
