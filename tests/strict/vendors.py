"""The vendors' sides of a loop: how a step is written, requested, and read back."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from polycontext.window.providers import Rendered, get_format
from tests.strict.script import Call, Step, png

Message = dict[str, Any]


class _Vendor(ABC):
    """Stand for one vendor: the format it speaks, and its native messages."""

    key: str
    """The field of a request that holds the list."""

    @abstractmethod
    def reply(self, answer: Message) -> list[Message]:
        """Return the messages of an answer, to be taken in."""

    @abstractmethod
    def picture(self, edge: int) -> Message:
        """Return a picture as a block."""

    def said(self, answer: Message) -> Message:
        """Return a request of nothing but what an answer says."""
        return {self.key: self.reply(answer)}

    def bound(self, request: Message) -> list[str]:
        """Return the bound parts of a request, in their order."""
        return []

    def user(self, text: str, edge: int) -> Message:
        """Return what the user says, with a picture where `edge` is not 0."""
        return {"role": "user", "content": [self.text(text), self.picture(edge)] if edge else text}

    def text(self, text: str) -> Message:
        """Return a text as a block."""
        return {"type": "text", "text": text}


class Anthropic(_Vendor):
    """Speak Messages, with thinking."""

    provider, key = "anthropic", "messages"
    tools: Sequence[Message] = [
        {
            "name": name,
            "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
        }
        for name in ("search", "read_file", "book_seat", "run_tests")
    ]

    def says(self, step: Step, number: int) -> list[Message]:
        """Return what the strict provider's model says in `step`."""
        thinking = [{"type": "thinking", "thinking": step.thinking}] if step.thinking else []
        text = [{"type": "text", "text": step.text}] if step.text else []
        calls = [
            {"type": "tool_use", "name": call.name, "input": json.loads(call.arguments)}
            for call in step.calls
        ]
        return [*thinking, *text, *calls]

    def asks(self, rendered: Rendered) -> Message:
        """Return the request for the next answer."""
        further = {"system": list(rendered.system)} if rendered.system else {}
        options = {name: value for name, value in rendered.options.items() if name != "betas"}
        return {
            "model": "claude",
            "max_tokens": 4096,
            "thinking": {"type": "adaptive"},
            "tools": self.tools,
            "messages": rendered.messages,
            **further,
            **options,
        }

    def reply(self, answer: Message) -> list[Message]:
        """Return the messages of an answer."""
        return [{"role": "assistant", "content": answer["content"]}]

    def calls(self, answer: Message) -> list[str]:
        """Return the ids of the calls of an answer."""
        return [block["id"] for block in answer["content"] if block["type"] == "tool_use"]

    def picture(self, edge: int) -> Message:
        """Return a picture as a block."""
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": png(edge)},
        }

    def result(self, call: Call, call_id: str) -> Message:
        """Return what a tool answered, as a message."""
        block: Message = {"type": "tool_result", "tool_use_id": call_id, "content": call.result}
        if call.picture:
            block["content"] = [
                *([self.text(call.result)] if call.result else []),
                self.picture(call.picture),
            ]
        # A failure says something, or the provider refuses it.
        failed = {"is_error": True, "content": call.result or "failed"} if call.failed else {}
        return {"role": "user", "content": [{**block, **failed}]}

    def bound(self, request: Message) -> list[str]:
        """Return the bound parts of a request, in their order."""
        blocks = (
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        )
        return [block["signature"] for block in blocks if block["type"] == "thinking"]


def _functions() -> Iterator[tuple[str, Message]]:
    for tool in Anthropic.tools:
        yield tool["name"], tool["input_schema"]


class Chat(_Vendor):
    """Speak Chat Completions, which has no thinking of its own."""

    provider, key = "openai", "messages"
    tools: Sequence[Message] = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in _functions()
    ]

    def says(self, step: Step, number: int) -> Message:
        """Return what the strict provider's model says in `step`."""
        calls = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for index, call in enumerate(step.calls)
        ]
        return {
            "role": "assistant",
            "content": step.text,
            **({"tool_calls": calls} if calls else {}),
        }

    def asks(self, rendered: Rendered) -> Message:
        """Return the request for the next answer."""
        return {
            "model": "gpt",
            "messages": rendered.messages,
            "tools": self.tools,
            **rendered.options,
        }

    def reply(self, answer: Message) -> list[Message]:
        """Return the messages of an answer."""
        return [answer["choices"][0]["message"]]

    def calls(self, answer: Message) -> list[str]:
        """Return the ids of the calls of an answer."""
        return [call["id"] for call in answer["choices"][0]["message"].get("tool_calls") or ()]

    def picture(self, edge: int) -> Message:
        """Return a picture as a block."""
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(edge)}"}}

    def result(self, call: Call, call_id: str) -> Message:
        """Return what a tool answered, as a message."""
        # This format has no pictures in results.
        return {"role": "tool", "tool_call_id": call_id, "content": call.result}


class Responses(_Vendor):
    """Speak Responses, with encrypted reasoning."""

    provider, key = "openai-responses", "input"
    tools: Sequence[Message] = [
        {"type": "function", "name": name, "parameters": schema} for name, schema in _functions()
    ]

    def says(self, step: Step, number: int) -> list[Message]:
        """Return what the strict provider's model says in `step`."""
        reasoning = (
            [{"type": "reasoning", "summary": [{"type": "summary_text", "text": step.thinking}]}]
            if step.thinking
            else []
        )
        text = (
            [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": step.text}],
                }
            ]
            if step.text
            else []
        )
        calls = [
            {"type": "function_call", "name": call.name, "arguments": call.arguments}
            for call in step.calls
        ]
        return [*reasoning, *text, *calls]

    def asks(self, rendered: Rendered) -> Message:
        """Return the request for the next answer."""
        request = {"model": "gpt", "input": rendered.messages, "tools": self.tools, "store": False}
        return {**request, "include": ["reasoning.encrypted_content"], **rendered.options}

    def reply(self, answer: Message) -> list[Message]:
        """Return the messages of an answer."""
        return list(answer["output"])

    def calls(self, answer: Message) -> list[str]:
        """Return the ids of the calls of an answer."""
        return [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]

    def picture(self, edge: int) -> Message:
        """Return a picture as a block."""
        return {"type": "input_image", "image_url": f"data:image/png;base64,{png(edge)}"}

    def result(self, call: Call, call_id: str) -> Message:
        """Return what a tool answered, as a message."""
        output = (
            [self.text(call.result), self.picture(call.picture)] if call.picture else call.result
        )
        return {"type": "function_call_output", "call_id": call_id, "output": output}

    def text(self, text: str) -> Message:
        """Return a text as a block."""
        return {"type": "input_text", "text": text}

    def bound(self, request: Message) -> list[str]:
        """Return the bound parts of a request, in their order."""
        return [
            item["encrypted_content"]
            for item in request["input"]
            if item.get("type") == "reasoning"
        ]


class Gemini(_Vendor):
    """Speak Gemini's contents, with signed calls that have no ids."""

    provider, key = "gemini", "contents"
    tools: Sequence[Message] = [
        {
            "functionDeclarations": [
                {"name": name, "parameters": schema} for name, schema in _functions()
            ]
        }
    ]

    def says(self, step: Step, number: int) -> Message:
        """Return what the strict provider's model says in `step`."""
        thought = [{"text": step.thinking, "thought": True}] if step.thinking else []
        text = [self.text(step.text)] if step.text else []
        calls = [
            {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
            for call in step.calls
        ]
        return {"role": "model", "parts": [*thought, *text, *calls]}

    def asks(self, rendered: Rendered) -> Message:
        """Return the request for the next answer."""
        system = {"systemInstruction": {"parts": [*rendered.system]}} if rendered.system else {}
        return {"contents": rendered.messages, "tools": self.tools, **system, **rendered.options}

    def reply(self, answer: Message) -> list[Message]:
        """Return the messages of an answer."""
        return [answer["candidates"][0]["content"]]

    def calls(self, answer: Message) -> list[str]:
        """Return the ids of the calls of an answer, as a session gives them."""
        (turn,) = get_format("gemini").parse(self.reply(answer)).turns
        return [call.id for call in turn.tool_calls]

    def picture(self, edge: int) -> Message:
        """Return a picture as a part."""
        return {"inlineData": {"mimeType": "image/png", "data": png(edge)}}

    def result(self, call: Call, call_id: str) -> Message:
        """Return what a tool answered, as a content."""
        found = {"name": call.name, "response": {"error" if call.failed else "result": call.result}}
        inner = {"parts": [self.picture(call.picture)]} if call.picture else {}
        return {"role": "user", "parts": [{"functionResponse": {**found, **inner}}]}

    def user(self, text: str, edge: int) -> Message:
        """Return what the user says, with a picture where `edge` is not 0."""
        return {"role": "user", "parts": [self.text(text), *([self.picture(edge)] if edge else [])]}

    def text(self, text: str) -> Message:
        """Return a text as a part."""
        return {"text": text}


Vendor = Anthropic | Chat | Responses | Gemini
VENDORS: tuple[Vendor, ...] = (Anthropic(), Responses(), Chat(), Gemini())
