"""A strict stand-in for OpenAI's Responses with scripted answers.

It rejects what the vendor rejects, with the vendor's messages, binds reasoning to its prefix, and
compacts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from attrs import define, field, frozen

from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError
from polycontext.window.providers import OpenAIPlace, Provider, load_errors, without
from polycontext.window.providers.responses import (
    ID_STARTS,
    TRIGGER,
    InputJudge,
    check_item,
    type_of,
)
from polycontext.window.tokens import TURN_OVERHEAD

from .memory import MOST_PREFIXES, Memory, chain, json_bytes, longest
from .openai import OpenAIOptions
from .openai_requests import check_responses_fields, not_stored
from .prefix_cache import CacheUse
from .provider import Endpoint, Event, Headers, Request, interrupt, invalid_request, vendor_errors
from .responses_fields import (
    DEFAULTS,
    compact_threshold,
    input_items,
    message_of,
    output_content,
    usage_of,
)
from .responses_signatures import Binding, Secrets, family_of, start_of
from .streams import response_events

Item = Mapping[str, Any]
Answer = str | Item | Sequence[Item]
"""A reply of the model: a text, an output item, or several. Missing ids, call ids and encrypted
contents are filled in; a reasoning item may state its ``tokens``."""

REASONING_TOKENS = 64
"""The tokens of a reasoning item that does not state them."""

_LEAST_COMPACTION = 32
_COMPACTION_SHARE = 20
_UNKNOWN = "The requested model '{model}' does not exist."
_STARTS: Mapping[str, str] = {
    **ID_STARTS,
    "tool_search_call": "tsc",
    "shell_call": "sh",
    "apply_patch_call": "apc",
    "mcp_call": "mcp",
}


@frozen
class _Learned:
    """The result for an input so far.

    `texts` holds its items as JSON; `shown` holds the running digest and tokens of each item that
    the model sees.
    """

    judge: InputJudge
    binding: Binding
    shown: list[tuple[bytes, int]]
    texts: list[bytes]

    @property
    def tokens(self) -> int:
        """Return the tokens of everything that the model sees."""
        return self.shown[-1][1] if self.shown else 0


@define(eq=False)
class StrictResponses(OpenAIOptions):
    """A provider that answers ``/v1/responses`` as OpenAI does, and rejects what it rejects.

    Safe under threads.

    Reasoning items have an encrypted content that is bound to instructions, tools and all items
    before it. After a changed prefix, it is withheld and reported in ``input_transformations``. An
    input that reaches the ``compact_threshold`` of its request gives a compaction item.
    ``/v1/responses/compact``, or a ``compaction_trigger`` as the last item, gives one on demand.
    ``/v1/responses/input_tokens`` counts tokens.

    Args:
        reply: Returns the model's reply to a request: a text, or output items. It receives the
            whole input if the request continues a stored response.
        binding: Whether reasoning is bound to what came before it. Without it, an encrypted content
            only shows that the provider made it.
        secret: Providers with the same secret accept each other's encrypted contents.
        stored: The number of responses kept for ``previous_response_id``.

    Source: the vendor's reference of responses and its guides on reasoning and compaction; the
    rules are those of `polycontext.window.providers.responses.rules`.

    >>> responses = StrictResponses(lambda request: "hello")
    >>> responses.create({"model": "gpt-5.6", "input": "hi"})["output"][0]["content"][0]["text"]
    'hello'
    """

    reply: Callable[[Request], Answer]
    binding: bool = field(default=True, kw_only=True)
    secret: bytes = field(default=b"strict", kw_only=True)
    stored: int = field(default=1000, kw_only=True)
    _secrets: Secrets = field(init=False, repr=False)
    _prefixes: Memory[_Learned] = field(
        init=False, repr=False, factory=lambda: Memory[_Learned](MOST_PREFIXES)
    )
    _responses: Memory[tuple[bytes, ...]] = field(init=False, repr=False)
    _items: Memory[bytes] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._secrets = Secrets(self.secret)
        self._responses, self._items = Memory(self.stored), Memory(self.stored * 16)

    @property
    def path(self) -> str:
        """Return the path of a request for a response."""
        return "/v1/responses"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handlers of further paths: compaction on demand, and the token count."""
        return {
            "/v1/responses/compact": self.compact,
            "/v1/responses/input_tokens": self.input_tokens,
        }

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: OpenAI would reject the request, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        return self._respond(request)

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        fault = self.faults.next()
        return interrupt(response_events(self._respond(request)), fault)

    def compact(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the user's messages of the input, and one compaction item for everything else.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        items, learned = self._read(request)
        name = self.new_name(learned.binding.prefix)
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
            "usage": usage_of(learned.tokens, self._use(request, learned.shown), said, 0),
        }

    def input_tokens(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the tokens of the input of `request`.

        Raises:
            RequestRefusedError: as for `create`.
        """
        return {"object": "response.input_tokens", "input_tokens": self._read(request)[1].tokens}

    def _respond(self, request: Request) -> dict[str, Any]:
        items, learned = self._read(request)
        name, texts = self.new_name(learned.binding.prefix), learned.texts
        use, binding = self._use(request, learned.shown), learned.binding.copy()
        if items and items[-1].get("type") == TRIGGER:
            output, texts = [self._compaction(binding, learned.tokens, name, 0)], texts[:-1]
            tokens = binding.tokens_of(output[0])
        else:
            goes_on = request.get("previous_response_id") is not None
            answer = self.reply({**request, "input": items} if goes_on else request)
            output, tokens = self._make(request, answer, binding, learned.tokens, name)
        reasoning = sum(binding.tokens_of(item) for item in output if item["type"] == "reasoning")
        response: dict[str, Any] = self._frame(request, name) | {
            "output": output,
            "usage": usage_of(learned.tokens, use, tokens, reasoning),
        }
        if tokens > (request.get("max_output_tokens") or tokens):
            response["status"] = "incomplete"
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        if learned.binding.removed:
            response["input_transformations"] = [*map(dict, learned.binding.removed)]
        if request.get("store") is not False:
            self._store(response["id"], texts, output)
        return response

    def _read(self, request: Request) -> tuple[list[dict[str, Any]], _Learned]:
        """Judge `request`, and return its items and the result for them."""
        with vendor_errors():
            check_responses_fields(request)
        self.known_model(request, _UNKNOWN, "model")
        before = self._before(request)
        given = input_items(request)
        items = [*before, *(self._resolve(item, index) for index, item in enumerate(given))]
        texts = [json_bytes(item) for item in items]
        learned = self._learn(request, items, texts, len(before))
        with vendor_errors():
            learned.judge.end()
            for error in load_errors(Provider.RESPONSES, items):
                raise error
        if learned.tokens > self.window and request.get("truncation") != "auto":
            message = (
                "Your input exceeds the context window of this model. Please adjust your input "
                "and try again."
            )
            legal, code = f"at most {self.window} tokens", "context_length_exceeded"
            raise invalid_request(message, "overflow", None, legal, code, param="input")
        return items, learned

    def _learn(
        self, request: Request, items: Sequence[dict[str, Any]], texts: Sequence[bytes], before: int
    ) -> _Learned:
        """Judge, bind and count the items after the longest known prefix."""
        family = family_of(str(request.get("model")))
        start = start_of(request.get("instructions"), request.get("tools"))
        digests = chain(start + family.encode() + b"%d" % before, texts)
        known, learned = longest(self._prefixes, digests)
        if learned is None:
            first = InputJudge(count=-before)
            learned = _Learned(first, Binding(self._secrets, family, start, self.binding), [], [])
        judge, binding, shown = learned.judge.copy(), learned.binding.copy(), list(learned.shown)
        for item in items[known:]:
            index = judge.count
            with vendor_errors():
                judge.add(item)
            binding.add(item, index)
            self._show(request, item, binding, shown)
        # Reuse the known text objects, so that the results for a growing input share them.
        learned = _Learned(judge, binding, shown, [*learned.texts, *texts[known:]])
        if digests:
            self._prefixes.keep(digests[-1], learned)
        return learned

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

    def _before(self, request: Request) -> list[dict[str, Any]]:
        """Return the items of the response that `request` continues."""
        previous, conversation = request.get("previous_response_id"), request.get("conversation")
        if conversation is not None:
            own = conversation.get("id") if isinstance(conversation, dict) else conversation
            message = f"Conversation with id '{own}' not found."
            legal = "no conversation: this provider holds none"
            rule, param = "unknown-conversation", "conversation"
            raise invalid_request(message, rule, None, legal, param=param, status=404)
        if previous is None:
            return []
        texts = self._responses.get(previous.encode())
        if texts is None:
            message = f"Previous response with id '{previous}' not found."
            legal = "the id of a response that was stored"
            param, code = "previous_response_id", "previous_response_not_found"
            raise invalid_request(message, "unknown-response", None, legal, code, param=param)
        return [orjson.loads(text) for text in texts]

    def _resolve(self, item: Any, index: int) -> Any:
        """Return `item`, or the stored item that it refers to."""
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            return item
        kind = type_of(item)
        if kind != "item_reference" and (kind != "reasoning" or item.get("encrypted_content")):
            return item
        # A malformed item is rejected later, for that reason.
        try:
            check_item(item, OpenAIPlace(Provider.RESPONSES, ("input", index)))
        except InvalidMessagesError:
            return item
        text = self._items.get(item["id"].encode())
        if text is None:
            message = f"Item with id '{item['id']}' not found."
            with vendor_errors():
                raise not_stored(index, message, "an item that was stored")
        return orjson.loads(text)

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
        own = self._secrets.item_id(_STARTS.get(kind, kind[:3]), name, place, needs)
        item: dict[str, Any] = {"id": own, "type": kind} | without(given, "tokens")
        match kind:
            case "message":
                content = output_content(given.get("content"))
                item = {"role": "assistant", "status": "completed", **item, "content": content}
            case "reasoning":
                secret = binding.bound("reasoning", given.get("tokens", REASONING_TOKENS))
                item = {"summary": [], "encrypted_content": secret} | item
            case "function_call" | "custom_tool_call":
                item = {"call_id": f"call_{name}{place:03d}", "status": "completed"} | item
            case _:
                pass
        binding.add(item, place)
        return item

    def _frame(self, request: Request, name: str) -> dict[str, Any]:
        made = int(self.clock())
        own = {
            "id": f"resp_{name}",
            "object": "response",
            "created_at": made,
            "status": "completed",
            "completed_at": made,
        }
        asked = {key: request[key] for key in (*DEFAULTS, "model") if request.get(key) is not None}
        return {**own, **DEFAULTS, **asked}

    def _store(self, own: str, texts: Sequence[bytes], output: Sequence[Item]) -> None:
        made = [json_bytes(item) for item in output]
        self._responses.keep(own.encode(), (*texts, *made))
        for item, text in zip(output, made, strict=True):
            self._items.keep(item["id"].encode(), text)
