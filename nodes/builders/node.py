"""What a node is: one declaration of the layers it reads, in which detail, and of what its prompt must not lack."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from attrs import field, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOutput

from ..checks import check_instance, parse_member, texts, whole_from
from ..entities import EntityContext, EntityMode
from ..history import ConversationHistory, ConversationPart
from ..memory import ConversationContext, CurrentTurn
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
    """The parts of a node's prompt, in their order; the value is the heading (docs/nodes.md)."""

    ENTITIES = "Entity Context"
    CONVERSATION = "Conversation History"
    REASONING = "What Happened (Reasoning Trace)"


@frozen
class Material:
    """Hold what contexts are built of: the machine's output, what is remembered, the exchange under way, and what exists.

    `node` is who reads, `history` what it reads of the conversation anyway.
    """

    output: ContextOutput
    conversation: ConversationContext
    turn: CurrentTurn
    entities: EntityContext
    node: "Node"
    history: ConversationHistory


def _section(section: Section | str) -> Section:
    return parse_member(Section, "section", section)


@frozen
class Addition:
    """Declare what a node must be told beside its layers (docs/nodes.md).

    `write` returns one entry a text, quoted where it holds what others said; where none says
    anything it is left out. It stands word for word however short the room, unless `resource_class`
    lets it yield.
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
    """Declare a node: what it reads is what it names here (docs/nodes.md).

    `entities` is the mode in which it sees what exists, None for not at all. `task` are its
    instructions, `budget` the tokens its context may take.

    Raises:
        InvalidDataError, InvalidOptionError: a part or a mode that there is not, an addition or a
            budget that is none.

    >>> from polycontext.nodes.builders import ConversationPart, EntityMode, Node
    >>> critic = Node("critic", "Say what is wrong with the last answer.", EntityMode.LABELS_ONLY, {ConversationPart.RECENT})
    >>> critic.reasoning
    frozenset()
    """

    name: str
    task: str
    entities: EntityMode | None = field(default=None, converter=_mode)
    conversation: frozenset[ConversationPart] = field(
        default=frozenset(), converter=_conversation_parts
    )
    reasoning: frozenset[ReasoningPart] = field(default=frozenset(), converter=_reasoning_parts)
    additions: tuple[Addition, ...] = field(default=(), converter=_additions)
    budget: int = field(default=4000, validator=whole_from(1))
