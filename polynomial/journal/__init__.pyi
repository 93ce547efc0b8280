from . import json_patch, rows, snapshots, source_ranges
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
from .rows import event_from_json, event_to_json
from .source_ranges import with_sources

__all__ = [
    "ERASED",
    "ClearEvent",
    "CompressEvent",
    "Conversation",
    "EraseEvent",
    "Event",
    "MoveEvent",
    "PatchEvent",
    "RewindEvent",
    "TurnEvent",
    "event_from_json",
    "event_to_json",
    "is_erased",
    "json_patch",
    "patched",
    "replay",
    "replayed",
    "rows",
    "snapshots",
    "source_ranges",
    "standing",
    "with_sources",
]
