from .messages import check, hoist, options_in, parse, render
from .order_rules import MOST_MEDIA, Progress, refuse_first
from .request_rules import BINDING_BETA, COMPACTION_BETA, EDITS, check_head, check_whole, judged_one
from .versions import NEWEST, check_version

__all__ = [
    "BINDING_BETA",
    "COMPACTION_BETA",
    "EDITS",
    "MOST_MEDIA",
    "NEWEST",
    "Progress",
    "check",
    "check_head",
    "check_version",
    "check_whole",
    "hoist",
    "judged_one",
    "options_in",
    "parse",
    "refuse_first",
    "render",
]
