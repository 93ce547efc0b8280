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
from .messages import (
    check_messages,
    hoist,
    judge_message,
    parse,
)
from .order_rules import (
    Progress,
    finish,
    judge_marks,
    judge_places,
)
from .versions import BINDING_BETA, COMPACTION_BETA, EDITS, options_after
from .writer import Writer, define_tools

__all__ = [
    "BINDING_BETA",
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
    "Progress",
    "Writer",
    "check_block",
    "check_mark",
    "check_messages",
    "define_tools",
    "finish",
    "hoist",
    "judge_marks",
    "judge_message",
    "judge_places",
    "limit_marks_beside",
    "marks",
    "options_after",
    "parse",
]
