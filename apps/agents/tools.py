"""Tools: functions that Act may call, and what becomes of their results (docs/agents.md)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from inspect import Parameter, isawaitable, iscoroutinefunction, signature
from itertools import islice
from typing import Any

from attrs import frozen

from polycontext.base import CallerError, InvalidDataError, InvalidOptionError, require
from polycontext.base.effects import Effect
from polycontext.base.json_data import freeze, thaw
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities import check_id
from polycontext.window import Role, ToolCall, Turn

from .answers import ToolUse
from .forms import parameters_of, read_value, schema_of
from .memory import ENTITIES, AgentMemory, report

_log = logging.getLogger("polycontext.agents")

MOST_ENTITIES = 500
"""How many rows of one result become entities: about as many as a node has room for."""


class ToolError(Exception):
    """Raise it in a tool to tell the model what went wrong: its text is the result of the call."""


def by_name(tools: "Iterable[Tool] | Mapping[str, Tool]") -> "Mapping[str, Tool]":
    """Return tools by their names.

    Raises:
        InvalidOptionError: two tools have one name.
    """
    listed = [*(tools.values() if isinstance(tools, Mapping) else tools)]
    named = {tool.name: tool for tool in listed}
    names = [tool.name for tool in listed]
    require("tools", names, len(named) == len(names), "tools of different names")
    return named


@frozen
class Tool:
    """A tool: `run` takes its arguments with real ids, and an `idempotency_key`.

    After a crash a call is run again under the same key: a tool that changes something keeps the
    key with the change and does nothing the second time.

    If `entities` names a type, each row of the result with an `id` is an entity of it, called by
    its `label`. `report` says what became of it: ``read``, ``create`` or ``link``.

    Raises:
        InvalidOptionError: the function does not take `idempotency_key`, or another `report`.
        InvalidDataError: `entities` is not the name of a type.
    """

    name: str
    run: Callable[..., Any]
    description: str = ""
    entities: str = ""
    report: str = "read"
    id: str = "id"
    label: str = "name"

    def __attrs_post_init__(self) -> None:
        try:
            known = [*signature(self.run).parameters.values()]
        except (TypeError, ValueError):  # not a function, or one without a signature
            known = []
        takes = any(p.name == "idempotency_key" or p.kind is p.VAR_KEYWORD for p in known)
        legal = "a function with the keyword argument idempotency_key"
        require(f"tool {self.name}", self.run, takes, legal)
        reports = ("read", "create", "link")
        require("report", self.report, self.report in reports, "'read', 'create' or 'link'")
        parameters_of(self.run)  # refuses an argument whose type has no schema
        if self.entities:
            SessionIdRegistry().read(self.entities, self.name, turn=0)  # refuses another type

    def arguments(self, said: Mapping[str, Any], to_ids: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the arguments of a call as the function's types, with ids for refs.

        A null is left out where the function has a default.

        Raises:
            InvalidDataError: the function does not take them.
            Any exception of `to_ids`.
        """
        known, given = signature(self.run, eval_str=True).parameters, to_ids(said)
        left = {
            name: value
            for name, value in given.items()
            if value is not None or name not in known or known[name].default is Parameter.empty
        }
        try:
            signature(self.run).bind(**left, idempotency_key="")
            for name in [name for name in left if name in known]:
                kind = known[name].annotation
                left[name] = _as(Any if kind is Parameter.empty else kind, left[name], said[name])
        except (TypeError, InvalidDataError) as error:
            legal = f"the arguments of its schema: {json.dumps(parameters_of(self.run))}"
            raise InvalidDataError("$.calls", f"{self.name}: {error}", legal) from None
        return left

    def entities_in(self, result: Any) -> Iterator[list[Any]]:
        """Yield the entities in a result by their ids and places, without their words.

        A row that is refused as an entity is left as it is: the tool has done its work.
        """
        rows = result if isinstance(result, list) else [result]
        for number, row in enumerate(rows if self.entities else ()):
            id = row.get(self.id) if isinstance(row, Mapping) else None
            if type(id) in (str, int) and str(id).strip():
                try:
                    yield [self.report, self.entities, check_id(id), self.label, number]
                except CallerError as error:
                    _log.warning("tool %s: a row is not an entity: %s", self.name, error)

    def turn_of(self, made: ToolCall, result: Any, memory: AgentMemory) -> Turn:
        """Return a result as a turn, with refs for the ids of its entities."""
        known = [*islice(self.entities_in(result), MOST_ENTITIES)]
        registry = report(memory.conversation.id_registry, known, memory.turn.turn_num, ())
        text = json.dumps(registry.hide_ids(result, self.entities), ensure_ascii=False)
        return result_turn(made, text, {ENTITIES: known} if known else {})


def _as(kind: Any, given: Any, said: Any) -> Any:
    """Return an argument as the type that the function declares."""
    try:
        value = read_value(kind, given)
    except InvalidDataError:
        # The database may have ids of another type than that of a ref.
        if given == said:
            raise
        read_value(kind, said)
        return given
    return thaw(value) if isinstance(value, list | Mapping) else value


def result_turn(made: ToolCall, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
    """Return the turn of a call's result."""
    return Turn(Role.TOOL, text, name=made.name, tool_call_id=made.id, metadata=metadata or {})


def schema_of_use(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a call of `tool`."""
    use = schema_of(ToolUse)
    use["properties"] = {
        "tool": {"type": "string", "enum": [tool.name]},
        "arguments": parameters_of(tool.run),
    }
    return use


def running(tool: Tool, arguments: Mapping[str, Any]) -> Effect:
    """Return the effect of running a tool; what it returns is awaited, or run to its end."""

    def run() -> Any:
        result = tool.run(**arguments)
        if not isawaitable(result):
            return result
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_awaited(result))
        if isinstance(result, Coroutine):
            result.close()
        legal = "asend() or arun() where an event loop runs, or a function that is not async"
        raise InvalidOptionError(f"tool {tool.name}", tool.run, legal)

    async def arun() -> Any:
        if iscoroutinefunction(tool.run):
            return await tool.run(**arguments)
        result = await asyncio.to_thread(tool.run, **arguments)
        return await result if isawaitable(result) else result

    return Effect(run, arun)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def as_data(result: Any) -> Any:
    """Return a tool's result as JSON data: a text for what JSON has no form for, null for NaN.

    A result that cannot be kept is told to the model, since the tool has done its work.
    """
    try:
        data = json.loads(json.dumps(result, default=str), parse_constant=lambda _: None)
        freeze(data)
    except (TypeError, ValueError, RecursionError) as error:
        return f"[the tool has run; its result is not JSON data: {error}]"
    return data
