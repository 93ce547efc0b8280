"""The machine of an agent: each node is a state, and each answer an event (docs/agents.md)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from statemachine import State

from polycontext.agent_context import ContextLimits, ContextValidator
from polycontext.nodes.builders import Node
from polycontext.polynomial import ContextMachine
from polycontext.polynomial.journal import SPENT
from polycontext.polynomial.machine import Region, once

from .answers import EVENTS, EXAMPLES, NODES, SUMMARIZE, Plan, Written
from .forms import Form, read_answer, without_words
from .reports import ENTITIES


class Writers:
    """What a region declares whose agents write a shared context (docs/agent-context.md)."""

    nodes: ClassVar[Mapping[str, Node]] = {}
    """The node that is asked in each state."""
    other_forms: ClassVar[tuple[type[Form], ...]] = (Written,)
    """The forms of events that belong to no state."""
    writers: ClassVar[Mapping[str, Iterable[str]]] = {}
    """The rights of agents beside nodes and the standard agents, as `ContextValidator` takes them.
    """
    limits: ClassVar[ContextLimits] = ContextLimits()
    """The limits of the shared context."""

    @classmethod
    def forms(cls) -> dict[str, type[Form]]:
        """Return the form of each event that records an answer."""
        answers = (node.answers for node in cls.nodes.values() if node.answers is not None)
        return {form.event: form for form in (*answers, *cls.other_forms)}

    @classmethod
    def agents(cls) -> dict[str, str]:
        """Return the name of the node that answers by each event."""
        nodes = (*cls.nodes.values(), SUMMARIZE) if cls.nodes else ()
        return {node.answers.event: node.name for node in nodes if node.answers is not None}

    @classmethod
    def validator(cls) -> ContextValidator:
        """Return what each agent and node may write into the shared context."""
        validator = ContextValidator.default()
        for node in (*cls.nodes.values(), SUMMARIZE):
            if node.answers is not None:
                validator.register_agent(node.name, node.answers.writes)
        for agent, rights in cls.writers.items():
            validator.register_agent(agent, rights)
        return validator

    @once
    def in_order(self, step: Any) -> None:
        """Raise unless the first argument of an event with a form is an answer of that form."""
        form = self.forms().get(step.input.kind)
        if form is not None:
            read_answer(form, step.args[0] if step.args else None)


class WriterRegion(Writers, Region):
    """A region of agents without nodes: it accepts what they write, in any state of the context."""

    ready: Any = State("READY", value="READY", initial=True)
    always = (Written.event,)


class NodeRegion(Writers, Region):
    """READY, UNDERSTANDING, THINKING, ACTING and REPLYING, beside the state of the context.

    A user turn leads to UNDERSTANDING, the answer of each node on to the next, and the reply back
    to READY. Subclass it for a node of your own: add its state to `nodes` and declare two
    transitions.
    """

    ready: Any = State("READY", value="READY", initial=True)
    understanding: Any = State("UNDERSTANDING", value="UNDERSTANDING")
    thinking: Any = State("THINKING", value="THINKING")
    acting: Any = State("ACTING", value="ACTING")
    replying: Any = State("REPLYING", value="REPLYING")

    user_turn = understanding.from_.any()
    understood = understanding.to(thinking)
    planned = thinking.to(acting, cond="is_direct") | thinking.to(replying)
    acted = acting.to(replying, cond="is_last") | acting.to.itself()
    blocked = replying.from_.any(cond="is_under_way")
    assistant_turn = acting.to.itself(cond="has_calls") | replying.to(ready) | ready.to.itself()
    summarized = ready.to.itself()
    clear = ready.from_.any()

    always = (Written.event,)
    nodes = NODES
    other_forms = EVENTS

    def is_under_way(self, source: State) -> bool:
        """Return whether there is an exchange that can be blocked."""
        return source.id not in ("ready", "replying")

    def is_direct(self, step: Any) -> bool:
        """Return whether a plan has steps to take now."""
        return read_answer(Plan, step.args[0]).is_direct

    def is_last(self, step: Any) -> bool:
        """Return whether no step of the plan is left."""
        return not step.kwargs.get("left")

    def has_calls(self, step: Any) -> bool:
        """Return whether an assistant turn calls tools."""
        return bool(step.input.turn.tool_calls)


class _Nobody(Writers):
    other_forms = ()


def writers_of(machine: Any) -> type[Writers]:
    """Return the region of a machine whose agents write a shared context; nobody may be there."""
    found = (each for each in machine.regions.values() if issubclass(each, Writers))
    return next(found, _Nobody)


class SharedMachine(ContextMachine):
    """The context's machine, with agents beside it that write a shared context."""

    regions: ClassVar[Mapping[str, Any]] = {"writers": WriterRegion}
    keeps_nothing = True
    wordless = frozenset({ENTITIES, SPENT})

    @classmethod
    def forgotten(
        cls, name: str, given: tuple[Any, Any], is_gone: Callable[[str], bool]
    ) -> tuple[Any, Any]:
        """Return the arguments of an event without the words of the answer that are gone."""
        (answer, *rest), by_name = given if given[0] else ([None], given[1])
        form = writers_of(cls).forms().get(name)
        if form is None or answer is None:
            return super().forgotten(name, given, is_gone)
        return [without_words(form, answer, is_gone), *rest], by_name


class AgentMachine(SharedMachine):
    """The context's machine, with the nodes beside it; an event of both must suit both."""

    regions: ClassVar[Mapping[str, Any]] = {"node": NodeRegion}
    keeps_nothing = True
    examples = EXAMPLES
