"""A scripted model behind strict stand-ins of vendors, and what it was sent."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from polycontext.testing.strict import RequestRefusedError, StrictAnthropic, StrictChat

TASK = "Fix the build of the shop."
RULE = "From now on, never push to main."
SUMMARY = "A summary by the host's own model."
COMMAND = "seq 1 600 | tr '\\n' ' '"
FILLER = "The build waits for the lock of the other build. " * 30

Row = Mapping[str, Any]


def prompt(number: int) -> str:
    """Return prompt `number`, from 0; the first has the task and the rule."""
    first = f"{TASK} {RULE} " if number == 0 else ""
    return f"{first}Run step {number}: ticket {number} costs {number * 37 + 5} euros."


class _Noting:
    """A mixin of strict providers that keeps what they refused."""

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        told: dict[str, Any] = super().error_body(refusal)  # type: ignore[misc]
        self.script.refused.append(refusal.message)  # type: ignore[attr-defined]
        return told


class Chat(_Noting, StrictChat):
    """OpenAI's Chat Completions."""

    script: "Script"


class Messages(_Noting, StrictAnthropic):
    """Anthropic's Messages."""

    script: "Script"


@define
class Script:
    """The model: it runs a command for each prompt, then answers.

    Attributes:
        sent: the requests of the conversation.
        own: the number of requests in which the host asked its model for a summary.
        refused: what the vendor said to requests that it refused.
    """

    sent: list[Row] = field(factory=list[Row])
    own: int = 0
    refused: list[str] = field(factory=list[str])
    calls: int = 0

    def chat(self) -> Chat:
        """Return the model behind OpenAI's Chat Completions."""
        provider = Chat(self._by_chat)
        provider.script = self
        return provider

    def messages(self) -> Messages:
        """Return the model behind Anthropic's Messages."""
        provider = Messages(self._by_messages)
        provider.script = self
        return provider

    def _by_chat(self, request: Row) -> str | dict[str, Any]:
        name = self._tool(request, lambda tool: tool["function"]["name"])
        if name is None:
            return SUMMARY
        arguments = json.dumps({"command": COMMAND, "description": "Run it"})
        function = {"name": name, "arguments": arguments}
        call = {"id": f"call_{self.calls}", "type": "function", "function": function}
        return {"role": "assistant", "content": "I look.", "tool_calls": [call]} if name else FILLER

    def _by_messages(self, request: Row) -> str | list[dict[str, Any]]:
        name = self._tool(request, lambda tool: tool["name"])
        if name is None:
            return f"<summary>{SUMMARY}</summary>"
        given = {"command": COMMAND, "description": "Run it"}
        call = {"type": "tool_use", "id": f"toolu_{self.calls}", "name": name, "input": given}
        return [{"type": "text", "text": "I look."}, call] if name else FILLER

    def _tool(self, request: Row, name_of: Any) -> str | None:
        """Return the tool to call; none if the answer is a text, and None for a summary."""
        tools = [str(name_of(tool)) for tool in request.get("tools") or () if "cache" not in tool]
        shell = next((name for name in tools if name.lower() == "bash"), None)
        # Behind a prompt, Claude Code may tell of its surroundings.
        said = (each for each in reversed(request["messages"]) if each["role"] != "system")
        last = text_of(next(said))
        is_asked = re.search(r"\bRun step \d+:", last) is not None
        if shell is None or "summar" in last.lower()[:600]:
            self.own += "summar" in json.dumps(request).lower()
            return None
        self.sent.append(request)
        self.calls += is_asked
        return shell if is_asked else ""


def text_of(message: Row) -> str:
    """Return the text of a message, without results of calls."""
    content = message.get("content") or ""
    if message["role"] == "tool" or isinstance(content, str):
        return "" if message["role"] == "tool" else str(content)
    return " ".join(str(block["text"]) for block in content if block.get("type") == "text")


def pairs(request: Row) -> Iterator[tuple[str, str]]:
    """Yield the ids in a request: `call` or `result`, and the id."""
    for message in request["messages"]:
        yield from (("call", str(call["id"])) for call in message.get("tool_calls") or ())
        if message["role"] == "tool":
            yield "result", str(message["tool_call_id"])
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use":
                yield "call", str(block["id"])
            elif block["type"] == "tool_result":
                yield "result", str(block["tool_use_id"])


def is_whole(request: Row) -> bool:
    """Return whether every call has one result, and every result its call."""
    ids = [*pairs(request)]
    calls = [each for kind, each in ids if kind == "call"]
    results = [each for kind, each in ids if kind == "result"]
    return len({*calls}) == len(calls) and sorted(calls) == sorted(results)
