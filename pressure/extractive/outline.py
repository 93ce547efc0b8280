"""What stays of an attachment at GIST: what it was, its name and lines, and the names it defines."""

from collections.abc import Iterator, Sequence

from polycontext.pressure.extractive.clip import clip
from polycontext.pressure.extractive.extractive_summariser import ExtractiveSummariser
from polycontext.pressure.gist import summary_text, summary_turn
from polycontext.window import Role, TokenCounter, Turn, count_turn
from polycontext.window.items import OutlineEntry, attached_outline, attachment_of, fenced_text

_EXTRACTIVE = ExtractiveSummariser()
_CUT = "\n …"


def outline_body(turn: Turn, max_tokens: int, counter: TokenCounter) -> str:
    """Return name, lines and outline of what `turn` attached, within `max_tokens`; what defines no names is summarised.

    Where not all fits, what stands inside of something else goes first, then the end.
    """
    head, outline = _head(turn), attached_outline(turn)
    if not outline:
        return _summarised(turn, head, max_tokens, counter)
    fitting = (text for text in _shorter(head, outline) if counter.count(text) <= max_tokens)
    return next(fitting, None) or clip(head, max_tokens, counter)


def outlined(turn: Turn, counter: TokenCounter) -> Turn:
    """Return what a summary of many turns should read instead of `turn`: the outline of an attachment that has one, else `turn` itself."""
    outline = attached_outline(turn)
    if not outline:
        return turn
    read = summary_turn(summary_text(next(_shorter(_head(turn), outline)), 1), [turn], (turn.resource_id,), turn.resource_id)
    return read.with_tokens(count_turn(counter, read))


def _head(turn: Turn) -> str:
    attachment = attachment_of(turn)
    assert attachment is not None
    return f"attached {attachment.type} {attachment.name}:"


def _shorter(head: str, outline: Sequence[OutlineEntry]) -> Iterator[str]:
    """Yield ever shorter texts; lines below the head are set in, so that they stay one piece when gists are folded."""
    lines: list[str] = []
    for depth in range(max(entry.depth for entry in outline), -1, -1):
        lines = [f"\n {'  ' * entry.depth}{entry.text}" for entry in outline if entry.depth <= depth]
        yield head + "".join(lines)
    while lines := lines[: len(lines) * 7 // 8]:
        yield head + "".join(lines) + _CUT


def _summarised(turn: Turn, head: str, max_tokens: int, counter: TokenCounter) -> str:
    # As a lone result, so that nobody is said to have spoken it.
    content = Turn(Role.TOOL, fenced_text(turn.text)[1], tool_call_id=turn.resource_id)
    room = max_tokens - counter.count(f"{head}\n ")
    body = _EXTRACTIVE.summarise([content], room, counter=counter)
    return f"{head}\n {body}" if body else clip(head, max_tokens, counter)
