from .errors import ConflictError, FloorError
from .fidelity import Fidelity, floor_of
from .fulfilment import AsyncSummariser, Fulfilment, Rejection, Summariser
from .gist import is_gist_text
from .ladder import Ladder
from .notes.summariser import ExtractiveSummariser
from .plan import GistJob, GistKind, Plan
from .projector import CompressionResult, ContextProjector
from .reach import Reach
from .threshold import AdaptiveThreshold, FixedThreshold, Signals, Threshold, is_looping, pressure_of
from .view import Edit, View, apply_edit, check_floors, fidelities_after, view_of

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
    "GistJob",
    "GistKind",
    "Ladder",
    "Plan",
    "Reach",
    "Rejection",
    "Signals",
    "Summariser",
    "Threshold",
    "View",
    "apply_edit",
    "check_floors",
    "fidelities_after",
    "floor_of",
    "is_gist_text",
    "is_looping",
    "pressure_of",
    "view_of",
]
