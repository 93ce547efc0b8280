"""What a node asks a model: its prompt, and the schema of its answer (docs/agents.md)."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen

from polycontext.nodes.builders import Node, build_context
from polycontext.polynomial import ContextOutput

from .answers import Deed
from .forms import Form, data_of, schema_of
from .memory import AgentMemory
from .tools import Tool, schema_of_use

Tools = Mapping[str, Tool]


@frozen
class ModelRequest:
    """What a node asks a model: a prompt within the node's budget, and the schema of its answer.

    `schema` is None where the answer is text.
    """

    node: str
    prompt: str
    schema: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return self.prompt


class Model(Protocol):
    """A model: `complete` answers a `ModelRequest` with a text, JSON data or a message's content.

    A model may also have `acomplete`, which is awaited, and `stream`, which yields the pieces of a
    text; see docs/agents.md.
    """

    def complete(self, request: Any) -> Any:
        """Return the answer."""
        ...


def request_of(
    node: Node, memory: AgentMemory, output: ContextOutput, tools: Tools, task: str = ""
) -> ModelRequest:
    """Return what `node` asks; `task` is told before the step at hand and the schema."""
    form, told, schema = node.answers, [task] if task else [], None
    if form is not None:
        schema = _schema(form, tools)
        told += _step_at_hand(memory, tools) if form is Deed else ()
        told.append(f"Answer with one JSON object of this schema: {json.dumps(schema)}")
    prompt = build_context(node, memory.now(output), task="\n".join(told))
    return ModelRequest(node.name, str(prompt), schema)


def _step_at_hand(memory: AgentMemory, tools: Tools) -> list[str]:
    told = [{"tool": each.name, "description": each.description} for each in tools.values()]
    step = data_of(memory.plan[0]) if memory.plan else None
    return [f"The step at hand: {json.dumps(step)}", f"Tools: {json.dumps(told)}"]


def _schema(form: type[Form], tools: Tools) -> dict[str, Any]:
    """Return the schema of a form; for Act, with the arguments of each tool."""
    schema = schema_of(form)
    if form is not Deed:
        return schema
    uses = [schema_of_use(tool) for tool in tools.values()]
    if uses:
        schema["properties"]["calls"]["items"] = {"anyOf": uses}
    else:
        del schema["properties"]["calls"]
        schema["required"].remove("calls")
    return schema
