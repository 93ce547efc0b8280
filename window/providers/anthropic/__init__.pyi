from .block_rules import THINKING
from .messages import check, findings, hoist, options_in, parse, render
from .order_rules import MOST_MEDIA, Progress, refuse_first
from .request_rules import (
    BINDING_BETA,
    COMPACTION_BETA,
    EDITS,
    GrowingList,
    check_head,
    check_messages,
    check_request,
    check_whole,
    judged_one,
)
from .versions import NEWEST, check_version
from .writer import Writer

__all__ = [
    "BINDING_BETA",
    "COMPACTION_BETA",
    "EDITS",
    "MOST_MEDIA",
    "NEWEST",
    "THINKING",
    "GrowingList",
    "Progress",
    "Writer",
    "check",
    "check_head",
    "check_messages",
    "check_request",
    "check_version",
    "check_whole",
    "findings",
    "hoist",
    "judged_one",
    "options_in",
    "parse",
    "refuse_first",
    "render",
]
