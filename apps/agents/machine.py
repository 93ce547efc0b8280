"""The machine of an agent: each node is a state, and each answer an event (docs/agents.md)."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from statemachine import State
from statemachine.transition_list import TransitionList

from polycontext.nodes.builders import Node
from polycontext.polynomial import ContextMachine
from polycontext.polynomial.machine import OwnStates

from .answers import EVENTS, NODES, SUMMARIZE, Plan
from .forms import Form, read_answer, without_words
from .memory import ENTITIES

_BASE = ContextMachine


def _staying(*states: Any, **options: Any) -> TransitionList:
    """Declare an event that leads to the state it came from."""
    moves = TransitionList()
    for state in states:
        moves |= state.to.itself(**options)
    return moves


class AgentStates(OwnStates):
    """The metaclass that gives the states of a subclass what every node's state needs."""

    def __new__(cls, name: str, bases: tuple[type], attrs: dict[str, Any]) -> Any:
        """Declare a class, with the transitions of `around` for each state that it adds."""
        own = [each for each in attrs.values() if isinstance(each, State)]
        for base in bases if own else ():
            if isinstance(base, AgentStates):
                for event, moves in around(base, *own).items():
                    attrs[event] = attrs[event] | moves if event in attrs else moves
        return super().__new__(cls, name, bases, attrs)


def around(machine: Any, *states: State) -> dict[str, TransitionList]:
    """Return the transitions that every node's state needs, by event.

    The user can speak, the exchange can be blocked, the context can be cleared or compressed, and
    other agents can write.
    """
    stays = ("compress", "recall", "promote", "system", "tool_turn")
    return {
        "user_turn": machine.understanding.from_(*states),
        "blocked": machine.replying.from_(*states, validators="well_formed"),
        "clear": machine.empty.from_(*states),
        "wrote": _staying(*states, validators="well_formed"),
        **{event: _staying(*states, internal=True) for event in stays},
    }


class AgentMachine(ContextMachine, metaclass=AgentStates):
    """UNDERSTANDING, THINKING, ACTING and REPLYING around the states of the context.

    A user turn leads to UNDERSTANDING, the answer of each node on to the next, and the reply back
    to ACCUMULATING or PRESSURED. Subclass it for a node of your own: add its state to `nodes` and
    declare two transitions.
    """

    understanding = State("UNDERSTANDING", value="UNDERSTANDING")
    thinking = State("THINKING", value="THINKING")
    acting = State("ACTING", value="ACTING")
    replying = State("REPLYING", value="REPLYING")

    user_turn = understanding.from_(
        _BASE.empty, _BASE.accumulating, _BASE.compressed, thinking, acting, replying
    ) | _staying(understanding)
    understood = understanding.to(thinking, validators="well_formed")
    planned = thinking.to(acting, cond="is_direct", validators="well_formed") | thinking.to(
        replying, validators="well_formed"
    )
    acted = acting.to(replying, cond="is_last", validators="well_formed") | _staying(
        acting, validators="well_formed"
    )
    blocked = replying.from_(understanding, thinking, acting, validators="well_formed")
    assistant_turn = (
        _staying(acting, cond="has_calls")
        | replying.to(_BASE.pressured, cond="is_pressured")
        | replying.to(_BASE.accumulating)
    )
    tool_turn = _staying(understanding, thinking, acting, replying)
    summarized = _staying(
        _BASE.accumulating, _BASE.pressured, _BASE.compressed, validators="well_formed"
    )
    wrote = _staying(
        *(understanding, thinking, acting, replying, *_BASE.states), validators="well_formed"
    )
    clear = _BASE.empty.from_(understanding, thinking, acting, replying)
    compress = _staying(understanding, thinking, acting, replying, internal=True)
    recall = _staying(understanding, thinking, acting, replying, internal=True)
    promote = _staying(understanding, thinking, acting, replying, internal=True)
    system = _staying(understanding, thinking, acting, replying, internal=True)

    wordless = frozenset({ENTITIES})
    nodes: ClassVar[Mapping[str, Node]] = NODES
    """The node that is asked in each state."""
    other_forms: ClassVar[tuple[type[Form], ...]] = EVENTS
    """The forms of events that belong to no state."""

    @classmethod
    def forms(cls) -> dict[str, type[Form]]:
        """Return the form of each event that records an answer."""
        answers = (node.answers for node in cls.nodes.values() if node.answers is not None)
        return {form.event: form for form in (*answers, *cls.other_forms)}

    @classmethod
    def rights(cls) -> dict[str, tuple[str, ...]]:
        """Return what each node may write into the shared context."""
        nodes = (*cls.nodes.values(), SUMMARIZE)
        return {node.name: node.answers.writes for node in nodes if node.answers is not None}

    def well_formed(self, step: Any) -> None:
        """Raise unless the event's first argument is an answer of its form."""
        read_answer(self.forms()[str(step.input.kind)], step.args[0] if step.args else None)

    def is_direct(self, step: Any) -> bool:
        """Return whether a plan has steps to take now."""
        return read_answer(Plan, step.args[0]).is_direct

    def is_last(self, step: Any) -> bool:
        """Return whether no step of the plan is left."""
        return not step.kwargs.get("left")

    def has_calls(self, step: Any) -> bool:
        """Return whether an assistant turn calls tools."""
        return bool(step.input.turn.tool_calls)

    @classmethod
    def forgotten(
        cls, name: str, given: tuple[Any, Any], is_gone: Callable[[str], bool]
    ) -> tuple[Any, Any]:
        """Return the arguments of an event without the words of the answer that are gone."""
        (answer, *rest), by_name = given if given[0] else ([None], given[1])
        form = cls.forms().get(name)
        if form is None or answer is None:
            return super().forgotten(name, given, is_gone)
        return [without_words(form, answer, is_gone), *rest], by_name
