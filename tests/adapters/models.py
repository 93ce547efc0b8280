"""The models behind the adapters' tests: they look things up, two at a time, think where their vendor lets them, and keep what they were sent."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

DEMAND = "Never buy wine."
"""What a user demands at first, and has to stand to the end."""


@define
class Looking:
    """Script a model that looks two things up before it answers, `steps` times in a row.

    It remembers the requests.
    """

    steps: int = 1
    requests: list[Mapping[str, Any]] = field(factory=list)

    def _looks(
        self, entries: Sequence[Mapping[str, Any]], is_result: Callable[[Mapping[str, Any]], bool]
    ) -> bool:
        """Tell whether it looks things up: after the user's words.

        Or, for more steps than one, as often as it was asked to.
        """
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
            {
                "type": "function",
                "function": {"name": "look", "arguments": json.dumps({"at": f"{number}{side}"})},
            }
            for side in "ab"
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
            *(
                {"type": "tool_use", "name": "look", "input": {"at": f"{number}{side}"}}
                for side in "ab"
            ),
        ]

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
                {
                    "type": "function_call",
                    "name": "look",
                    "arguments": json.dumps({"at": f"{number}{side}"}),
                }
                for side in "ab"
            ),
        ]


def _has_results(entry: Mapping[str, Any]) -> bool:
    content = entry.get("content")
    return isinstance(content, list) and any(
        block.get("type") == "tool_result" for block in content
    )
