"""What a node asks a model: its prompt, and the schema of its answer (docs/agents.md)."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import evolve, frozen

from polycontext.linearity import ResourceClass
from polycontext.nodes import quote
from polycontext.nodes.builders import Addition, Node, Section, build_context
from polycontext.polynomial import ContextSession

from .answers import Deed
from .forms import Form, data_of, schema_of
from .memory import AgentMemory
from .tools import Tool, schema_of_use

_SHOWN_FACTS = 5
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
    node: Node, session: ContextSession, memory: AgentMemory, tools: Tools, task: str = ""
) -> ModelRequest:
    """Return what `node` asks; `task` is told before the step at hand and the schema."""
    form, told, schema = node.answers, [task] if task else [], None
    if form is not None:
        schema = _schema(form, tools)
        told += _step_at_hand(memory, tools) if form is Deed else ()
        told.append(f"Answer with one JSON object of this schema: {json.dumps(schema)}")
    read = evolve(node, additions=(*node.additions, *_situation(session, memory)))
    prompt = build_context(
        read, session.output, memory.conversation, memory.turn, task="\n".join(told)
    )
    return ModelRequest(node.name, str(prompt), schema)


def _situation(session: ContextSession, memory: AgentMemory) -> tuple[Addition, ...]:
    """Return what every node reads beside its layers: machine, shared context, results so far."""
    gone = sum(len(turn.sources) for turn in session.window.all_turns() if turn.is_gist)
    state = f"Context: {session.state}, pressure {session.pressure:.2f}"
    if gone:
        state += f", summaries stand for {gone} earlier messages"
    facts = [
        f"Fact: {quote(json.dumps(fact.content, default=str))}"
        for fact in memory.shared.enrichment.facts[-_SHOWN_FACTS:]
    ]
    results = [f"Result so far: {json.dumps(result)}" for result in memory.results]
    return (
        Addition("situation", Section.REASONING, lambda _: [state]),
        Addition("facts", Section.REASONING, lambda _: facts, ResourceClass.DROPPABLE),
        Addition("results", Section.REASONING, lambda _: results, ResourceClass.REQUIRED),
    )


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
