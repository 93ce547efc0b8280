"""What a gist looks like: its frame, its allowance, and how it is made and recognised; and the outline of an attachment."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from polycontext.linearity import LinearityMap
from polycontext.window import Role, TokenCounter, Turn, count_turn
from polycontext.window.sources import Sources

if TYPE_CHECKING:
    from polycontext.window.items import Attachment, OutlineEntry

_CUT = "\n …"
HEADER = "[Summary of"
_SUMMARY_HEADER = re.compile(r"\[Summary of \d+ earlier messages?\]\n")
_DIGEST = "[Cut to its essentials; the full result is in the log]"
_RESULT_POINTER = "[Superseded: a later call with the same arguments has the current result]"
_ATTACHMENT_POINTER = "[Superseded: a later attachment has the current text of {}]"
_POINTER = re.compile("|".join((re.escape(_RESULT_POINTER), re.escape(_ATTACHMENT_POINTER).replace(r"\{\}", r"[^\n]+"))))

MIN_GIST_TOKENS = 40
"""Below this a gist could not even say what it stands for."""


def gist_allowance(tokens: int, cap: int) -> int:
    """Return how many tokens the gist of a block of `tokens` may take: a quarter, within [40, cap]."""
    return min(max(cap, MIN_GIST_TOKENS), max(MIN_GIST_TOKENS, tokens // 4))


def summary_text(body: str, count: int) -> str:
    r"""Frame the summary of `count` earlier messages; a user turn carries it, so that it is legal everywhere.

    >>> summary_text("user: booked UA100", 3)
    '[Summary of 3 earlier messages]\nuser: booked UA100'
    """
    return f"{HEADER} {count} earlier message{'' if count == 1 else 's'}]\n{body}"


def digest_text(body: str) -> str:
    """Frame what is left of a tool result whose call is kept."""
    return f"{_DIGEST}\n{body}"


def is_gist_text(text: str) -> bool:
    """Tell whether `text` is framed as a gist, as in a projection that comes back as input."""
    return _SUMMARY_HEADER.match(text) is not None or text.startswith(_DIGEST) or _POINTER.fullmatch(text) is not None


def summary_turn(text: str, sources: Sequence[Turn], ids: Sequence[str], resource_id: str) -> Turn:
    """Return the user turn that stands for `sources`, whose log ids are `ids`, one level above the highest of them."""
    level = max((turn.level + 1 for turn in sources if is_summary(turn)), default=0)
    return Turn(Role.USER, text, resource_id=resource_id, timestamp=sources[-1].timestamp, sources=ids, level=level)


def attachment_in(turn: Turn) -> "Attachment | None":
    """Return which item `turn` holds, if any; where no turn holds any, what knows of items is never loaded."""
    if not turn.metadata:
        return None
    from polycontext.window.items import attachment_of  # noqa: PLC0415

    return attachment_of(turn)


def pointer_turn(turn: Turn, resource_id: str) -> Turn:
    """Return the turn that stands for a superseded tool result or attachment."""
    attachment = attachment_in(turn)
    return Turn(
        turn.role,
        _RESULT_POINTER if attachment is None else _ATTACHMENT_POINTER.format(attachment.name),
        tool_call_id=turn.tool_call_id,
        name=turn.name,
        resource_id=resource_id,
        timestamp=turn.timestamp,
        sources=(turn.resource_id,),
    )


def source_ids(turn: Turn) -> Sequence[str]:
    """Return the ids of the turns of the log behind `turn`: its sources, or itself."""
    return turn.sources or (turn.resource_id,)


def all_source_ids(turns: Iterable[Turn], ledger: LinearityMap) -> Sequence[str]:
    """Return the ids of the turns of the log behind `turns` of a window with this `ledger`, each once, in the order of the log."""
    return Sources.joined(ledger, ((turn.resource_id, turn.sources) for turn in turns))


def is_summary(turn: Turn) -> bool:
    """Tell whether `turn` is a gist that stands alone (not a digest inside an atom)."""
    return turn.is_gist and turn.role is Role.USER


def outlined(turn: Turn, counter: TokenCounter) -> Turn:
    """Return what a summary of many turns should read instead of `turn`: the outline of an attachment that has one, else `turn` itself."""
    if attachment_in(turn) is None:
        return turn
    from polycontext.window.items import attached_outline  # noqa: PLC0415

    outline = attached_outline(turn)
    if not outline:
        return turn
    read = summary_turn(
        summary_text(next(shorter_outlines(attachment_head(turn), outline)), 1), [turn], (turn.resource_id,), turn.resource_id
    )
    return read.with_tokens(count_turn(counter, read))


def attachment_head(turn: Turn) -> str:
    """Return the line that names what `turn` attached."""
    attachment = attachment_in(turn)
    assert attachment is not None
    return f"attached {attachment.type} {attachment.name}:"


def shorter_outlines(head: str, outline: "Sequence[OutlineEntry]") -> Iterator[str]:
    """Yield ever shorter texts; lines below the head are set in, so that they stay one piece when gists are folded."""
    lines: list[str] = []
    for depth in range(max(entry.depth for entry in outline), -1, -1):
        lines = [f"\n {'  ' * entry.depth}{entry.text}" for entry in outline if entry.depth <= depth]
        yield head + "".join(lines)
    while lines := lines[: len(lines) * 7 // 8]:
        yield head + "".join(lines) + _CUT
