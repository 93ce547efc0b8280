"""A hook of Haystack's agents whose requests fit (docs/adapters.md)."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from polycontext.linearity import require_extra

from .blocks import tool
from .bridge import Bridge, Fitted

require_extra("haystack", extra="haystack", purpose="a hook whose requests fit")

from haystack import dataclasses as own  # noqa: E402 - an extra
from haystack.core.serialization import default_to_dict  # noqa: E402 - as above

from .haystack_messages import HaystackDialect  # noqa: E402 - as above


class ContextHook:
    """Fit the messages of every request into the window of `model`; options are those of `Sessions`. One serves many agents and conversations.

    It is the last of the hooks ``before_llm``: ``Agent(..., hooks={"before_llm": [ContextHook("gpt-5")]})``.
    """

    allowed_hook_points = ("before_llm",)

    def __init__(self, model: Any = None, **options: Any) -> None:
        self._given = {"model": model, **options}
        self._bridge = Bridge(HaystackDialect(), **self._given)

    def run(self, state: Any) -> None:
        """Have the model see what fits; once it has answered, the messages are whole again."""
        head, rest, besides = _asked(state.data)
        state.data["messages"] = _View(head, self._bridge.fitted(rest, **besides), state.data["messages"])

    async def run_async(self, state: Any) -> None:
        """Do what `run` does without blocking."""
        head, rest, besides = _asked(state.data)
        state.data["messages"] = _View(head, await self._bridge.afitted(rest, **besides), state.data["messages"])

    def to_dict(self) -> dict[str, Any]:
        """Return the hook as data."""
        data: dict[str, Any] = default_to_dict(self, **self._given)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ContextHook":
        """Return the hook of `data`."""
        return cls(**data["init_parameters"])


class _View(list[own.ChatMessage]):
    """Hold what a model is to see. Whatever is added is added to the whole: agents cut what they keep to what the model has seen."""

    def __init__(self, head: Sequence[own.ChatMessage], fitted: Fitted[own.ChatMessage], whole: Sequence[own.ChatMessage]) -> None:
        super().__init__([*head, *fitted.natives])
        self._fitted, self._whole = fitted, whole

    def __add__(self, answers: Any) -> Any:
        for answer in answers:
            self._fitted.learn(answer.meta.get("usage"))
        return [*self._whole, *answers]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy([*self], memo)


def _asked(data: Any) -> tuple[list[own.ChatMessage], list[own.ChatMessage], dict[str, Any]]:
    """Return the system prompt, the messages behind it, and what a request needs besides."""
    messages = data["messages"]
    start = next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))
    system = "\n".join(message.text or "" for message in messages[:start])
    tools = [tool(each.name, each.description, each.parameters) for each in data["tools"]]
    return messages[:start], messages[start:], {"key": data["hook_context"].get("conversation"), "system": system or None, "tools": tools}
