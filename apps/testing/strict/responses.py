"""A strict OpenAI Responses: refuses what the vendor refuses, in its words, binds reasoning to its prefix, compacts, and answers by script."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from attrs import define, evolve, field, frozen

from polycontext.pressure.cache import CacheUse
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Breach, Spot
from polycontext.window.providers.responses import ID_STARTS, TRIGGER, InputJudge, item_breach, not_found, request_breach, type_of, unstored
from polycontext.window.tokens import TURN_OVERHEAD

from .memory import MOST_PREFIXES, Memory, chain, json_bytes, longest
from .openai import OpenAIOptions, check, refuse, without
from .provider import Endpoint, Event, Headers, Request, interrupt
from .responses_signatures import Binding, Secrets, family_of, start_of
from .streams import response_events

Item = Mapping[str, Any]
Answer = str | Item | Sequence[Item]
"""What the model says: a text, an output item, or several. Ids, call ids and encrypted contents are filled in where they are not given;
a reasoning item may say its ``tokens``."""

REASONING_TOKENS = 64
"""Tokens of a reasoning item that does not say how many it has."""

_LEAST_COMPACTION = 32
_COMPACTION_SHARE = 20
_UNKNOWN = "The requested model '{model}' does not exist."
_STARTS: Mapping[str, str] = {**ID_STARTS, "tool_search_call": "tsc", "shell_call": "sh", "apply_patch_call": "apc", "mcp_call": "mcp"}


@frozen
class _Learned:
    """Hold what came of an input so far: its items as JSON, and in `shown` the digests and tokens of all that the model sees, one an item."""

    judge: InputJudge
    binding: Binding
    shown: list[tuple[bytes, int]]
    texts: list[bytes]


@frozen
class _Read:
    """Hold a request that was accepted: its items as JSON, the binding behind them, what the model sees."""

    items: list[dict[str, Any]]
    texts: list[bytes]
    binding: Binding
    shown: list[tuple[bytes, int]]
    tokens: int


@frozen
class _Made:
    """Hold output items, the binding behind them, and their tokens."""

    items: list[dict[str, Any]]
    tokens: int
    reasoning: int


@define(eq=False)
class StrictResponses(OpenAIOptions):
    """Answer requests to ``/v1/responses`` as OpenAI does, and refuse what it refuses. Safe under threads.

    Reasoning items hold an encrypted content that is bound to instructions, tools and all items before it. Behind a
    changed prefix it is withheld and told of in ``input_transformations``. An input that reaches the ``compact_threshold``
    of a request gives a compaction item; ``/v1/responses/compact`` and a ``compaction_trigger`` as the last item give one on demand,
    ``/v1/responses/input_tokens`` counts.

    Args:
        reply: what the model says to a request: a text, or output items. It sees the whole input where a request goes on with a stored response.
        binding: whether reasoning is bound to what came before it; without, an encrypted content only shows that it is the provider's.
        secret: providers with one secret take each other's encrypted contents back.
        stored: responses that are kept for ``previous_response_id``.

    Source: the vendor's reference of responses and its guides on reasoning and compaction; the rules are those of
    `polycontext.window.providers.responses.rules`.

    >>> responses = StrictResponses(lambda request: "hello")
    >>> responses.create({"model": "gpt-5.6", "input": "hi"})["output"][0]["content"][0]["text"]
    'hello'
    """

    reply: Callable[[Request], Answer]
    binding: bool = field(default=True, kw_only=True)
    secret: bytes = field(default=b"strict", kw_only=True)
    stored: int = field(default=1000, kw_only=True)
    _secrets: Secrets = field(init=False, repr=False)
    _prefixes: Memory[_Learned] = field(init=False, repr=False, factory=lambda: Memory[_Learned](MOST_PREFIXES))
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
        """Return what answers at further paths: compaction on demand, and counting."""
        return {"/v1/responses/compact": self.compact, "/v1/responses/input_tokens": self.input_tokens}

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: what OpenAI would refuse, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        return self._respond(request)

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        fault = self.faults.next()
        return interrupt(response_events(self._respond(request)), fault)

    def compact(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the input as the user's messages and one compaction item, which stands for all else.

        Raises:
            RequestRefusedError: as `create`.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        read = self._read(request)
        name = self.new_name(read.binding.prefix)
        users = [item for item in read.items if type_of(item) == "message" and item["role"] == "user"]
        kept = [_retained_message(item, self._secrets.item_id("msg", name, place, None)) for place, item in enumerate(users)]
        compaction = self._compaction(read.binding, read.tokens, name, len(kept))
        frame = {"id": f"resp_{name}", "object": "response.compaction", "created_at": int(self.clock())}
        usage = _usage(read.tokens, self._use(request, read.shown), read.binding.tokens_of(compaction), 0)
        return frame | {"output": [*kept, compaction], "usage": usage}

    def input_tokens(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return how many tokens the input of `request` has.

        Raises:
            RequestRefusedError: as `create`.
        """
        return {"object": "response.input_tokens", "input_tokens": self._read(request).tokens}

    def _respond(self, request: Request) -> dict[str, Any]:
        read = self._read(request)
        name = self.new_name(read.binding.prefix)
        use = self._use(request, read.shown)
        asked = request if request.get("previous_response_id") is None else {**request, "input": read.items}
        is_triggered = bool(read.items) and read.items[-1].get("type") == TRIGGER
        made = self._make_compaction(read, name) if is_triggered else self._make(request, self.reply(asked), read, name)
        response: dict[str, Any] = self._frame(request, name) | {
            "output": made.items,
            "usage": _usage(read.tokens, use, made.tokens, made.reasoning),
        }
        if made.tokens > (request.get("max_output_tokens") or made.tokens):
            response |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        if read.binding.removed:
            response["input_transformations"] = [dict(removed) for removed in read.binding.removed]
        if request.get("store") is not False:
            self._store(response["id"], read.texts[:-1] if is_triggered else read.texts, made.items)
        return response

    def _read(self, request: Request) -> _Read:
        """Refuse `request`, or return what it says."""
        check(request_breach(request) or unstored(request))
        self.known_model(request, _UNKNOWN, "model")
        before = self._before(request)
        items = [*before, *(self._resolve(item, index) for index, item in enumerate(_input_items(request)))]
        texts = [json_bytes(item) for item in items]
        learned = self._learn(request, items, texts, len(before))
        check(learned.judge.end())
        tokens = learned.shown[-1][1] if learned.shown else 0
        if tokens > self.window and request.get("truncation") != "auto":
            message = "Your input exceeds the context window of this model. Please adjust your input and try again."
            refuse(Breach("overflow", message, f"at most {self.window} tokens", None, "input", "context_length_exceeded"))
        return _Read(items, learned.texts, learned.binding, learned.shown, tokens)

    def _learn(self, request: Request, items: Sequence[dict[str, Any]], texts: Sequence[bytes], before: int) -> _Learned:
        """Judge, bind and count the items behind the longest known prefix."""
        family = family_of(str(request.get("model")))
        start = start_of(request.get("instructions"), request.get("tools"))
        digests = chain(start + family.encode() + b"%d" % before, texts)
        known, learned = longest(self._prefixes, digests)
        if learned is None:
            learned = _Learned(
                InputJudge(required=self._secrets.required, count=-before), Binding(self._secrets, family, start, self.binding), [], []
            )
        judge, binding, shown = learned.judge.copy(), learned.binding.copy(), list(learned.shown)
        for item in items[known:]:
            index = judge.count
            check(judge.add(item) or binding.add(item, index))
            self._show(request, item, binding, shown)
        # The very texts that are known already: what is kept of a growing input shares them.
        learned = _Learned(judge, binding, shown, [*learned.texts, *texts[known:]])
        if digests:
            self._prefixes.keep(digests[-1], learned)
        return learned

    def _show(self, request: Request, item: Item, binding: Binding, shown: list[tuple[bytes, int]]) -> None:
        if item.get("type") == "compaction":
            shown.clear()
        if not shown:
            instructions = request.get("instructions") or ""
            before = (
                REQUEST_OVERHEAD
                + self._tokens.tools(request.get("tools"))
                + (TURN_OVERHEAD + self.counter.count(instructions) if instructions else 0)
            )
        else:
            before = shown[-1][1]
        # Withheld from the model: it is no part of what it sees.
        if binding.prefix == (shown[-1][0] if shown else binding.start):
            return
        tokens = binding.tokens_of(item) or self._tokens.of(item) + TURN_OVERHEAD
        shown.append((binding.prefix, before + tokens))

    def _use(self, request: Request, shown: Sequence[tuple[bytes, int]]) -> CacheUse:
        key = f"{request.get('model')}|{request.get('prompt_cache_key')}".encode()
        return self._cache.automatic([digest + key for digest, _ in shown], [tokens for _, tokens in shown])

    def _before(self, request: Request) -> list[dict[str, Any]]:
        """Return the items of the response that `request` goes on with."""
        previous, conversation = request.get("previous_response_id"), request.get("conversation")
        if conversation is not None:
            own = conversation.get("id") if isinstance(conversation, dict) else conversation
            message = f"Conversation with id '{own}' not found."
            refuse(Breach("unknown-conversation", message, "no conversation: this provider holds none", None, "conversation", None, 404))
        if previous is None:
            return []
        texts = self._responses.get(previous.encode())
        if texts is None:
            message, legal = f"Previous response with id '{previous}' not found.", "the id of a response that was stored"
            refuse(Breach("unknown-response", message, legal, None, "previous_response_id", "previous_response_not_found"))
        return [orjson.loads(text) for text in texts]

    def _resolve(self, item: Any, index: int) -> Any:
        """Return `item`, or what is stored where it only names it."""
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            return item
        kind = type_of(item)
        if kind != "item_reference" and (kind != "reasoning" or item.get("encrypted_content")):
            return item
        # What is misshapen is refused for that, later.
        if item_breach(item, Spot("input", index)) is not None:
            return item
        text = self._items.get(item["id"].encode())
        if text is None:
            refuse(evolve(not_found(item["id"], index), message=f"Item with id '{item['id']}' not found.", legal="an item that was stored"))
        return orjson.loads(text)

    def _make(self, request: Request, answer: Answer, read: _Read, name: str) -> _Made:
        """Return what `answer` gives, with a compaction where the threshold of `request` is reached."""
        binding, items, tokens = read.binding.copy(), list[dict[str, Any]](), read.tokens
        threshold = _threshold(request)
        said = [{"content": answer}] if isinstance(answer, str) else [answer] if isinstance(answer, Mapping) else list(answer)
        compact_first = tokens >= threshold
        if compact_first:
            items.append(self._compaction(binding, tokens, name, 0))
        for given in said:
            items.append(self._item(given, binding, items, name, stored=request.get("store") is not False))
            tokens += binding.tokens_of(items[-1]) or self._tokens.of(items[-1]) + TURN_OVERHEAD
        if tokens >= threshold and not compact_first:
            items.append(self._compaction(binding, tokens, name, len(items)))
        reasoning = sum(binding.tokens_of(item) for item in items if item["type"] == "reasoning")
        return _Made(items, tokens - read.tokens, reasoning)

    def _make_compaction(self, read: _Read, name: str) -> _Made:
        """Return the compaction that the last item asks for, and nothing else."""
        binding = read.binding.copy()
        item = self._compaction(binding, read.tokens, name, 0)
        return _Made([item], binding.tokens_of(item), 0)

    def _compaction(self, binding: Binding, tokens: int, name: str, place: int) -> dict[str, Any]:
        own = self._secrets.item_id("cmp", name, place, None)
        size = max(_LEAST_COMPACTION, tokens // _COMPACTION_SHARE)
        item = {"id": own, "type": "compaction", "encrypted_content": binding.bound("compaction", size)}
        binding.add(item, place)
        return item

    def _item(self, given: Item, binding: Binding, items: Sequence[Item], name: str, *, stored: bool) -> dict[str, Any]:
        """Return the output item that `given` scripts, and let `binding` go on behind it."""
        kind, place = given.get("type", "message"), len(items)
        needs = place - 1 if stored and items and items[-1]["type"] == "reasoning" else None
        own = self._secrets.item_id(_STARTS.get(kind, kind[:3]), name, place, needs)
        item: dict[str, Any] = {"id": own, "type": kind} | without(given, "tokens")
        match kind:
            case "message":
                item = {"role": "assistant", "status": "completed"} | item | {"content": _content(given.get("content"))}
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
        own = {"id": f"resp_{name}", "object": "response", "created_at": made, "status": "completed", "completed_at": made}
        asked = {key: request[key] for key in (*_DEFAULTS, "model") if request.get(key) is not None}
        return {**own, **_DEFAULTS, **asked}

    def _store(self, own: str, texts: Sequence[bytes], output: Sequence[Item]) -> None:
        made = [json_bytes(item) for item in output]
        self._responses.keep(own.encode(), (*texts, *made))
        for item, text in zip(output, made, strict=True):
            self._items.keep(item["id"].encode(), text)


_DEFAULTS: Mapping[str, Any] = {
    "background": False,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": "medium", "summary": None, "context": "all_turns"},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""What a response says of options that its request did not set."""


def _input_items(request: Request) -> Sequence[Any]:
    given = request.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else given or ()


def _threshold(request: Request) -> float:
    entries = request.get("context_management") or ()
    return min((entry["compact_threshold"] for entry in entries if entry.get("compact_threshold")), default=float("inf"))


def _content(given: Any) -> list[dict[str, Any]]:
    parts = [{"type": "output_text", "text": given}] if isinstance(given, str) else given or ()
    return [({"annotations": [], "logprobs": []} if part["type"] == "output_text" else {}) | dict(part) for part in parts]


def _retained_message(item: Item, own: str) -> dict[str, Any]:
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"id": own, "type": "message", "status": "completed"} | dict(item) | {"content": parts}


def _usage(given: int, use: CacheUse, said: int, reasoning: int) -> dict[str, Any]:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": use.read, "cache_write_tokens": use.all_written},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": given + said,
    }
