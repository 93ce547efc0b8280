"""Tools: functions that Act may call, and what becomes of their results (docs/agents.md)."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from inspect import Parameter, getdoc, signature
from itertools import islice
from typing import Any

from attrs import asdict, frozen, has

from polycontext.base import CallerError, InvalidDataError, InvalidOptionError, guided, require
from polycontext.base.json_data import freeze, thaw
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.names import RefRefusedError, check_id
from polycontext.nodes.entities.records import EntityStatus, EntityVerb
from polycontext.window import Role, ToolCall, Turn

from .answers import ToolUse
from .forms import parameters_of, read_value, schema_of
from .memory import AgentMemory
from .reports import ENTITIES, report

_log = logging.getLogger("polycontext.agents")

MOST_ENTITIES = 500
"""How many rows of one result become entities: about as many as a node has room for."""


class ToolError(Exception):
    """Raise it in a tool to tell the model what went wrong: its text is the result of the call."""


def by_name(
    tools: "Iterable[Tool | Callable[..., Any]] | Mapping[str, Tool]",
) -> "Mapping[str, Tool]":
    """Return tools by their names; a function becomes the tool of its name and docstring.

    Raises:
        InvalidOptionError: two tools have one name, or a function has none.
    """
    given = tools.values() if isinstance(tools, Mapping) else tools
    listed = [each if isinstance(each, Tool) else _tool_of(each) for each in given]
    named = {tool.name: tool for tool in listed}
    names = [tool.name for tool in listed]
    require("tools", names, len(named) == len(names), "tools of different names")
    return named


def _tool_of(function: Any) -> "Tool":
    name = getattr(function, "__name__", "")
    legal = 'Tool("name", function), or a function that has a name'
    require("tools", function, name.isidentifier(), legal)
    return Tool(name, function, (getdoc(function) or "").partition("\n\n")[0])


@guided
@frozen
class Tool:
    """A tool: `run` takes its arguments by name, with real ids.

    A call may stop half way, in a crash or by an exception. A tool that takes an `idempotency_key`
    is then run again under the same key: if it changes something, it keeps the key with the change
    and does nothing the second time. Any other tool is not run again; its result says so.

    If `entities` names a type, each row of the result with an `id` is an entity of it, called by
    its `label`. `report` is the verb for what the tool does with them (docs/agents.md).

    Raises:
        InvalidOptionError: `run` is not a function of named arguments, or another `report`.
        InvalidDataError: `entities` is not the name of a type.
    """

    name: str
    run: Callable[..., Any]
    description: str = ""
    entities: str = ""
    report: str = EntityVerb.READ
    id: str = "id"
    label: str = "name"

    def __attrs_post_init__(self) -> None:
        legal = 'a text that names the tool: Tool("name", function)'
        require("name", self.name, isinstance(self.name, str), legal)
        legal = "a function that takes its arguments by name"
        try:
            known = signature(self.run).parameters.values()
        except (TypeError, ValueError):  # not a function, or one without a signature
            raise InvalidOptionError(f"tool {self.name}", self.run, legal) from None
        by_place = any(each.kind is each.POSITIONAL_ONLY for each in known)
        require(f"tool {self.name}", self.run, not by_place, legal)
        require("report", self.report, self.report in [*EntityVerb], ", ".join(EntityVerb))
        told = self.entities or self.report == EntityVerb.READ
        require("entities", self.entities, bool(told), "the type of what the tool reports")
        parameters_of(self.run)  # refuses an argument whose type has no schema
        if self.entities:
            SessionIdRegistry().read(self.entities, self.name, turn=0)  # refuses another type

    @property
    def repeats(self) -> bool:
        """Return whether a call may be run again: whether the function takes the key."""
        known = signature(self.run).parameters.values()
        return any(p.name == "idempotency_key" or p.kind is p.VAR_KEYWORD for p in known)

    def keyed(self, key: str) -> dict[str, str]:
        """Return the argument for the key of a call, if the function takes it."""
        return {"idempotency_key": key} if self.repeats else {}

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, of which `saved` is a ref."""
        schema = parameters_of(self.run)
        if self.saved:
            schema["properties"][self.saved] = {"type": "string"}
        return schema

    @property
    def saved(self) -> str:
        """Return the argument for the content of what is saved: the first, if the tool saves."""
        names = iter(parameters_of(self.run)["properties"])
        return next(names, "") if self.report == EntityVerb.SAVE else ""

    def arguments(self, said: Mapping[str, Any], registry: SessionIdRegistry) -> dict[str, Any]:
        """Return the arguments of a call as the function's types, with ids for refs.

        A null is left out where the function has a default. A tool that saves is given the content
        of a generated entity for its ref.

        Raises:
            InvalidDataError: the function does not take them.
            UnknownRefError, RefRefusedError: there is no such entity, or it cannot be used so.
        """
        known = signature(self.run, eval_str=True).parameters
        if self.saved in said:
            said = {**said, self.saved: self._content(said[self.saved], registry)}
        given = registry.to_ids(said)
        left = {
            name: value
            for name, value in given.items()
            if value is not None or name not in known or known[name].default is Parameter.empty
        }
        try:
            signature(self.run).bind(**left, **self.keyed(""))
            for name in [name for name in left if name in known]:
                kind = known[name].annotation
                left[name] = _as(Any if kind is Parameter.empty else kind, left[name], said[name])
        except (TypeError, InvalidDataError) as error:
            legal = f"the arguments of its schema: {json.dumps(self.parameters)}"
            raise InvalidDataError("$.calls", f"{self.name}: {error}", legal) from None
        return left

    def _content(self, ref: str, registry: SessionIdRegistry) -> dict[str, Any]:
        """Return the content of a generated entity, without its ref."""
        known = registry.get(ref)
        if known.status is not EntityStatus.GENERATED:
            raise RefRefusedError(ref, "is saved already", "Use the ref of a generated entity")
        data = {key: value for key, value in (known.data or {}).items() if value != known.ref}
        return {self.label: known.label, **thaw(data)}

    def turn_of(
        self, made: ToolCall, arguments: Mapping[str, Any], result: Any, memory: AgentMemory
    ) -> Turn:
        """Return a result as a turn, with refs for the ids of its entities."""
        known = memory.conversation.id_registry
        rows = [*result] if isinstance(result, list) else [result]
        saved = json.loads(made.arguments).get(self.saved, "")
        told = [*islice(self._reports(rows, arguments, saved), MOST_ENTITIES)]
        registry = report(known, told, memory.turn.turn_num, ())
        if self.report == EntityVerb.GENERATE:
            for (*_, place), ref in zip(told, [*registry][len(known) :], strict=True):
                rows[place] = {**rows[place], self.id: ref}
        shown = registry.hide_ids(rows if isinstance(result, list) else rows[0], self.entities)
        text = json.dumps(shown, ensure_ascii=False)
        return result_turn(made, text, {ENTITIES: told} if told else {})

    def _reports(
        self, rows: Sequence[Any], arguments: Mapping[str, Any], saved: str
    ) -> Iterator[list[Any]]:
        """Yield the reports of a result, without its words.

        If a tool that deletes returns no row with an id, its arguments name the entity. A row that
        is refused as an entity is left as it is: the tool has done its work.
        """
        found = [(place, row) for place, row in enumerate(rows) if isinstance(row, Mapping)]
        if self.report == EntityVerb.DELETE and not any(self.id in row for _, row in found):
            found = [(len(rows), arguments)]
        refs, is_new = filter(None, [saved]), self.report == EntityVerb.GENERATE
        for place, row in found if self.entities else ():
            id = row.get(self.id)
            if is_new or (type(id) in (str, int) and str(id).strip()):
                try:
                    id = None if is_new else check_id(id)
                except CallerError as error:
                    _log.warning("tool %s: a row is not an entity: %s", self.name, error)
                else:
                    yield [self.report, self.entities, id, self.label, place, *islice(refs, 1)]


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
        "arguments": tool.parameters,
    }
    return use


def as_data(result: Any) -> Any:
    """Return a tool's result as JSON data: null for NaN, and see `_plain`.

    A result that cannot be kept is told to the model, since the tool has done its work.
    """
    try:
        data = json.loads(json.dumps(result, default=_plain), parse_constant=lambda _: None)
        freeze(data)
    except (TypeError, ValueError, RecursionError) as error:
        return f"[the tool has run; its result is not JSON data: {error}]"
    return data


def _plain(value: Any) -> Any:
    """Return the fields of a record, the items of a set or generator, or else a text."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump()
    if has(type(value)):
        return asdict(value)
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return [*value] if isinstance(value, Iterator | set | frozenset) else str(value)
