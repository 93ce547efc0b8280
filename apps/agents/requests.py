"""What a node asks a model: its prompt, and the schema of its answer (docs/agents.md)."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from attrs import frozen

from polycontext.base import InvalidOptionError, require
from polycontext.nodes import PromptBuilder
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
    """A model: `complete` answers a `ModelRequest` with a text, JSON data or an assistant message.

    The message has the text or data as `content` and, if they are known, the provider's `usage` and
    the name of the `model`. A model may also have `acomplete`, which is awaited, and `stream`. That
    yields the pieces of a text, and may last yield a mapping with `usage` and `model`.
    """

    def complete(self, request: Any) -> Any:
        """Return the answer."""
        ...


_MODELS = (
    'a function of the request, an object with complete(request), or model_of(client, "gpt-5")'
)


@frozen
class _Function:
    """A function as a model."""

    complete: Callable[[Any], Any]


def as_model(model: Any) -> Model:
    """Return a model, or the model that calls a function; with None, one that refuses to answer.

    Raises:
        InvalidOptionError: it is none of these.
    """
    fits = callable(getattr(model, "complete", None)) or callable(model)
    require("model", model, model is None or (fits and not isinstance(model, type)), _MODELS)
    if hasattr(model, "complete"):
        return cast("Model", model)
    return cast("Model", _Function(_refuse if model is None else model))


def _refuse(_request: ModelRequest) -> None:
    raise InvalidOptionError("model", None, _MODELS)


def request_of(
    node: Node,
    memory: AgentMemory,
    output: ContextOutput,
    tools: Tools,
    *,
    prompts: PromptBuilder,
    task: str = "",
) -> ModelRequest:
    """Return what `node` asks; `task` is told before the step at hand and the schema."""
    form, told, schema = node.answers, [task] if task else [], None
    if form is not None:
        schema = _schema(form, tools)
        told += [prompts.section("step", **_step_at_hand(memory, tools))] if form is Deed else []
        told.append(prompts.section("schema", schema=json.dumps(schema)))
    now = memory.now(output)
    return ModelRequest(
        node.name, str(build_context(node, now, task="\n".join(told), prompts=prompts)), schema
    )


def _step_at_hand(memory: AgentMemory, tools: Tools) -> dict[str, str]:
    told = [{"tool": each.name, "description": each.description} for each in tools.values()]
    step = data_of(memory.plan[0]) if memory.plan else None
    return {"step": json.dumps(step), "tools": json.dumps(told)}


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
