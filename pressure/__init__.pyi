from . import cache, gist, native, schedule, threshold
from .edits import removal
from .excerpts import excerpt_of, pasted_spans
from .floors import check_floors, fidelities_after
from .fulfilment import Fulfilment, NativeGist, Offer, Reading, Rejection
from .gist import GistKind, is_summary
from .ladder import superseded_ids
from .notes.items import Section
from .notes.summariser import ExtractiveSummariser
from .plan import Plan, unbinding_plan, why_each_stays
from .projector import CompressionResult, ConflictError, ContextProjector
from .reach import Reach
from .summariser_protocol import (
    AsyncSummariser,
    RememberingSummariser,
    Summariser,
    default_summariser,
)
from .summary_usage import SummaryUsage, report_usage
from .threshold import (
    AdaptiveThreshold,
    FixedThreshold,
    Signals,
    Threshold,
    pressure_of,
)
from .view import (
    Edit,
    Fidelity,
    FloorError,
    View,
    apply_edit,
    floor_of,
    view_of,
)

__all__ = [
    "AdaptiveThreshold",
    "AsyncSummariser",
    "CompressionResult",
    "ConflictError",
    "ContextProjector",
    "Edit",
    "ExtractiveSummariser",
    "Fidelity",
    "FixedThreshold",
    "FloorError",
    "Fulfilment",
    "GistKind",
    "NativeGist",
    "Offer",
    "Plan",
    "Reach",
    "Reading",
    "Rejection",
    "RememberingSummariser",
    "Section",
    "Signals",
    "Summariser",
    "SummaryUsage",
    "Threshold",
    "View",
    "apply_edit",
    "cache",
    "check_floors",
    "default_summariser",
    "excerpt_of",
    "fidelities_after",
    "floor_of",
    "gist",
    "is_summary",
    "native",
    "pasted_spans",
    "pressure_of",
    "removal",
    "report_usage",
    "schedule",
    "superseded_ids",
    "threshold",
    "unbinding_plan",
    "view_of",
    "why_each_stays",
]
