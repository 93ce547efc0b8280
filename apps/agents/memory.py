"""What an agent remembers, computed from the journal of its session.

It is never stored, so it cannot be stale: rewinding, forking, editing and forgetting need no code
here. See docs/agents.md.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

import orjson
from attrs import evolve, field, fields, frozen, has

from polycontext.agent_context import AgentContext, ContextValidator, extend_lists
from polycontext.base import CallerError
from polycontext.base.json_data import freeze, thaw
from polycontext.nodes import (
    ConversationContext,
    CurrentTurn,
    Now,
    SessionIdRegistry,
    close_exchange,
    exchange_of,
)
from polycontext.nodes.entities import EntityId, EntityStatus
from polycontext.polynomial import ContextOutput, Event
from polycontext.polynomial.journal import (
    ClearEvent,
    MoveEvent,
    TurnEvent,
    is_erased,
)
from polycontext.window import Role, TokenCounter, Turn

from .forms import Form, read_answer

MOST_SHARED = 50
"""How many entries of each list in the shared context are kept at least; twice as many at most."""

ENTITIES = "entities"
"""The key of a tool turn's metadata that names the entities of its result, without words."""

_STATUS = {
    "read": EntityStatus.READ,
    "create": EntityStatus.CREATED,
    "link": EntityStatus.LINKED,
}

_log = logging.getLogger("polycontext.agents")


@frozen(eq=False)
class Rules:
    """How events are read: the forms by event, the rights of agents, and the token counter.

    `shared` is the shared context to begin with.
    """

    forms: Mapping[str, type[Form]]
    shared: AgentContext
    validator: ContextValidator
    counter: TokenCounter


@frozen
class AgentMemory:
    """What an agent knows at one revision of its session; immutable.

    `conversation` is the memory of the closed exchanges, `turn` the exchange under way. `plan` are
    the steps that are left, `results` those of the tools for the first of them. `asked` are the
    user's turns that are not answered yet. `shared` is the context that all agents share.

    Law: the memory after a journal's first n events is the memory of a session that has only those.
    """

    rules: Rules = field(eq=False, repr=False)
    shared: AgentContext
    conversation: ConversationContext = field(factory=ConversationContext)
    turn: CurrentTurn = field(factory=lambda: CurrentTurn(1))
    plan: tuple[Any, ...] = ()
    results: tuple[Any, ...] = ()
    asked: tuple[Turn, ...] = ()
    is_answered: bool = False

    @property
    def place(self) -> object:
        """Return what an answer refers to; an answer is dropped if this has changed."""
        return self.turn, self.plan, self.results, self.asked, self.is_answered

    def after(self, event: Event) -> "AgentMemory":
        """Return what is remembered after an event of the journal that is no rewind.

        An event that does not fit the memory, because its words were erased or because another
        machine wrote it, is logged and changes nothing.
        """
        try:
            return self._after(event)
        except (CallerError, ValueError, LookupError, TypeError) as error:
            _log.warning("an agent remembers nothing of %s: %s", type(event).__name__, error)
            return self

    def _after(self, event: Event) -> "AgentMemory":
        match event:
            case TurnEvent(turn=turn) if not turn.is_gist:
                return self._after_turn(turn)
            case MoveEvent(name=name) if name in self.rules.forms:
                (answer, *_), _ = orjson.loads(event.arguments)
                memory: AgentMemory = read_answer(self.rules.forms[name], answer).after(self)
                return memory
            case ClearEvent():
                return self._cleared()
            case _:
                return self

    def share(
        self,
        agent: str,
        changes: Mapping[str, Any] | None = None,
        *,
        append: Mapping[str, Any] | None = None,
    ) -> "AgentMemory":
        """Return the memory with keys of the shared context written, or appended to.

        Raises:
            Any exception of `ContextValidator.safe_update`.
        """
        wanted = {**(changes or {}), **extend_lists(self.shared, append or {})}
        shared = self.rules.validator.safe_update(self.shared, agent, wanted)
        return evolve(self, shared=_bounded(shared, append or {}, self.rules.validator))

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

    def _after_turn(self, turn: Turn) -> "AgentMemory":
        match turn.role:
            case Role.USER:
                return self._heard(turn)
            case Role.TOOL:
                return self._found(turn)
            case Role.ASSISTANT if self.asked and not turn.tool_calls:
                return self._answered(turn)
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

    def _cleared(self) -> "AgentMemory":
        """Forget what was said; refs are not assigned again."""
        number = self.turn.turn_num
        registry = self.conversation.id_registry.clear_all(turn=number, include_generated=True)
        return AgentMemory(
            self.rules,
            self.rules.shared,
            ConversationContext(id_registry=registry),
            CurrentTurn(number + 1),
        )


def report(
    registry: SessionIdRegistry, entities: Iterable[Sequence[Any]], turn: int, rows: Sequence[Any]
) -> SessionIdRegistry:
    """Return the registry with the entities of a result, which are in `rows` with their words."""

    def told(id: EntityId, key: str, place: int) -> tuple[EntityId, str, Any]:
        row = rows[place] if place < len(rows) and isinstance(rows[place], Mapping) else {}
        return id, "" if row.get(key) is None else str(row[key]), row or None

    for (how, kind), group in groupby(entities, itemgetter(0, 1)):
        found = (told(*rest) for _, _, *rest in group)
        registry = registry.report(_STATUS[how], kind, found, turn=turn)
    return registry


def _bounded(
    shared: AgentContext, paths: Iterable[str], validator: ContextValidator
) -> AgentContext:
    """Return the shared context without the oldest entries of lists that have become long."""
    lists = {path: attrgetter(path)(shared) for path in paths}
    long = {
        path: held[-MOST_SHARED:] for path, held in lists.items() if len(held) >= 2 * MOST_SHARED
    }
    return validator.safe_update(shared, "orchestrator", long) if long else shared


def _as_data(entry: Any) -> Any:
    """Return an entry of the shared context as JSON data, without what has its default."""
    if not has(type(entry)):
        return entry.isoformat() if isinstance(entry, datetime) else entry
    held = {each: getattr(entry, each.name) for each in fields(type(entry))}
    return {each.name: _as_data(value) for each, value in held.items() if value != each.default}


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
