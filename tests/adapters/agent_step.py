"""One step of an agent that is made by hand on an SDK, for each form of call."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

LOOK = {
    "name": "look",
    "description": "Look something up.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
FOUND = "jar " * 40

Message = dict[str, Any]
Ask = Callable[[Any, list[Message]], Awaitable[list[Message]]]
"""Asks a client's model about a message list and returns the messages to append to it: the answer,
and the results of its tool calls.
"""


async def value_of(made: Any) -> Any:
    """Await what is to be awaited."""
    return await made if asyncio.iscoroutine(made) else made


# --- one step of an agent, by hand, for each form of call --------------------------


async def chat(client: Any, messages: list[Message]) -> list[Message]:
    """Ask chat completions."""
    tools = [{"type": "function", "function": LOOK}]
    made = client.chat.completions.create(
        model="gpt-5", messages=messages, tools=tools, max_completion_tokens=200
    )
    said = (await value_of(made)).choices[0].message.model_dump(exclude_none=True)
    return [said, *chat_results(said)]


def chat_results(said: Mapping[str, Any]) -> list[Message]:
    """Return what the calls of an answer find."""
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": f"{call['id']}: {FOUND}"}
        for call in said.get("tool_calls", ())
    ]


async def chat_stream(client: Any, messages: list[Message]) -> list[Message]:
    """Ask chat completions for a stream, and put it together as the SDK does."""
    tools = [{"type": "function", "function": LOOK}]
    with client.chat.completions.stream(
        model="gpt-5", messages=messages, tools=tools, max_completion_tokens=200
    ) as stream:
        said = (
            stream.get_final_completion()
            .choices[0]
            .message.model_dump(exclude_none=True, exclude={"parsed"})
        )
    for call in said.get("tool_calls", ()):
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    return [said, *chat_results(said)]


async def messages_(client: Any, messages: list[Message]) -> list[Message]:
    """Ask Anthropic's messages."""
    made = client.messages.create(model="claude-opus-4-7", messages=messages, **ANTHROPIC)
    return anthropic_turns(await value_of(made))


async def messages_stream(client: Any, messages: list[Message]) -> list[Message]:
    """Ask Anthropic's messages for a stream."""
    with client.messages.stream(model="claude-opus-4-7", messages=messages, **ANTHROPIC) as stream:
        return anthropic_turns(stream.get_final_message())


ANTHROPIC: dict[str, Any] = {
    "system": "You keep a cellar.",
    "tools": [
        {"name": "look", "description": LOOK["description"], "input_schema": LOOK["parameters"]}
    ],
    "max_tokens": 200,
    "thinking": {"type": "adaptive"},
}


def anthropic_turns(answer: Any) -> list[Message]:
    """Return an answer, and what its calls find."""
    content = [block.model_dump(exclude_none=True) for block in answer.content]
    calls = [block["id"] for block in content if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call, "content": f"{call}: {FOUND}"}
        for call in calls
    ]
    return [
        {"role": "assistant", "content": content},
        *([{"role": "user", "content": results}] if results else []),
    ]


RESPONSES: dict[str, Any] = {
    "model": "gpt-5.6",
    "instructions": "You keep a cellar.",
    "tools": [{"type": "function", **LOOK}],
    "max_output_tokens": 200,
    "store": False,
    "include": ["reasoning.encrypted_content"],
}


async def responses(client: Any, messages: list[Message]) -> list[Message]:
    """Ask OpenAI's responses."""
    return responses_turns(await value_of(client.responses.create(input=messages, **RESPONSES)))


async def responses_stream(client: Any, messages: list[Message]) -> list[Message]:
    """Ask OpenAI's responses for a stream, and put it together as the SDK does."""
    with client.responses.stream(input=messages, **RESPONSES) as stream:
        return responses_turns(stream.get_final_response())


def responses_turns(answer: Any) -> list[Message]:
    """Return the items of an answer, and what its calls find."""
    items = [
        item.model_dump(exclude_none=True, exclude={"parsed_arguments": True})
        for item in answer.output
    ]
    for item in items:
        for part in item.get("content") or ():
            part.pop("parsed", None)
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    return [
        *items,
        *(
            {"type": "function_call_output", "call_id": call, "output": f"{call}: {FOUND}"}
            for call in calls
        ),
    ]


async def closed(client: Any) -> None:
    """Close a client."""
    await value_of(client.close())


async def exchange(client: Any, ask: Ask, messages: list[Message], text: str) -> None:
    """Let the user say something, and the model look and answer."""
    messages.append({"role": "user", "content": text})
    while True:
        said = await ask(client, messages)
        messages += said
        if not any("found" in json.dumps(entry) or FOUND in json.dumps(entry) for entry in said):
            return
