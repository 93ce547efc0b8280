"""The namespace of who and when: session, trace, creation, locale (seed 002 §1)."""

from datetime import datetime

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class MetadataContext(Record):
    """Hold what identifies a context; only `locale` is meant to change."""

    session_id: str = ""
    trace_id: str = ""
    created_at: datetime = UNIX_EPOCH
    locale: str = ""
