"""Nodes: what each reads of a moment, and what it adds to its layers (docs/nodes.md)."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from attrs import Factory, field, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOutput
from polycontext.window import Role, Turn

from ..checks import check_instance, is_a, parse_member, texts, whole_from
from ..entities.presentation import EntityMode
from ..entities.records import EntityContext
from ..history import ConversationHistory, ConversationPart
from ..memory.conversation import ConversationContext
from ..memory.current_exchange import CurrentTurn
from ..reasoning import ReasoningPart

# Who declares a node needs the parts of the other layers, too.
__all__ = (
    "Addition",
    "ConversationPart",
    "EntityMode",
    "Material",
    "Node",
    "ReasoningPart",
    "Section",
)


class Section(StrEnum):
    """The parts of a node's prompt, in order; the value is the heading (docs/nodes.md)."""

    ENTITIES = "Entity Context"
    CONVERSATION = "Conversation History"
    REASONING = "What Happened (Reasoning Trace)"


def _unanswered(output: ContextOutput) -> tuple[Turn, ...]:
    """Return what the user has said since the last answer in the window."""
    asked: list[Turn] = []
    for turn in reversed(output.window.all_turns()):
        if turn.is_gist or (turn.role is Role.ASSISTANT and not turn.tool_calls):
            break
        asked += [turn] if turn.role is Role.USER else []
    return tuple(asked[::-1])


def _nothing_shared(_path: str) -> tuple[Any, ...]:
    return ()


@frozen
class Now:
    """A moment of a conversation: what the nodes of an agent read (docs/nodes.md).

    `output` is the output of the machine, `conversation` the memory of the closed exchanges, `turn`
    the exchange under way, and `results` those of the tools for the step at hand. `asked` are the
    user's turns that are not answered, by default those of the output's window. `shared` returns
    the entries under a path of the context that agents share, as JSON data, newest last.
    `Recollection` computes all of it from a session (docs/agents.md).
    """

    output: ContextOutput
    conversation: ConversationContext = field(
        factory=ConversationContext, validator=is_a(ConversationContext)
    )
    turn: CurrentTurn = field(factory=lambda: CurrentTurn(1), validator=is_a(CurrentTurn))
    asked: tuple[Turn, ...] = field(
        default=Factory(lambda self: _unanswered(self.output), takes_self=True)
    )
    results: tuple[Any, ...] = ()
    shared: Callable[[str], Iterable[Any]] = field(default=_nothing_shared, eq=False)


@frozen
class Material:
    """The data that contexts are built from.

    `node` is the node that reads the context, `history` the part of the conversation that it reads
    through its layer.
    """

    now: Now
    entities: EntityContext
    node: "Node"
    history: ConversationHistory


def _section(section: Section | str) -> Section:
    return parse_member(Section, "section", section)


@frozen
class Addition:
    """Something a node must read beside its layers (docs/nodes.md).

    `write` returns one text per entry, quoted where it holds words of the user, a model or a tool.
    An addition without text is left out. Entries are kept verbatim however short the room, unless
    `resource_class` lets them give way.
    """

    name: str
    section: Section = field(converter=_section)
    write: Callable[[Material], Iterable[str]]
    resource_class: ResourceClass = ResourceClass.PRESERVED


def _conversation_parts(parts: Iterable[ConversationPart | str]) -> frozenset[ConversationPart]:
    return frozenset(parse_member(ConversationPart, "conversation", part) for part in texts(parts))


def _reasoning_parts(parts: Iterable[ReasoningPart | str]) -> frozenset[ReasoningPart]:
    return frozenset(parse_member(ReasoningPart, "reasoning", part) for part in texts(parts))


def _additions(additions: Iterable[Addition] | Addition) -> tuple[Addition, ...]:
    given = (additions,) if isinstance(additions, Addition) else tuple(additions)
    return tuple(check_instance(each, Addition, "additions") for each in given)


def _mode(mode: EntityMode | str | None) -> EntityMode | None:
    return None if mode is None else EntityMode.of(mode)


@frozen
class Node:
    """A declaration of what one node reads (docs/nodes.md).

    `entities` is the mode in which the node sees entities, or None to hide them. `reads` are paths
    of the context that agents share, such as ``enrichment.facts``. `task` holds the node's
    instructions; without them, they are the template of the node's name. `budget` is the most
    tokens of its context, `answers` the class of its answer, None for text (docs/agents.md).

    Raises:
        InvalidDataError, InvalidOptionError: An unknown part or mode, an addition of the wrong
        type, or an invalid budget.

    >>> from polycontext.nodes.builders import Node
    >>> critic = Node(
    ...     "critic",
    ...     "Say what is wrong with the last answer.",
    ...     "labels_only",
    ...     {"recent"},
    ... )
    >>> critic.reasoning
    frozenset()
    """

    name: str
    task: str = ""
    entities: EntityMode | None = field(default=None, converter=_mode)
    conversation: frozenset[ConversationPart] = field(
        default=frozenset({ConversationPart.RECENT}), converter=_conversation_parts
    )
    reasoning: frozenset[ReasoningPart] = field(default=frozenset(), converter=_reasoning_parts)
    reads: tuple[str, ...] = field(default=(), converter=texts)
    additions: tuple[Addition, ...] = field(default=(), converter=_additions)
    budget: int = field(default=4000, validator=whole_from(1))
    answers: type[Any] | None = None
