"""The pieces a node context is made of: what it shows, where, and what may be done to it when room is short."""

from enum import StrEnum

from attrs import frozen

from polycontext.linearity import ResourceClass


class Section(StrEnum):
    """The parts of a node's prompt, in their order; the value is the heading (seed 003, prompt injection pattern)."""

    ENTITIES = "Entity Context"
    CONVERSATION = "Conversation History"
    REASONING = "What Happened (Reasoning Trace)"


@frozen
class Piece:
    """Hold one entry of a section.

    `short` is what stands for it, with others, when it yields to a gist; without
    one the extractive summariser reads `text`.
    """

    section: Section
    text: str
    resource_class: ResourceClass = ResourceClass.REQUIRED
    short: str = ""
