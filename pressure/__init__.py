"""How does it yield? Fidelity, plans, the projector, thresholds, summarisers."""

from polycontext.pressure.errors import ConflictError, FloorError, TargetError
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.pressure.fidelity import Fidelity, floor_of
from polycontext.pressure.fulfilment import AsyncSummariser, Fulfilment, Rejection, Summariser
from polycontext.pressure.gist import is_gist_text
from polycontext.pressure.ladder import Ladder
from polycontext.pressure.plan import GistJob, GistKind, Plan, plan_at
from polycontext.pressure.projector import CompressionResult, ContextProjector
from polycontext.pressure.reach import Reach, ReachError
from polycontext.pressure.threshold import (
    NO_SIGNALS,
    AdaptiveThreshold,
    FixedThreshold,
    Signals,
    Threshold,
    ThresholdError,
    is_looping,
    pressure_of,
    tokens_at,
)
from polycontext.pressure.view import DifferentLogsError, Edit, View, apply_edit, compress_view, expand_view, view_of

__all__ = [
    "NO_SIGNALS",
    "AdaptiveThreshold",
    "AsyncSummariser",
    "CompressionResult",
    "ConflictError",
    "ContextProjector",
    "DifferentLogsError",
    "Edit",
    "ExtractiveSummariser",
    "Fidelity",
    "FixedThreshold",
    "FloorError",
    "Fulfilment",
    "GistJob",
    "GistKind",
    "Ladder",
    "Plan",
    "Reach",
    "ReachError",
    "Rejection",
    "Signals",
    "Summariser",
    "TargetError",
    "Threshold",
    "ThresholdError",
    "View",
    "apply_edit",
    "compress_view",
    "expand_view",
    "floor_of",
    "is_gist_text",
    "is_looping",
    "plan_at",
    "pressure_of",
    "tokens_at",
    "view_of",
]
