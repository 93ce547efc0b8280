"""What the model sees at the end of a replay: each message once, by itself or in a summary, and the summaries in full."""

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polycontext.window import Role, Turn

from .output import one_line
from .recordings.report import ReplayReport, ReplayStep, Shown, TurnTaken, ranges

MOST_LINES = 24
"""Lines shown of a summary, unless everything is asked for."""

MOST_ALONE = 12
"""Messages shown that stand word for word, unless everything is asked for: the first and the last of them."""

_EXCERPT = 160
_INDENT = 6


def tool_names(steps: Iterable[ReplayStep]) -> Mapping[int, str]:
    """Return which tool each result is of, by the result's number; ids of calls are used again, so the last call before it counts."""
    called: dict[str, str] = {}
    names: dict[int, str] = {}
    for step in steps:
        if isinstance(step, TurnTaken):
            called.update((call.id, call.name) for call in step.turn.tool_calls)
            if step.turn.role is Role.TOOL:
                names[step.number] = step.turn.name or called.get(step.turn.tool_call_id or "", "a tool")
    return names


def excerpt(turn: Turn, tool: str | None = None) -> str:
    """Return in one line how a turn begins, and what it calls; of a result, which `tool` it is of."""
    calls = ", ".join(f"{call.name}({call.arguments[:_EXCERPT]})" for call in turn.tool_calls)
    text = (turn.content or "")[: 2 * _EXCERPT]
    if tool is not None:
        text = f"{tool}: {text or 'nothing'}"
    return one_line(" ".join(part for part in (text, f"-> {calls}" if calls else "") if part))[:_EXCERPT]


def seen_table(report: ReplayReport, names: Mapping[int, str], *, show_all: bool) -> RenderableType:
    """Return the view after the last step, and what it lacks."""
    parts: list[RenderableType] = [Text("what the model sees now", style="bold")]
    alone = [shown for shown in report.seen if not shown.is_summary]
    # A single line that is left out would be no shorter than the line that tells of it.
    cut = not show_all and len(alone) > MOST_ALONE + 1
    hidden = alone[MOST_ALONE // 2 : -MOST_ALONE // 2] if cut else []
    for shown in report.seen:
        if shown not in hidden:
            parts += _told(shown, names, show_all=show_all)
        elif shown is hidden[0]:
            left_out = ranges(number for each in hidden for number in each.numbers)
            parts.append(Text(f"  {left_out}: word for word; --all shows them", style="dim"))
    if report.dropped:
        parts.append(Text(f"  dropped: {ranges(report.dropped)}", style="dim"))
    return Group(*parts)


def _told(shown: Shown, names: Mapping[int, str], *, show_all: bool) -> list[RenderableType]:
    turn, tool = shown.turn, names.get(shown.numbers[0])
    if not shown.is_summary:
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_row(
            Text(f"  {ranges(shown.numbers)}"), Text(turn.role, style="dim"), Text(excerpt(turn, tool), no_wrap=True, overflow="ellipsis")
        )
        return [row]
    what = f"{tool}'s answer, shortened" if turn.role is Role.TOOL else "one summary"
    lines = turn.text.splitlines()
    words = [Text(one_line(line)) for line in (lines if show_all else lines[:MOST_LINES])]
    if len(words) < len(lines):
        words.append(Text(f"⋯ {len(lines) - len(words)} more lines; --all shows them", style="dim"))
    head = Text(f"  {ranges(shown.numbers)}: {what} ({turn.tokens} tokens)", style="blue")
    return [head, Padding(Group(*words), (0, 0, 0, _INDENT))]
