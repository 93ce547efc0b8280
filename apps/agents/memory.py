"""What an agent remembers, computed from the journal of its session.

It is never stored, so it cannot be stale: rewinding, forking, editing and forgetting need no code
here. See docs/agents.md.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

import orjson
from attrs import evolve, field, fields, frozen, has

from polycontext.agent_context import AgentContext
from polycontext.agent_context.records import AgentRun
from polycontext.base import CallerError, guided
from polycontext.base.json_data import freeze, thaw
from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes import ConversationContext, Now, SessionIdRegistry
from polycontext.nodes.history import exchange_of
from polycontext.nodes.memory.current_exchange import CurrentTurn, close_exchange
from polycontext.polynomial import ContextOutput, Event
from polycontext.polynomial.journal import (
    ClearEvent,
    MoveEvent,
    Spent,
    TurnEvent,
    is_erased,
    spent_in,
)
from polycontext.window import Role, Turn

from .forms import Form, read_answer
from .reports import ENTITIES, report
from .sharing import Rules, Sharing

_UNTOLD = ("timestamp", "provenance")

_log = logging.getLogger("polycontext.agents")


@guided
@frozen
class AgentMemory:
    """What an agent knows at one revision of its session; immutable.

    `conversation` is the memory of the closed exchanges, `turn` the exchange under way. `plan` are
    the steps that are left, `results` those of the tools for the first of them. `asked` are the
    user's turns that are not answered yet. `sharing` has the context that all agents share. `at` is
    the time of the last event.

    Law: the memory after a journal's first n events is the memory of a session that has only those.
    """

    sharing: Sharing
    conversation: ConversationContext = field(factory=ConversationContext)
    turn: CurrentTurn = field(factory=lambda: CurrentTurn(1))
    plan: tuple[Any, ...] = ()
    results: tuple[Any, ...] = ()
    asked: tuple[Turn, ...] = ()
    is_answered: bool = False
    at: datetime = UNIX_EPOCH

    @property
    def rules(self) -> Rules:
        """Return how the journal is read."""
        return self.sharing.rules

    @property
    def shared(self) -> AgentContext:
        """Return the context that all agents share, with its audit trail and their usage."""
        return self.sharing.context

    @property
    def place(self) -> object:
        """Return what an answer refers to; an answer is dropped if this has changed."""
        return self.turn, self.plan, self.results, self.asked, self.is_answered

    def after(self, event: Event) -> "AgentMemory":
        """Return what is remembered after an event of the journal that is no rewind.

        An event that does not fit the memory, because its words were erased or because another
        machine wrote it, is logged and changes nothing.
        """
        begun = evolve(self, at=event.at, sharing=self.sharing.at(event.at))
        try:
            return _after(begun, event)
        except (CallerError, ValueError, LookupError, TypeError) as error:
            _log.warning("an agent remembers nothing of %s: %s", type(event).__name__, error)
            return self

    def after_answer(self, answer: Form, spent: Spent | None = None) -> "AgentMemory":
        """Return the memory after a form, with the run and calls of its agent.

        Raises:
            Any exception of `Form.after`.
        """
        memory: AgentMemory = answer.after(self)
        node, why = self.rules.agents.get(answer.event), memory.turn.blocked_reason or ""
        agent = node or str(getattr(answer, "agent", answer.event))
        error = "" if self.turn.blocked_reason else why
        if not (memory.sharing.diffs or node or error):
            return memory.used(agent, spent)
        return memory.ran(agent, spent, error)

    def ran(self, agent: str, spent: Spent | None, error: str = "") -> "AgentMemory":
        """Return the memory with the run of an agent in the audit trail, and its calls."""
        status, took = "blocked" if error else "success", spent.duration_ms if spent else 0
        run = AgentRun(self.at, agent, status, took, self.sharing.keys_written, error)
        return evolve(self, sharing=self.sharing.ran(run)).used(agent, spent)

    def used(self, agent: str, spent: Spent | None) -> "AgentMemory":
        """Return the memory with the calls of an agent in the usage."""
        return self if spent is None else evolve(self, sharing=self.sharing.used(agent, spent))

    def share(
        self,
        agent: str,
        changes: Mapping[str, Any] | None = None,
        *,
        append: Mapping[str, Any] | None = None,
    ) -> "AgentMemory":
        """Return the memory with keys of the shared context written, or appended to.

        The change is in the audit trail. New facts have the agent in their provenance, and entries
        without a time that of the event.

        Raises:
            ContextSizeError: the context would exceed a limit.
            Any exception of `ContextValidator.safe_update`.
        """
        sharing = self.sharing.written(agent, changes or {}, append or {}, self.at)
        return evolve(self, sharing=sharing)

    def with_registry(self, registry: SessionIdRegistry) -> "AgentMemory":
        """Return the memory with this registry of entities."""
        return evolve(self, conversation=self.conversation.with_registry(registry))

    def now(self, output: ContextOutput) -> Now:
        """Return what nodes read of the memory and of the machine's output."""
        return Now(output, self.conversation, self.turn, self.asked, self.results, self.entries)

    def entries(self, path: str) -> list[Any]:
        """Return the entries under a path of the shared context as JSON data, newest last."""
        value = attrgetter(path)(self.shared)
        return [*map(_as_data, value if isinstance(value, tuple) else [value] if value else [])]

    def after_turn(self, turn: Turn, spent: Spent | None = None) -> "AgentMemory":
        """Return the memory after a turn, with the run of the agent that said it."""
        match turn.role:
            case Role.USER:
                return self._heard(turn)
            case Role.TOOL:
                return self._found(turn)
            case Role.ASSISTANT:
                is_reply = self.asked and not turn.tool_calls
                memory = self._answered(turn) if is_reply else self
                if not (spent or self.rules.agents):
                    return memory
                agent = (spent.agent if spent else "") or ("act" if turn.tool_calls else "reply")
                return memory.ran(agent, spent)
            case _:
                return self

    def _heard(self, turn: Turn) -> "AgentMemory":
        """Begin an exchange, or go on with one that the user interrupts: plans are void."""
        if not self.is_answered:
            return evolve(self, plan=(), results=(), asked=(*self.asked, turn))
        return evolve(
            self,
            turn=CurrentTurn(self.turn.turn_num + 1),
            plan=(),
            results=(),
            asked=(turn,),
            is_answered=False,
        )

    def _found(self, turn: Turn) -> "AgentMemory":
        """Add a result, and its entities to the registry.

        The words of an entity are in the result. After an erasure its ref is left, so that refs
        which others quote keep their meaning.
        """
        result = None if is_erased(turn) else _loaded(turn.text)
        rows = result if isinstance(result, list) else [result]
        entities = thaw(turn.metadata.get(ENTITIES, ()))
        registry = self.conversation.id_registry
        known = self.with_registry(report(registry, entities, self.turn.turn_num, rows))
        return evolve(known, results=(*self.results, result))

    def _answered(self, answer: Turn) -> "AgentMemory":
        said = exchange_of(self.asked, answer.text)
        counter = self.rules.counter
        conversation = close_exchange(self.conversation, self.turn, said, counter=counter)
        return evolve(self, conversation=conversation, asked=(), is_answered=True)

    def cleared(self) -> "AgentMemory":
        """Forget what was said; refs are not assigned again."""
        number = self.turn.turn_num
        registry = self.conversation.id_registry.clear_all(turn=number, include_generated=True)
        return AgentMemory(
            self.sharing.cleared(),
            ConversationContext(id_registry=registry),
            CurrentTurn(number + 1),
            at=self.at,
        )


def _after(memory: AgentMemory, event: Event) -> AgentMemory:
    match event:
        case TurnEvent(turn=turn) if not turn.is_gist:
            return memory.after_turn(turn, spent_in(event))
        case MoveEvent(name=name) if name in memory.rules.forms:
            (answer, *_), _ = orjson.loads(event.arguments)
            form = read_answer(memory.rules.forms[name], answer)
            return memory.after_answer(form, spent_in(event))
        case ClearEvent():
            return memory.cleared()
        case _:
            return memory


def _as_data(entry: Any) -> Any:
    """Return an entry of the shared context as JSON data.

    Left out is what has its default, when and by whom a fact was found, and that one is certain.
    """
    if not has(type(entry)):
        return entry.isoformat() if isinstance(entry, datetime) else entry
    shown = (each for each in fields(type(entry)) if each.name not in _UNTOLD)
    held = {each: getattr(entry, each.name) for each in shown}
    return {
        each.name: _as_data(value)
        for each, value in held.items()
        if value != each.default and (each.name, value) != ("confidence", 1.0)
    }


def next_id(letter: str, entries: Iterable[Any]) -> int:
    """Return the number after the highest in ids such as ``p7``."""
    ids = [str(entry.id) for entry in entries]
    return (
        max((int(id[1:]) for id in ids if id[:1] == letter and id[1:].isdecimal()), default=0) + 1
    )


def _loaded(text: str) -> Any:
    """Return the JSON data in a result, or its text."""
    try:
        return thaw(freeze(json.loads(text)))
    except (ValueError, RecursionError):
        return text
