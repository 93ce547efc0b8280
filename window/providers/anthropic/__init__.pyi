from .block_rules import (
    MARK,
    THINKING,
    check_block,
    check_mark,
    limit_marks_beside,
    marks,
)
from .message_rules import (
    BLANK,
    EMPTY_TEXT,
    EXTRA,
    LIMITS,
    MARKED_EMPTY_TEXT,
    WHOLE,
    AnthropicPlace,
)
from .messages import hoist, parse
from .order_rules import Judge, mark_errors
from .versions import COMPACTION_BETA, EDITS, options_after
from .writer import Writer, define_tools

__all__ = [
    "BLANK",
    "COMPACTION_BETA",
    "EDITS",
    "EMPTY_TEXT",
    "EXTRA",
    "LIMITS",
    "MARK",
    "MARKED_EMPTY_TEXT",
    "THINKING",
    "WHOLE",
    "AnthropicPlace",
    "Judge",
    "Writer",
    "check_block",
    "check_mark",
    "define_tools",
    "hoist",
    "limit_marks_beside",
    "mark_errors",
    "marks",
    "options_after",
    "parse",
]
