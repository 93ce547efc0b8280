"""The tables of a replay, for people who never saw the project: what happened step by step, what it comes to, how to read it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from attrs import define, field
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState

from .output import one_line, percent
from .recordings.report import Compressed, ReplayReport, ReplayStep, TurnRefused, TurnTaken, ranges
from .seen import excerpt, seen_table, tool_names

MOST_STEPS = 60
"""Steps shown of a long conversation, unless all are asked for: the ends, and what is worth a look."""

WIDE = 100
"""Columns from which on there is room to spare."""

_ENDS = 10
_SHORT_GAP = 3
_CELLS = 10
_STATES: dict[str, str] = {
    ContextState.EMPTY: "dim",
    ContextState.ACCUMULATING: "green",
    ContextState.PRESSURED: "red",
    ContextState.COMPRESSED: "blue",
}
_CLASSES = {ResourceClass.DROPPABLE: "dim", ResourceClass.REQUIRED: "", ResourceClass.PRESERVED: "bold"}


def replay_table(report: ReplayReport, *, show_all: bool, width: int) -> RenderableType:
    """Return the steps of a replay and its summary, for paper of `width` columns."""
    names = tool_names(report.steps)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _gap_for(width), 0, 0))
    for name in ("turn", "role", "class", "tokens", "pressure", "state"):
        table.add_column(name, justify="right" if name in ("turn", "tokens") else "left", no_wrap=True)
    table.add_column("what", ratio=1, overflow="fold")
    for row in _shown(report.steps, show_all=show_all):
        table.add_row(*_row(row, names))
    parts: list[RenderableType] = [
        table,
        "",
        seen_table(report, names, show_all=show_all),
        "",
        _summary(report),
        "",
        _reading(report),
    ]
    return Group(*parts)


@define
class Overview:
    """Collect one row a conversation, and the sums; the reports themselves are let go."""

    _rows: list[tuple[Text, ...]] = field(factory=list)
    _sums: list[int] = field(factory=lambda: [0] * 6)

    @property
    def count(self) -> int:
        """Return how many conversations were added."""
        return len(self._rows)

    def add(self, report: ReplayReport) -> None:
        """Add a replayed conversation."""
        delivered, undelivered = report.lists
        counts = (report.turns, len(report.refused), len(report.compressions), report.tokens_saved, delivered, delivered + undelivered)
        self._sums = [total + count for total, count in zip(self._sums, counts, strict=True)]
        pressure, state = report.session.pressure, report.session.state
        ends = (Text(percent(report.prefix_kept)), Text(percent(pressure)), Text(state, style=_STATES[state]))
        self._rows.append((Text(one_line(report.conversation.title)), *_counted(counts), *ends))

    def table(self, width: int) -> Table:
        """Return the rows as a table with the sums below, for paper of `width` columns."""
        gap = _gap_for(width)
        table = Table(box=None, header_style="bold", footer_style="bold", pad_edge=False, padding=(0, gap, 0, 0), show_footer=True)
        # What the other columns leave: the title may be cut, numbers may not.
        room = width - sum(max(7, len(name)) for name in _COUNTED) - _OVERVIEW_ENDS - gap * (len(_COUNTED) + 3)
        table.add_column("conversation", footer=f"{self.count} in all", overflow="ellipsis", no_wrap=True, max_width=max(12, room))
        for name, total in zip(_COUNTED, _counted(self._sums), strict=True):
            table.add_column(name, footer=total, justify="right", no_wrap=True)
        for name in ("kept", "pressure", "state"):
            table.add_column(name, justify="left" if name == "state" else "right", no_wrap=True)
        for row in self._rows:
            table.add_row(*row)
        table.caption, table.caption_justify = _COLUMNS, "left"
        return table


_COUNTED = ("turns", "refused", "compr.", "saved", "requests")
_COLUMNS = (
    "compr.: how often older messages were summarised or dropped; saved: tokens; requests: handed out (of those asked for); "
    "kept: share of each request that began the next one; pressure: how full the window is. --only N shows one step by step."
)
_OVERVIEW_ENDS = 5 + 8 + 12


def _counted(counts: Iterable[int]) -> tuple[Text, ...]:
    """Return the countable cells of the overview; of the lists that were asked for, all should have been delivered."""
    turns, refused, compressions, saved, delivered, asked = counts
    lists = Text(str(delivered)) if delivered == asked else Text(f"{delivered}/{asked}", style="red")
    marked = Text(str(refused), style="red" if refused else "")
    return (Text(str(turns)), marked, Text(str(compressions)), Text(str(saved)), lists)


def _gap_for(width: int) -> int:
    return 2 if width >= WIDE else 1


def _shown(steps: Sequence[ReplayStep], *, show_all: bool) -> Iterator[ReplayStep | int]:
    """Yield the steps to show, and how many are left out between them."""
    if show_all or len(steps) <= MOST_STEPS:
        yield from steps
        return
    ends = {*range(_ENDS), *range(len(steps) - _ENDS, len(steps))}
    notable = [index for index, step in enumerate(steps) if _is_notable(step) and index not in ends]
    chosen, last = sorted(ends | set(notable[: MOST_STEPS - len(ends)])), -1
    for index in chosen:
        between = steps[last + 1 : index]
        # A short gap is shown: it takes no more room than the line that would tell of it.
        yield from between if len(between) <= _SHORT_GAP else [len(between)]
        yield steps[index]
        last = index


def _is_notable(step: ReplayStep) -> bool:
    if isinstance(step, TurnTaken):
        return step.list_refused is not None
    return isinstance(step, TurnRefused) or step.saves


def _row(step: ReplayStep | int, names: Mapping[int, str]) -> tuple[Text, ...]:
    match step:
        case int():
            return (Text("⋯", style="dim"), *[Text("")] * 5, Text(f"{step} more steps; --all shows them", style="dim"))
        case TurnTaken():
            name, style = step.resource_class.name, _CLASSES[step.resource_class]
            head = (Text(str(step.number)), Text(step.turn.role), Text(name, style=style), Text(str(step.turn.tokens)))
            what = _remark(step, names)
        case Compressed():
            style = "blue" if step.saves else "dim"
            change = f"{step.tokens_after - step.tokens_before:+d}"
            head = (Text(""), Text("compress", style=style), Text(""), Text(change, style=style))
            what = Text(_yielded(step), style=style)
        case TurnRefused():
            head = (Text(str(step.number)), Text(step.turn.role), Text("refused", style="bold red"), Text(""))
            what = Text(one_line(step.reason), style="red")
        case _:
            assert_never(step)
    return (*head, _bar(step.pressure, step.state), Text(step.state, style=_STATES[step.state]), what)


def _remark(step: TurnTaken, names: Mapping[int, str]) -> Text:
    if step.list_refused is not None:
        return Text(f"no request: {one_line(step.list_refused)}", style="yellow")
    return Text(excerpt(step.turn, names.get(step.number)), no_wrap=True, overflow="ellipsis")


def _yielded(step: Compressed) -> str:
    parts = [f"{verb} {ranges(numbers)}" for verb, numbers in (("summarised", step.gisted), ("dropped", step.dropped)) if numbers]
    if not parts and step.saves:
        return "what was summarised before is shorter now"
    return "; ".join(parts) or "nothing may be shortened any more"


def _bar(pressure: float, state: str) -> Text:
    full = min(_CELLS, round(pressure * _CELLS))
    bar = Text("█" * full, style=_STATES[state])
    bar.append("░" * (_CELLS - full), style="dim")
    return bar.append(f" {percent(pressure):>5}", style=_STATES[state])


def _summary(report: ReplayReport) -> Table:
    grid = _grid()
    for name, text in _summary_lines(report):
        grid.add_row(name, text)
    return grid


def _grid() -> Table:
    return Table.grid(Column(style="bold", no_wrap=True), Column(), padding=(0, 2, 0, 0))


def _summary_lines(report: ReplayReport) -> Iterator[tuple[str, Text]]:
    summary = report.summary()
    yield "now", Text(_standing(report), style="yellow" if report.is_stuck else "green")
    yield "states", Text(" -> ").join(Text(state, style=_STATES[state]) for state in report.states)
    yield "compressions", Text(_compressions(summary))
    kept = f"{percent(report.prefix_kept)} of each request stood unchanged at the start of the next one: a provider's prompt cache can keep that"
    yield "prefix kept", Text("fewer than two requests" if report.prefix_kept is None else kept)
    yield "requests", Text(f"{summary['lists_delivered']} handed out, {summary['lists_refused']} refused")
    refused = Text(f"{summary['turns_refused']} of {report.turns} turns", style="red" if report.refused else "")
    yield "refused", refused.append("; stopped there" if report.stopped else "")
    if report.repaired:
        yield "repaired", Text(f"results added as turns {ranges(report.repaired)}")
    budget = f"{percent(report.session.pressure)} of {summary['max_tokens']} tokens (at most {percent(report.peak)} on the way)"
    yield "pressure", Text(budget)


def _standing(report: ReplayReport) -> str:
    """Return what the last state means for who goes on from there."""
    if report.is_stuck:
        return "PRESSURED and tight: nothing may be shortened any more, so further messages may be refused"
    meanings: dict[str, str] = {
        ContextState.EMPTY: "nothing was said yet",
        ContextState.ACCUMULATING: "fine, there is room for more",
        ContextState.PRESSURED: "fine, room is made before the next message goes in",
        ContextState.COMPRESSED: "fine, room was made and there is some for more",
    }
    return f"{report.session.state}: {meanings[report.session.state]}"


def _compressions(summary: dict[str, Any]) -> str:
    if not summary["compressions"]:
        return f"none needed for {summary['tokens_logged']} tokens"
    count, saved = summary["compressions"], summary["tokens_saved"]
    return f"{count}, which saved {saved} tokens: {summary['tokens_logged']} came in, the model sees {summary['tokens_in_view']}"


def _reading(report: ReplayReport) -> Table:
    """Return what the words of the table mean."""
    grid = Table.grid(Column(style="dim", no_wrap=True), Column(style="dim"), padding=(0, 2, 0, 0), expand=False)
    grid.title, grid.title_justify, grid.title_style = "how to read this", "left", "bold"
    grid.add_row("class", "PRESERVED stays word for word, REQUIRED may be summarised, DROPPABLE may go")
    grid.add_row("pressure", f"how full the window is: tokens used of {report.session.window.max_tokens}")
    states = "ACCUMULATING: there is room; PRESSURED: room is made before the next message; COMPRESSED: room was just made; none of them is an error"
    grid.add_row("state", states)
    grid.add_row("compress", "older messages are summarised or dropped; all of them stay in the log and can be recalled")
    return grid
