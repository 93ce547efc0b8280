"""The namespace of health: errors, warnings, performance, validation reports (seed 002 §6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class ErrorReport(Record):
    """Hold what failed, at whom, when, and how badly."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    message: str = ""
    severity: str = ""
    details: Any = None


@frozen(field_transformer=checked)
class WarningReport(Record):
    """Hold what somebody should know of, though nothing failed (the seed's ``Warning``, which is Python's own name)."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    message: str = ""
    details: Any = None


@frozen(field_transformer=checked)
class AgentMetrics(Record):
    """Hold what one agent took: milliseconds, model calls, and where known tokens and US dollars."""

    duration_ms: int = 0
    llm_calls: int = 0
    status: str = ""
    tokens: int | None = None
    cost: float | None = None


@frozen(field_transformer=checked)
class PerformanceData(Record):
    """Hold milliseconds in all, and metrics by agent."""

    total_duration_ms: int = 0
    agent_metrics: Mapping[str, AgentMetrics] = EMPTY


@frozen(field_transformer=checked)
class ValidationReport(Record):
    """Hold whether a validation passed, what it found, and what would mend it."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    passed: bool = False
    issues: tuple[str, ...] = ()
    auto_fixes: tuple[str, ...] = ()


@frozen(field_transformer=checked)
class DiagnosticsContext(Record):
    """Hold how the agents fare."""

    errors: tuple[ErrorReport, ...] = ()
    warnings: tuple[WarningReport, ...] = ()
    performance: PerformanceData | None = None
    validation_reports: tuple[ValidationReport, ...] = ()
