from .block_rules import THINKING, check_block, check_mark, marks
from .message_rules import BLANK, EMPTY_TEXT, EXTRA, MARKED_EMPTY_TEXT, WHOLE, AnthropicPlace
from .messages import (
    GrowingList,
    check_messages,
    hoist,
    judge_message,
    options_after,
    parse,
)
from .order_rules import (
    MOST_MEDIA,
    Progress,
    finish,
    judge_marks,
    judge_media,
    judge_places,
    refuse_first,
)
from .versions import BINDING_BETA, COMPACTION_BETA, EDITS
from .writer import Writer, define_tools

__all__ = [
    "BINDING_BETA",
    "BLANK",
    "COMPACTION_BETA",
    "EDITS",
    "EMPTY_TEXT",
    "EXTRA",
    "MARKED_EMPTY_TEXT",
    "MOST_MEDIA",
    "THINKING",
    "WHOLE",
    "AnthropicPlace",
    "GrowingList",
    "Progress",
    "Writer",
    "check_block",
    "check_mark",
    "check_messages",
    "define_tools",
    "finish",
    "hoist",
    "judge_marks",
    "judge_media",
    "judge_message",
    "judge_places",
    "marks",
    "options_after",
    "parse",
    "refuse_first",
]
