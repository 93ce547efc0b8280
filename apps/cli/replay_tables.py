"""The tables of a replay: its steps, a summary, and a legend for readers new to the project."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.window import Role, Turn

from .output import one_line, percent, plain_table
from .recordings import Data, Replay, ranges, saves

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
_STATES: dict[str, tuple[str, str]] = {
    ContextState.EMPTY: ("dim", "no messages yet"),
    ContextState.ACCUMULATING: ("green", "there is room for more"),
    ContextState.PRESSURED: ("red", "compresses before the next message"),
    ContextState.COMPRESSED: ("blue", "there is room again, after a compression"),
}
"""The style of each state, and its meaning for a conversation that continues from there."""

_CLASSES = {
    ResourceClass.DROPPABLE.name: "dim",
    ResourceClass.REQUIRED.name: "",
    ResourceClass.PRESERVED.name: "bold",
}


OverviewRow = tuple[str, Sequence[int], Sequence[str]]
"""The title, the counts and the end of a conversation."""


def replay_table(replay: Replay, *, show_all: bool, width: int) -> RenderableType:
    """Return the steps of a replay and its summary, laid out for `width` columns."""
    names = _tool_names(replay.turns)
    columns = ("turn", "role", "class", "tokens", "pressure", "state")
    table = log_table(columns, 2 if width >= WIDE else 1)
    for step in _shown(replay.report["steps"], show_all=show_all):
        table.add_row(*_row(step, replay.turns, names))
    summary = legend_grid()
    for name, text in _summary(replay):
        summary.add_row(name, text)
    return Group(
        table,
        "",
        _seen(replay, names, show_all=show_all),
        "",
        summary,
        "",
        Text("how to read this", style="bold"),
        Text(READING, style="dim"),
    )


def overview_row(replay: Replay) -> OverviewRow:
    """Return the title, the counts and the end of a replayed conversation."""
    told = replay.report["summary"]
    delivered, undelivered = told["lists_delivered"], told["lists_refused"]
    counts = [told[name] for name in ("turns", "turns_refused", "compressions", "tokens_saved")]
    ends = percent(told["prefix_kept"]), percent(told["final_pressure"]), told["final_state"]
    title = replay.conversation.title[:_TITLE]
    return title, [*counts, delivered, delivered + undelivered], ends


def overview(rows: Sequence[OverviewRow]) -> Iterator[Sequence[str]]:
    """Yield the cells of the rows, then those of their sums."""
    for title, counts, ends in rows:
        yield (title, *_counted(counts), *ends)
    sums = [sum(each) for each in zip(*(counts for _, counts, _ in rows), strict=True)]
    yield (f"{len(rows)} in all", *_counted(sums), "", "", "")


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


def _shown(steps: Sequence[Data], *, show_all: bool) -> Iterator[Data | int]:
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


def _is_notable(step: Data) -> bool:
    is_compression = step["step"] == "compress"
    return saves(step) if is_compression else step["step"] == "refused" or "list_refused" in step


def _row(
    step: Data | int, turns: Sequence[Turn], names: Mapping[int, str]
) -> tuple[Text | str, ...]:
    if isinstance(step, int):
        return gap_row(f"{step} more steps; --all shows them")
    if step["step"] == "compress":
        style = "blue" if saves(step) else "dim"
        change = Text(f"{step['tokens_after'] - step['tokens_before']:+d}", style=style)
        what = Text(_yielded(step), style=style)
        return "", Text("compress", style=style), "", change, *_standing(step), what
    number = step["turn"]
    if step["step"] == "refused":
        kind, tokens = Text("refused", style="bold red"), ""
        what = Text(one_line(step["reason"]), style="red")
    else:
        kind, tokens = Text(step["class"], style=_CLASSES[step["class"]]), str(step["tokens"])
        what = excerpt(turns[number - 1], names.get(number))
        if "list_refused" in step:
            what = Text(f"no request: {one_line(step['list_refused'])}", style="yellow")
    return str(number), step["role"], kind, tokens, *_standing(step), what


def _yielded(step: Data) -> str:
    kinds = (("summarised", step["gisted"]), ("dropped", step["dropped"]))
    parts = [f"{verb} {ranges(numbers)}" for verb, numbers in kinds if numbers]
    if not parts and saves(step):
        return "what was summarised before is shorter now"
    return "; ".join(parts) or "nothing may be shortened any more"


def _standing(step: Data) -> tuple[Text, Text]:
    """Return a bar of the pressure after a step, and the state."""
    style, _ = _STATES[step["state"]]
    full = min(_CELLS, round(step["pressure"] * _CELLS))
    bar = Text("█" * full, style=style)
    bar.append("░" * (_CELLS - full), style="dim")
    return bar.append(f" {percent(step['pressure']):>5}", style=style), Text(step["state"], style)


def _summary(replay: Replay) -> Iterator[tuple[str, Text | str]]:
    told = replay.report["summary"]
    state, kept = told["final_state"], told["prefix_kept"]
    now = f"{state}: {_STATES[state][1]}"
    if replay.is_stuck:
        now = (
            "PRESSURED and full: nothing more can be compressed, so further messages may be refused"
        )
    yield "now", Text(now, style="yellow" if replay.is_stuck else "green")
    yield "states", Text(" -> ").join(Text(each, _STATES[each][0]) for each in told["states"])
    yield "compressions", _compressions(told)
    reused = (
        f"{percent(kept)} of each request was unchanged at the start of the "
        "next one, which a prompt cache can reuse"
    )
    yield "prefix kept", "fewer than two requests" if kept is None else reused
    yield (
        "requests",
        f"{told['lists_delivered']} could be sent, {told['lists_refused']} could not",
    )
    refused = f"{told['turns_refused']} of {told['turns']} messages"
    style = "red" if told["turns_refused"] else ""
    yield "refused", Text(refused + ("; stopped there" if told["stopped"] else ""), style=style)
    if told["results_repaired"]:
        yield "repaired", f"results added or moved: turns {ranges(told['results_repaired'])}"
    budget = (
        f"{percent(told['final_pressure'])} of {told['max_tokens']} tokens "
        f"(at most {percent(told['peak_pressure'])} on the way)"
    )
    yield "pressure", budget


def _compressions(summary: dict[str, Any]) -> str:
    if not summary["compressions"]:
        return f"none needed for {summary['tokens_logged']} tokens"
    return (
        "{compressions}, which saved {tokens_saved} tokens: {tokens_logged} received, "
        "the model sees {tokens_in_view}"
    ).format_map(summary)


# --- the view after the last step ------------------------------------------


def _tool_names(turns: Sequence[Turn]) -> Mapping[int, str]:
    """Return the tool name of each result, by the result's number.

    Call ids may be reused, so the most recent call with an id counts.
    """
    called: dict[str, str] = {}
    names: dict[int, str] = {}
    for number, turn in enumerate(turns, 1):
        called.update((call.id, call.name) for call in turn.tool_calls)
        if turn.role is Role.TOOL:
            names[number] = turn.name or called.get(turn.tool_call_id or "", "a tool")
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


def _seen(replay: Replay, names: Mapping[int, str], *, show_all: bool) -> RenderableType:
    """Return the view after the last step, and the turns dropped from it."""
    parts: list[RenderableType] = [Text("what the model sees now", style="bold")]
    seen, dropped = replay.report["seen"], replay.report["dropped"]
    alone = [each for each in seen if not each["summary"]]
    # Hiding a single line would save nothing: the line that replaces it is as long.
    cut = not show_all and len(alone) > MOST_ALONE + 1
    hidden = alone[MOST_ALONE // 2 : -MOST_ALONE // 2] if cut else []
    for each in seen:
        if each in hidden:
            if each is hidden[0]:
                left_out = ranges(number for one in hidden for number in one["turns"])
                parts.append(Text(f"  {left_out}: word for word; --all shows them", style="dim"))
        elif each["summary"]:
            parts += _summarised(each, names, show_all=show_all)
        else:
            [number] = each["turns"]
            row = Table.grid(padding=(0, 1, 0, 0))
            words = excerpt(replay.turns[number - 1], names.get(number))
            row.add_row(f"  {number}", Text(each["role"], style="dim"), words)
            parts.append(row)
    if dropped:
        parts.append(Text(f"  dropped: {ranges(dropped)}", style="dim"))
    return Group(*parts)


def _summarised(seen: Data, names: Mapping[int, str], *, show_all: bool) -> list[RenderableType]:
    tool = names.get(seen["turns"][0])
    what = f"{tool}'s answer, shortened" if seen["role"] == Role.TOOL else "one summary"
    lines = seen["text"].splitlines()
    words = [Text(one_line(line)) for line in (lines if show_all else lines[:MOST_LINES])]
    if len(words) < len(lines):
        words.append(Text(f"⋯ {len(lines) - len(words)} more lines; --all shows them", style="dim"))
    head = Text(f"  {ranges(seen['turns'])}: {what} ({seen['tokens']} tokens)", style="blue")
    return [head, Padding(Group(*words), (0, 0, 0, _INDENT))]
