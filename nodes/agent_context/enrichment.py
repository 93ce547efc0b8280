"""The namespace of knowledge: facts, what follows from them, relationships (seed 002 §3)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._kinds import Confidence
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class Fact(Record):
    """Hold a fact, where it came from, when, and how sure it is (0..1).

    >>> Fact(id="f1", content="five commits", source="gitlab", confidence=1.2)
    Traceback (most recent call last):
    polycontext.nodes.agent_context.errors.ContextFormatError: confidence: 1.2 is no confidence; legal: 0..1
    """

    id: str = ""
    content: str = ""
    source: str = ""
    timestamp: datetime = UNIX_EPOCH
    confidence: Confidence = 0.0
    provenance: Mapping[str, Any] = EMPTY


@frozen(field_transformer=checked)
class Knowledge(Record):
    """Hold what was inferred, and the ids of the facts it derives from."""

    id: str = ""
    content: str = ""
    derived_from: tuple[str, ...] = ()


@frozen(field_transformer=checked)
class Relationship(Record):
    """Hold that one entity is related to another; `from_` is ``from`` in JSON."""

    from_: str = ""
    to: str = ""
    type: str = ""


@frozen(field_transformer=checked)
class EnrichmentContext(Record):
    """Hold what is known."""

    facts: tuple[Fact, ...] = ()
    derived_knowledge: tuple[Knowledge, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    context_links: tuple[str, ...] = ()
