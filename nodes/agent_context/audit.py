"""The namespace of the trail: who ran, and what it changed (seed 002 §7)."""

from datetime import datetime

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._kinds import Changes
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class AgentRun(Record):
    """Hold one execution of an agent: start, outcome, milliseconds, the keys it wrote, and the error if it failed."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    status: str = ""
    duration_ms: int = 0
    keys_written: tuple[str, ...] = ()
    error: str = ""


@frozen(field_transformer=checked)
class ContextDiff(Record):
    """Hold what an agent changed, by namespace; `ContextPatch` writes and reads the changes."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    changes: Changes = EMPTY


@frozen(field_transformer=checked)
class AuditContext(Record):
    """Hold what happened."""

    agent_runs: tuple[AgentRun, ...] = ()
    diffs: tuple[ContextDiff, ...] = ()
