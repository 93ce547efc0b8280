"""Tools: functions that Act may call, and what becomes of their results (docs/agents.md)."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any

from attrs import frozen

from polycontext.base import require
from polycontext.base.effects import Effect, in_thread

from .answers import ToolUse
from .forms import parameters_of, schema_of


class ToolError(Exception):
    """Raise it in a tool to tell the model what went wrong: its text is the result of the call."""


@frozen
class Tool:
    """A tool: `run` takes its arguments with real ids, and an `idempotency_key`.

    After a crash a call is run again under the same key: a tool that changes something keeps the
    key with the change and does nothing the second time.

    If `entities` names a type, each row of the result with an `id` is an entity of it, called by
    its `label`. `report` says what became of it: ``read``, ``create`` or ``link``.

    Raises:
        InvalidOptionError: the function does not take `idempotency_key`, or another `report`.
    """

    name: str
    run: Callable[..., Any]
    description: str = ""
    entities: str = ""
    report: str = "read"
    id: str = "id"
    label: str = "name"

    def __attrs_post_init__(self) -> None:
        known = signature(self.run).parameters.values()
        takes = any(p.name == "idempotency_key" or p.kind is p.VAR_KEYWORD for p in known)
        legal = "a function with the keyword argument idempotency_key"
        require(f"tool {self.name}", self.run, takes, legal)
        reports = ("read", "create", "link")
        require("report", self.report, self.report in reports, "'read', 'create' or 'link'")

    def entities_in(self, result: Any) -> list[list[Any]]:
        """Return the entities in a result by their ids and places, without their words."""
        rows = result if isinstance(result, list | tuple) else [result]
        return [
            [self.report, self.entities, row[self.id], self.label, number]
            for number, row in enumerate(rows)
            if self.entities and isinstance(row, Mapping) and self.id in row
        ]


def schema_of_use(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a call of `tool`."""
    use = schema_of(ToolUse)
    use["properties"] = {
        "tool": {"type": "string", "enum": [tool.name]},
        "arguments": parameters_of(tool.run),
    }
    return use


def running(tool: Tool, arguments: Mapping[str, Any]) -> Effect:
    """Return the effect of running a tool; a coroutine function is awaited, or run to its end."""
    start = partial(tool.run, **arguments)
    if iscoroutinefunction(tool.run):
        return Effect(lambda: asyncio.run(start()), start)
    return in_thread(start)
