"""The text that `polycontext session show` prints.

It shows what fills the window, the fate of each message, and where shortened text can be found.
"""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from polycontext.linearity import ResourceClass
from polycontext.nodes.fates import Fate, Now, fates
from polycontext.nodes.waffles import Portion, Waffle, waffle
from polycontext.polynomial import ContextSession
from polycontext.pressure import Fidelity

from ..errors import command_line
from ..output import one_line
from ..replay_tables import excerpt, gap_row, legend_grid, log_table
from .standing import calls_line, listed, standing, standing_line, usage

MOST_TURNS = 40
"""Messages shown of a long conversation without `--all`: the first few and the last."""

_FIRST = 8
_ROWS, _MOST_COLUMNS = 10, 20
_NARROW = 50
"""Width, in columns, below which a table would break its words."""
_FREE, _RESERVED, _TOOLS = ("░", "."), ("▫", "o"), ("▪", "t")
_LOOKS = {
    (ResourceClass.PRESERVED, Fidelity.VERBATIM): ("█", "#", "green"),
    (ResourceClass.REQUIRED, Fidelity.VERBATIM): ("▓", "=", "cyan"),
    (ResourceClass.DROPPABLE, Fidelity.VERBATIM): ("▞", "-", "yellow"),
}
_GIST = ("▒", "~", "blue")
_LETTERS = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}
_STYLES = {
    Now.WHOLE: "",
    Now.OLD: "dim",
    Now.LESS: "cyan",
    Now.DROPPED: "red",
    Now.FORGOTTEN: "dim",
    Now.EXPIRED: "dim",
}
_LOST = (Now.SUMMARISED, Now.CUT, Now.POINTED, Now.LESS, Now.DROPPED)
_GONE = (Now.FORGOTTEN, Now.EXPIRED)


def page(session: ContextSession, *, show_all: bool, width: int) -> RenderableType:
    """Return the page of a session, laid out for `width` columns."""
    told, turns = standing(session), list(fates(session))
    parts: list[RenderableType] = [
        Text(one_line(standing_line(told)), style="bold"),
        "",
        filled(waffle(session), width),
    ]
    if turns:
        parts += ["", _table(turns, show_all=show_all)]
    parts += _lost(turns, session.session_id, show_all=show_all)
    if told["open_calls"]:
        parts += ["", Text(one_line(calls_line(told)), style="yellow")]
    return Group(*parts)


# --- what fills the window ----------------------------------------------------------------------


def filled(found: Waffle, width: int) -> RenderableType:
    """Return a waffle for `width` columns: its cells, their legend, and the tokens used."""
    columns = max(1, min(_MOST_COLUMNS, width // 2))
    return Group(
        *_grid(found, columns), "", _legend(found, narrow=width < _NARROW), "", weighed(found)
    )


def weighed(found: Waffle) -> Text:
    """Return the tokens used and the number above which the session compresses."""
    used = usage(found.used, found.max_tokens, found.used / found.max_tokens)
    style = "yellow" if found.is_pressured else ""
    return Text(f"{used}; compresses above {found.pressured_above:,}", style=style)


def _grid(found: Waffle, columns: int) -> Iterator[Text]:
    """Yield the rows; each cell is two characters wide, and the second one names the role."""
    places = found.cells(columns * _ROWS)
    looks = zip(_looks(found), places, strict=True)
    signs = [look for look, place in looks for _ in range(place)]
    for start in range(0, len(signs), columns):
        yield Text.assemble(*signs[start : start + columns], no_wrap=True)


def _legend(found: Waffle, *, narrow: bool) -> RenderableType:
    columns = Column(no_wrap=True), Column(overflow="fold"), Column(justify="right", no_wrap=True)
    legend, lines = Table.grid(*columns, padding=(0, 2, 0, 0)), list[Text]()
    told = [
        *((_meaning_of(portion), portion.tokens) for portion in found.portions),
        ("free", found.free),
        ("kept free for the reply", found.reserve),
        ("definitions of tools", found.tools),
    ]
    for (sign, style), (what, tokens) in zip(_looks(found), told, strict=True):
        if tokens or what == "free":
            legend.add_row(Text(sign, style=style), what, f"{tokens:,} tokens")
            lines.append(Text.assemble((sign, style), f" {what}: {tokens:,} tokens"))
    return Group(*lines) if narrow else legend


def _looks(found: Waffle) -> Iterator[tuple[str, str]]:
    """Yield the two characters and the style of every part, in the order of the waffle's cells."""
    for portion in found.portions:
        is_gist = portion.fidelity is Fidelity.GIST
        sign, plain, style = _GIST if is_gist else _LOOKS[portion.resource_class, portion.fidelity]
        yield _sign(sign, plain) + _LETTERS[str(portion.role)], style
    yield _sign(*_FREE) + " ", "dim"
    yield _sign(*_RESERVED) + " ", "dim"
    yield _sign(*_TOOLS) + " ", "magenta"


def _sign(sign: str, plain: str) -> str:
    """Return the character, or its ASCII stand-in if the terminal's encoding lacks it."""
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return sign


def _meaning_of(share: Portion) -> str:
    """Describe a portion: its role, class and fidelity, and the number of messages."""
    what = "shortened" if share.fidelity is Fidelity.GIST else "word for word"
    messages = f"{share.turns} message{'s' * (share.turns != 1)}"
    return f"{share.role} · {share.resource_class.name}, {what}: {messages}"


# --- the fate of each message -------------------------------------------------------------------


def _table(turns: Sequence[Fate], *, show_all: bool) -> Table:
    columns = ("turn", "id", "role", "class", "tokens", "in the view")
    table = log_table(columns, 1)
    rows = [_row(fate) for fate in turns]
    if not show_all and len(rows) > MOST_TURNS + 1:
        left_out = gap_row(f"{len(rows) - MOST_TURNS} more turns; --all shows them")
        rows[_FIRST : _FIRST - MOST_TURNS] = [left_out]
    for row in rows:
        table.add_row(*row)
    return table


def _row(fate: Fate) -> tuple[Text, ...]:
    style, turn = _STYLES.get(fate.now, "blue"), fate.turn
    is_inside = fate.now in (Now.SUMMARISED, Now.CUT)
    cells = (
        str(fate.number),
        turn.resource_id,
        turn.role,
        fate.resource_class.name,
        str(turn.tokens),
        f"{fate.now} in {fate.inside}" if is_inside else str(fate.now),
    )
    what = excerpt(turn)
    what.style = style
    return *(Text(one_line(cell), style=style) for cell in cells), what


def _lost(turns: Sequence[Fate], name: str, *, show_all: bool) -> Iterator[RenderableType]:
    """Yield the messages not shown verbatim, how to recall them, and the erased messages."""
    lost = _grid_of(turns, _LOST, show_all=show_all)
    gone = _grid_of(turns, _GONE, show_all=show_all)
    if lost.row_count:
        first = next(fate.turn.resource_id for now in _LOST for fate in turns if fate.now is now)
        title = "messages that the model no longer sees in full; the log keeps them"
        yield from ("", Text(title, style="bold"), lost)
        hint = f"to restore one: {command_line('session', 'recall', name, first)}"
        yield Text(one_line(hint), style="dim")
    if gone.row_count:
        yield from ("", Text("permanently erased", style="bold"), gone)


def _grid_of(turns: Sequence[Fate], kinds: Sequence[Now], *, show_all: bool) -> Table:
    grid = legend_grid()
    for now in kinds:
        if those := [fate.turn for fate in turns if fate.now is now]:
            ids = listed([turn.resource_id for turn in those], whole=show_all)
            tokens = sum(turn.tokens or 0 for turn in those)
            told = "without parts" if now is Now.LESS else now
            grid.add_row(told, Text(one_line(f"{ids} ({tokens:,} tokens)")))
    return grid
