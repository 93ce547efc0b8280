"""How does it yield? Fidelity, plans, the projector, thresholds, summarisers."""

from typing import TYPE_CHECKING

import lazy_loader

from polycontext.pressure.errors import ConflictError, FloorError
from polycontext.pressure.fidelity import Fidelity, floor_of
from polycontext.pressure.fulfilment import AsyncSummariser, Fulfilment, Rejection, Summariser
from polycontext.pressure.gist import is_gist_text
from polycontext.pressure.ladder import Ladder
from polycontext.pressure.plan import GistJob, GistKind, Plan
from polycontext.pressure.projector import CompressionResult, ContextProjector
from polycontext.pressure.reach import Reach
from polycontext.pressure.threshold import (
    NO_SIGNALS,
    AdaptiveThreshold,
    FixedThreshold,
    Signals,
    Threshold,
    is_looping,
    pressure_of,
    tokens_at,
)
from polycontext.pressure.view import Edit, View, apply_edit, check_floors, fidelities_after, view_of

if TYPE_CHECKING:
    from polycontext.pressure.extractive.summariser import ExtractiveSummariser

__all__ = [
    "NO_SIGNALS",
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
    "tokens_at",
    "view_of",
]

__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs={"extractive.summariser": ["ExtractiveSummariser"]})
