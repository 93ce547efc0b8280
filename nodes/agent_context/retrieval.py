"""The namespace of retrieval: plans, queries, artifacts (seed 002 §4)."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._record import Record, checked
from polycontext.nodes.agent_context.errors import ContextFormatError


@frozen(field_transformer=checked)
class RetrievalPlan(Record):
    """Hold what shall be retrieved, from where, and how urgently."""

    id: str = ""
    description: str = ""
    sources: tuple[str, ...] = ()
    filters: Mapping[str, Any] = EMPTY
    priority: int = 0


@frozen(field_transformer=checked)
class Query(Record):
    """Hold a query and what it returned: any JSON data."""

    id: str = ""
    query_string: str = ""
    source: str = ""
    filters: Mapping[str, Any] = EMPTY
    results: Any = None


@frozen(field_transformer=checked)
class ExternalContent(Record):
    """Say where the content of an artifact was moved: its place, its SHA-256 in hex, its size in bytes."""

    uri: str = ""
    sha256: str = ""
    size: int = 0


@frozen(field_transformer=checked)
class Artifact(Record):
    """Hold something retrieved: its content inline, or in `external` where it was moved."""

    id: str = ""
    type: str = ""
    content: Any = None
    source: str = ""
    external: ExternalContent | None = None

    def __attrs_post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse content that is inline and outside."""
        if self.external is not None and self.content is not None:
            raise ContextFormatError("external", "the content is inline as well", "content or external, not both")


@frozen(field_transformer=checked)
class RetrievalContext(Record):
    """Hold what is retrieved, and what was."""

    plans: tuple[RetrievalPlan, ...] = ()
    queries: tuple[Query, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
