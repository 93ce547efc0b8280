from .block_rules import THINKING
from .messages import check, findings, hoist, options_in, parse, render
from .option_rules import BINDING_BETA, COMPACTION_BETA, EDITS
from .order_rules import MOST_MEDIA, Progress, refuse_first
from .request_rules import (
    GrowingList,
    check_head,
    check_messages,
    check_request,
    check_whole,
    judge_message,
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
    "judge_message",
    "options_in",
    "parse",
    "refuse_first",
    "render",
]
