from . import cache, gist, native, schedule, threshold
from .edits import removal
from .floors import check_floors, fidelities_after
from .fulfilment import Fulfilment, NativeGist, Offer, Reading, Rejection
from .gist import GistKind, is_summary
from .ladder import Ladder, superseded_ids
from .notes.summariser import ExtractiveSummariser
from .plan import Plan, plan_at, unbinding_plan
from .projector import CompressionResult, ConflictError, ContextProjector
from .reach import Reach
from .summariser_protocol import (
    AsyncSummariser,
    RememberingSummariser,
    Summariser,
    default_summariser,
)
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
    "Ladder",
    "NativeGist",
    "Offer",
    "Plan",
    "Reach",
    "Reading",
    "Rejection",
    "RememberingSummariser",
    "Signals",
    "Summariser",
    "Threshold",
    "View",
    "apply_edit",
    "cache",
    "check_floors",
    "default_summariser",
    "fidelities_after",
    "floor_of",
    "gist",
    "is_summary",
    "native",
    "plan_at",
    "pressure_of",
    "removal",
    "schedule",
    "superseded_ids",
    "threshold",
    "unbinding_plan",
    "view_of",
]
