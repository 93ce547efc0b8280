"""Scripted models for the adapters' tests: they call tools, think, and record their requests."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

DEMAND = "Never buy wine."
"""The user's first demand, which must stay until the end."""


@define
class Looking:
    """A scripted model that calls two tools before it answers, `steps` times in a row.

    It records its requests.
    """

    steps: int = 1
    requests: list[Mapping[str, Any]] = field(factory=list)
    query: str = ""
    """What it searches the earlier turns for, in place of looking something up."""

    def _uses(self) -> list[tuple[str, dict[str, str]]]:
        """Return the names and arguments of the two calls."""
        if self.query:
            return [("context_search", {"query": self.query})] * 2
        return [("look", {"at": f"{len(self.requests)}{side}"}) for side in "ab"]

    def _looks(
        self, entries: Sequence[Mapping[str, Any]], is_result: Callable[[Mapping[str, Any]], bool]
    ) -> bool:
        """Return whether to call a tool: after any user message, or for `steps` requests."""
        if self.steps > 1:
            # A view may have lost the first of them: whoever counts results would look for ever.
            return len(self.requests) <= self.steps
        return self.steps == 1 and not is_result(entries[-1])

    def chat(self, request: Mapping[str, Any]) -> str | dict[str, Any]:
        """Answer as OpenAI's chat does."""
        self.requests.append(request)
        number = len(self.requests)
        if not self._looks(request["messages"], lambda entry: entry["role"] == "tool"):
            return f"Answer {number}."
        calls = [
            {"type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for name, given in self._uses()
        ]
        return {"role": "assistant", "content": f"Let me look, {number}.", "tool_calls": calls}

    def anthropic(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Answer as Anthropic's messages do, with signed thinking."""
        self.requests.append(request)
        number = len(self.requests)
        thought = {"type": "thinking", "thinking": f"I think of {number}."}
        if not self._looks(request["messages"], _has_results):
            return [thought, {"type": "text", "text": f"Answer {number}."}]
        return [
            thought,
            *({"type": "tool_use", "name": name, "input": given} for name, given in self._uses()),
        ]

    def gemini(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer as Gemini does."""
        self.requests.append(request)
        number = len(self.requests)
        if not self._looks(request["contents"], _has_responses):
            return {"parts": [{"text": f"Answer {number}."}]}
        calls = [{"functionCall": {"name": name, "args": given}} for name, given in self._uses()]
        return {"parts": [{"text": f"Let me look, {number}."}, *calls]}

    def responses(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Answer as OpenAI's responses do, with reasoning."""
        self.requests.append(request)
        number = len(self.requests)
        thought = {"type": "reasoning", "summary": []}
        if not self._looks(
            request["input"], lambda entry: entry.get("type") == "function_call_output"
        ):
            return [
                thought,
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": f"Answer {number}."}],
                },
            ]
        return [
            thought,
            *(
                {"type": "function_call", "name": name, "arguments": json.dumps(given)}
                for name, given in self._uses()
            ),
        ]


def _has_responses(content: Mapping[str, Any]) -> bool:
    return any("functionResponse" in part for part in content["parts"])


def _has_results(entry: Mapping[str, Any]) -> bool:
    content = entry.get("content")
    return isinstance(content, list) and any(
        block.get("type") == "tool_result" for block in content
    )
