"""The tables of a replay: its steps, a summary, and a legend for readers new to the project."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from attrs import define, field
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.window import Role, Turn

from .output import one_line, percent, plain_table
from .recordings.report import (
    Compressed,
    ReplayReport,
    ReplayStep,
    Shown,
    TurnRefused,
    TurnTaken,
    ranges,
)

MOST_STEPS = 60
"""Steps shown of a long conversation without `--all`: the first, the last, and the notable ones
between."""

MOST_LINES = 24
"""Lines shown of a summary without `--all`."""

MOST_ALONE = 12
"""Verbatim messages shown without `--all`: the first and the last of them."""

_EXCERPT = 160
_INDENT = 6

WIDE = 100
"""Width, in columns, from which a table uses wider gaps."""

READING = """\
class     PRESERVED is kept verbatim, REQUIRED may be summarised, DROPPABLE may be dropped
pressure  how full the window is
state     ACCUMULATING: there is room; PRESSURED: compresses before the next message;
          COMPRESSED: just compressed; none of these is an error
compress  older messages are summarised or dropped; the log keeps all of them"""
"""The legend of the table."""

_ENDS = 10
_SHORT_GAP = 3
_CELLS = 10
_STATES: dict[str, str] = {
    ContextState.EMPTY: "dim",
    ContextState.ACCUMULATING: "green",
    ContextState.PRESSURED: "red",
    ContextState.COMPRESSED: "blue",
}
_CLASSES = {
    ResourceClass.DROPPABLE: "dim",
    ResourceClass.REQUIRED: "",
    ResourceClass.PRESERVED: "bold",
}


def replay_table(report: ReplayReport, *, show_all: bool, width: int) -> RenderableType:
    """Return the steps of a replay and its summary, laid out for `width` columns."""
    names = tool_names(report.steps)
    columns = ("turn", "role", "class", "tokens", "pressure", "state")
    table = log_table(columns, 2 if width >= WIDE else 1)
    for row in _shown(report.steps, show_all=show_all):
        table.add_row(*_row(row, names))
    summary = legend_grid()
    for name, text in _summary(report):
        summary.add_row(name, text)
    return Group(
        table,
        "",
        seen_table(report, names, show_all=show_all),
        "",
        summary,
        "",
        Text("how to read this", style="bold"),
        Text(READING, style="dim"),
    )


@define
class Overview:
    """A table with one row for each conversation and a row of sums.

    The reports themselves are not kept.
    """

    rows: list[Sequence[str]] = field(factory=list)
    _sums: list[int] = field(factory=lambda: [0] * 6)

    def add(self, report: ReplayReport) -> None:
        """Add a replayed conversation."""
        delivered, undelivered = report.lists
        refused, compressions = len(report.refused), len(report.compressions)
        requests = (delivered, delivered + undelivered)
        counts = (report.turns, refused, compressions, report.tokens_saved, *requests)
        self._sums = [total + count for total, count in zip(self._sums, counts, strict=True)]
        session, title = report.session, report.conversation.title[:_TITLE]
        ends = (percent(report.prefix_kept), percent(session.pressure), session.state)
        self.rows.append((title, *_counted(counts), *ends))

    def all_rows(self) -> Iterator[Sequence[str]]:
        """Yield the rows, then the sums."""
        yield from self.rows
        yield (f"{len(self.rows)} in all", *_counted(self._sums), "", "", "")


COLUMNS = (
    *("conversation", "turns", "refused", "compr.", "saved", "requests"),
    *("kept", "pressure", "state"),
)
LEGEND = """\
compr.: how often messages were summarised or dropped; saved: tokens; requests: sent;
kept: share of each request that began the next one; pressure: how full the window is.
--only N shows one step by step.
"""
"""The legend of the overview's columns."""
_TITLE = 24


def _counted(counts: Sequence[int]) -> Sequence[str]:
    """Return a row's counts as text.

    Requests show how many were delivered; if any were refused, also how many were due.
    """
    *others, delivered, asked = map(str, counts)
    return (*others, delivered if delivered == asked else f"{delivered}/{asked}")


def _shown(steps: Sequence[ReplayStep], *, show_all: bool) -> Iterator[ReplayStep | int]:
    """Yield the steps to show, and the number of steps left out of each gap between them."""
    if show_all or len(steps) <= MOST_STEPS:
        yield from steps
        return
    ends = {*range(_ENDS), *range(len(steps) - _ENDS, len(steps))}
    notable = [index for index, step in enumerate(steps) if _is_notable(step) and index not in ends]
    chosen, last = sorted(ends | set(notable[: MOST_STEPS - len(ends)])), -1
    for index in chosen:
        between = steps[last + 1 : index]
        # A short gap is shown in full: it takes no more room than the line that replaces it.
        yield from between if len(between) <= _SHORT_GAP else [len(between)]
        yield steps[index]
        last = index


def _is_notable(step: ReplayStep) -> bool:
    if isinstance(step, TurnTaken):
        return step.list_refused is not None
    return isinstance(step, TurnRefused) or step.saves


def _row(step: ReplayStep | int, names: Mapping[int, str]) -> tuple[Text | str, ...]:
    head: tuple[Text | str, ...]
    match step:
        case int():
            return gap_row(f"{step} more steps; --all shows them")
        case TurnTaken():
            name, style = step.resource_class.name, _CLASSES[step.resource_class]
            text = Text(name, style=style)
            head = (str(step.number), step.turn.role, text, str(step.turn.tokens))
            what = _remark(step, names)
        case Compressed():
            style = "blue" if step.saves else "dim"
            change = f"{step.tokens_after - step.tokens_before:+d}"
            head = ("", Text("compress", style=style), "", Text(change, style=style))
            what = Text(_yielded(step), style=style)
        case TurnRefused():
            text = Text("refused", style="bold red")
            head = (str(step.number), step.turn.role, text, "")
            what = Text(one_line(step.reason), style="red")
        case _:
            assert_never(step)
    state = Text(step.state, style=_STATES[step.state])
    return *head, _bar(step.pressure, step.state), state, what


def _remark(step: TurnTaken, names: Mapping[int, str]) -> Text:
    if step.list_refused is not None:
        return Text(f"no request: {one_line(step.list_refused)}", style="yellow")
    return excerpt(step.turn, names.get(step.number))


def _yielded(step: Compressed) -> str:
    kinds = (("summarised", step.gisted), ("dropped", step.dropped))
    parts = [f"{verb} {ranges(numbers)}" for verb, numbers in kinds if numbers]
    if not parts and step.saves:
        return "what was summarised before is shorter now"
    return "; ".join(parts) or "nothing may be shortened any more"


def _bar(pressure: float, state: str) -> Text:
    full = min(_CELLS, round(pressure * _CELLS))
    bar = Text("█" * full, style=_STATES[state])
    bar.append("░" * (_CELLS - full), style="dim")
    return bar.append(f" {percent(pressure):>5}", style=_STATES[state])


def _summary(report: ReplayReport) -> Iterator[tuple[str, Text | str]]:
    summary = report.summary()
    yield "now", Text(_standing(report), style="yellow" if report.is_stuck else "green")
    yield "states", Text(" -> ").join(Text(state, style=_STATES[state]) for state in report.states)
    yield "compressions", _compressions(summary)
    kept = (
        f"{percent(report.prefix_kept)} of each request was unchanged at the start of the "
        "next one, which a prompt cache can reuse"
    )
    yield "prefix kept", "fewer than two requests" if report.prefix_kept is None else kept
    delivered, undelivered = report.lists
    yield "requests", f"{delivered} could be sent, {undelivered} could not"
    refused = f"{len(report.refused)} of {report.turns} messages"
    style = "red" if report.refused else ""
    yield "refused", Text(refused + ("; stopped there" if report.stopped else ""), style=style)
    if report.repaired:
        yield "repaired", f"results added or moved: turns {ranges(report.repaired)}"
    budget = (
        f"{percent(report.session.pressure)} of {summary['max_tokens']} tokens "
        f"(at most {percent(report.peak)} on the way)"
    )
    yield "pressure", budget


def _standing(report: ReplayReport) -> str:
    """Return what the last state means for a conversation that continues from there."""
    if report.is_stuck:
        return (
            "PRESSURED and full: nothing more can be compressed, so further messages may be refused"
        )
    meanings: dict[str, str] = {
        ContextState.EMPTY: "no messages yet",
        ContextState.ACCUMULATING: "there is room for more",
        ContextState.PRESSURED: "compresses before the next message",
        ContextState.COMPRESSED: "there is room again, after a compression",
    }
    return f"{report.session.state}: {meanings[report.session.state]}"


def _compressions(summary: dict[str, Any]) -> str:
    if not summary["compressions"]:
        return f"none needed for {summary['tokens_logged']} tokens"
    return (
        "{compressions}, which saved {tokens_saved} tokens: {tokens_logged} received, "
        "the model sees {tokens_in_view}"
    ).format_map(summary)


# --- the view after the last step ------------------------------------------


def tool_names(steps: Iterable[ReplayStep]) -> Mapping[int, str]:
    """Return the tool name of each result, by the result's number.

    Call ids may be reused, so the most recent call with an id counts.
    """
    called: dict[str, str] = {}
    names: dict[int, str] = {}
    for step in steps:
        if isinstance(step, TurnTaken):
            called.update((call.id, call.name) for call in step.turn.tool_calls)
            if step.turn.role is Role.TOOL:
                names[step.number] = step.turn.name or called.get(
                    step.turn.tool_call_id or "", "a tool"
                )
    return names


def log_table(columns: Sequence[str], gap: int) -> Table:
    """Return a table with one row for each turn; the text takes the width that is left."""
    table = plain_table(gap)
    for name in columns:
        table.add_column(
            name, justify="right" if name in ("turn", "tokens") else "left", no_wrap=True
        )
    table.add_column("what", ratio=1, overflow="fold")
    return table


def gap_row(what: str) -> tuple[Text, ...]:
    """Return the row that says what was left out of a log."""
    return Text("⋯", style="dim"), *[Text("")] * 5, Text(what, style="dim")


def legend_grid() -> Table:
    """Return a grid of names and their descriptions."""
    return Table.grid(Column(style="bold", no_wrap=True), Column(), padding=(0, 2, 0, 0))


def excerpt(turn: Turn, tool: str | None = None) -> Text:
    """Return the start of a turn and its calls on one line; a result names its tool first."""
    calls = ", ".join(f"{call.name}({call.arguments[:_EXCERPT]})" for call in turn.tool_calls)
    text = (turn.content or "")[: 2 * _EXCERPT]
    if tool is not None:
        text = f"{tool}: {text or 'nothing'}"
    parts = filter(None, (text, calls and f"-> {calls}"))
    return Text(one_line(" ".join(parts))[:_EXCERPT], no_wrap=True, overflow="ellipsis")


def seen_table(report: ReplayReport, names: Mapping[int, str], *, show_all: bool) -> RenderableType:
    """Return the view after the last step, and the turns dropped from it."""
    parts: list[RenderableType] = [Text("what the model sees now", style="bold")]
    alone = [shown for shown in report.seen if not shown.is_summary]
    # Hiding a single line would save nothing: the line that replaces it is as long.
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
        row.add_row(f"  {ranges(shown.numbers)}", Text(turn.role, style="dim"), excerpt(turn, tool))
        return [row]
    what = f"{tool}'s answer, shortened" if turn.role is Role.TOOL else "one summary"
    lines = turn.text.splitlines()
    words = [Text(one_line(line)) for line in (lines if show_all else lines[:MOST_LINES])]
    if len(words) < len(lines):
        words.append(Text(f"⋯ {len(lines) - len(words)} more lines; --all shows them", style="dim"))
    head = Text(f"  {ranges(shown.numbers)}: {what} ({turn.tokens} tokens)", style="blue")
    return [head, Padding(Group(*words), (0, 0, 0, _INDENT))]
