from . import json_patch, receipts, rows, snapshots, source_ranges, timeline
from .conversation import Conversation, replay, replayed
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
    standing,
)
from .json_patch import patched
from .receipts import CompressionReceipt, receipt_of, receipt_schema
from .remaking import Checked, Verdict, check_compressions
from .rows import event_from_json, event_to_json
from .source_ranges import with_sources
from .spending import SPENT, Spent, spent_in

__all__ = [
    "ERASED",
    "SPENT",
    "Checked",
    "ClearEvent",
    "CompressEvent",
    "CompressionReceipt",
    "Conversation",
    "EraseEvent",
    "Event",
    "MoveEvent",
    "PatchEvent",
    "RewindEvent",
    "Spent",
    "TurnEvent",
    "Verdict",
    "check_compressions",
    "event_from_json",
    "event_to_json",
    "is_erased",
    "json_patch",
    "patched",
    "receipt_of",
    "receipt_schema",
    "receipts",
    "replay",
    "replayed",
    "rows",
    "snapshots",
    "source_ranges",
    "spent_in",
    "standing",
    "timeline",
    "with_sources",
]
