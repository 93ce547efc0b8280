from . import json_patch, receipts, rows, snapshots, source_ranges, timeline
from .conversation import replayed
from .events import (
    ERASED,
    ClearEvent,
    CompressEvent,
    EraseEvent,
    Event,
    MoveEvent,
    PatchEvent,
    RewindEvent,
    TurnEvent,
    is_erased,
)
from .json_patch import patched
from .receipts import CompressionReceipt, receipt_schema
from .remaking import Verdict
from .rows import event_from_json, event_to_json
from .source_ranges import with_sources
from .spending import SPENT, Spent, spent_in

__all__ = [
    "ERASED",
    "SPENT",
    "ClearEvent",
    "CompressEvent",
    "CompressionReceipt",
    "EraseEvent",
    "Event",
    "MoveEvent",
    "PatchEvent",
    "RewindEvent",
    "Spent",
    "TurnEvent",
    "Verdict",
    "event_from_json",
    "event_to_json",
    "is_erased",
    "json_patch",
    "patched",
    "receipt_schema",
    "receipts",
    "replayed",
    "rows",
    "snapshots",
    "source_ranges",
    "spent_in",
    "timeline",
    "with_sources",
]
