"""Adapters that shorten a list of messages with other libraries.

Libraries that are not installed are reported, not measured. Each gets our token counts if it
accepts a counter. A library that counts messages gets the largest number whose list fits. The
messages it keeps are returned in their original form, so that no text is lost in conversion.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from json import loads
from types import SimpleNamespace
from typing import Any

from benchmarks.retention.methods import Asked, Method
from benchmarks.retention.recordings import Message, counter, message_tokens, request_tokens
from polycontext.window import REQUEST_OVERHEAD, TiktokenCounter


def langchain(asked: Asked) -> list[Message]:
    """`trim_messages` as documented for chat models: the last messages, and the system message.

    The list starts with a user message.
    """
    lib = import_module("langchain_core.messages")
    native = lib.convert_to_messages([dict(message) for message in asked.messages])
    for place, message in enumerate(native):
        message.id = str(place)

    def tokens(given: Sequence[Any]) -> int:
        return request_tokens(asked.messages[int(each.id)] for each in given)

    kept = lib.trim_messages(
        native,
        max_tokens=asked.max_tokens,
        token_counter=tokens,
        strategy="last",
        include_system=True,
        start_on="human",
    )
    return [asked.messages[int(message.id)] for message in kept]


def litellm(asked: Asked) -> list[Message]:
    """`trim_messages`, which counts tokens with its own tokenizer."""
    counter().count("")  # load the vocabulary first
    lib = import_module("litellm")
    return list(
        lib.utils.trim_messages(
            [dict(message) for message in asked.messages],
            model="gpt-4o",
            max_tokens=asked.max_tokens,
        )
    )


def llama_index(asked: Asked) -> list[Message]:
    """`ChatMemoryBuffer`, which holds all but system messages and counts only their words."""
    system, rest = _parted(asked.messages)
    types, memory = import_module("llama_index.core.llms"), import_module("llama_index.core.memory")
    native = [
        types.ChatMessage(
            role=asked.messages[place]["role"],
            content=asked.messages[place].get("content"),
            additional_kwargs={"place": place},
        )
        for place in rest
    ]
    count = TiktokenCounter().count
    buffer = memory.ChatMemoryBuffer.from_defaults(
        chat_history=native,
        token_limit=_left(asked, system),
        tokenizer_fn=lambda text: [0] * count(text),
    )
    return _picked(asked, system, (message.additional_kwargs["place"] for message in buffer.get()))


def strands(asked: Asked) -> list[Message]:
    """`SlidingWindowConversationManager`, which counts messages."""
    system, rest = _parted(asked.messages)
    manager = import_module("strands.agent.conversation_manager").SlidingWindowConversationManager
    native = [_as_converse(asked.messages[place]) for place in rest]
    places = {id(message): place for message, place in zip(native, rest, strict=True)}

    def cut(size: int) -> list[Message]:
        agent = SimpleNamespace(messages=list(native))
        manager(window_size=size).apply_management(agent)
        return _picked(asked, system, (places[id(message)] for message in agent.messages))

    return largest(cut, len(native), asked.max_tokens)


def _as_converse(message: Message) -> dict[str, Any]:
    if message["role"] == "tool":
        result = {
            "toolUseId": message["tool_call_id"],
            "status": "success",
            "content": [{"text": message["content"]}],
        }
        return {"role": "user", "content": [{"toolResult": result}]}
    said = [{"text": message["content"]}] if message.get("content") else []
    uses = [
        {"toolUse": {"toolUseId": each["id"], "name": each["function"]["name"], "input": {}}}
        for each in message.get("tool_calls") or ()
    ]
    return {"role": message["role"], "content": [*said, *uses]}


def agent_framework(asked: Asked) -> list[Message]:
    """`TruncationStrategy` by tokens, which keeps the system and first user messages."""
    lib = import_module("agent_framework")
    native = [_as_framework(lib, place, message) for place, message in enumerate(asked.messages)]
    counting = SimpleNamespace(
        count_tokens=lambda text: message_tokens(asked.messages[int(loads(text)["message_id"])])
    )
    most = asked.max_tokens - REQUEST_OVERHEAD
    strategy = lib.TruncationStrategy(
        max_n=most, compact_to=most, tokenizer=counting, preserve_first_user_group=True
    )
    kept = asyncio.run(lib.apply_compaction(native, strategy=strategy, tokenizer=counting))
    return [asked.messages[int(message.message_id)] for message in kept]


def _as_framework(lib: Any, place: int, message: Message) -> Any:
    contents: list[Any] = []
    if message["role"] == "tool":
        contents.append(
            lib.Content.from_function_result(
                call_id=message["tool_call_id"], result=message["content"]
            )
        )
    elif message.get("content"):
        contents.append(lib.Content.from_text(message["content"]))
    called = ((each["id"], each["function"]["name"]) for each in message.get("tool_calls") or ())
    contents += [
        lib.Content.from_function_call(call_id=call_id, name=name, arguments="")
        for call_id, name in called
    ]
    return lib.Message(role=message["role"], contents=contents, message_id=str(place))


def _parted(messages: Sequence[Message]) -> tuple[list[int], list[int]]:
    """Return the places of the system messages, and those of all others."""
    system = [place for place, message in enumerate(messages) if message["role"] == "system"]
    return system, [place for place in range(len(messages)) if place not in set(system)]


def _left(asked: Asked, system: Iterable[int]) -> int:
    """Return the tokens that the system messages leave."""
    return max(1, asked.max_tokens - request_tokens(asked.messages[place] for place in system))


def _picked(asked: Asked, system: Iterable[int], places: Iterable[int]) -> list[Message]:
    return [asked.messages[place] for place in (*system, *places)]


def largest(cut: Callable[[int], list[Message]], most: int, max_tokens: int) -> list[Message]:
    """Return the result of the largest size that fits, or of size 1 if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if request_tokens(cut(middle)) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return cut(max(1, low))


PEERS: dict[str, tuple[str, Method]] = {
    "langchain-core": ("langchain_core", langchain),
    "litellm": ("litellm", litellm),
    "llama-index-core": ("llama_index", llama_index),
    "strands-agents": ("strands", strands),
    "agent-framework-core": ("agent_framework", agent_framework),
}
"""The libraries by the name of their distribution: the module to import, and its adapter."""


def is_installed(name: str) -> bool:
    """Return whether a library can be measured here."""
    return find_spec(PEERS[name][0]) is not None


def adapted(name: str) -> Method:
    """Return the adapter of a library after importing it, so that the first call is not slower."""
    # Do not download a price list.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import_module(PEERS[name][0])
    for logger in (PEERS[name][0], "LiteLLM"):
        # The libraries' warnings are counted, not printed.
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return PEERS[name][1]
