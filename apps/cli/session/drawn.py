"""`polycontext session show`, for people: how full the window is and of what, what became of each turn, and where the lost words are."""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from polycontext.linearity import ResourceClass
from polycontext.nodes import Portion, cells, portions
from polycontext.polynomial import ContextSession
from polycontext.pressure import Fidelity

from ..output import one_line
from ..seen import excerpt
from .became import Became, Now, became
from .told import listed, standing, standing_line

MOST_TURNS = 40
"""Turns shown of a long conversation, unless all are asked for: the first few and the last."""

_FIRST = 8
_WIDEST = 72
FREE = "░", "."
_LOOKS = {
    (ResourceClass.PRESERVED, Fidelity.VERBATIM): ("█", "#", "green"),
    (ResourceClass.REQUIRED, Fidelity.VERBATIM): ("▓", "=", "cyan"),
    (ResourceClass.DROPPABLE, Fidelity.VERBATIM): ("▞", "-", "yellow"),
}
_GIST = ("▒", "~", "blue")
_STYLES = {Now.WHOLE: "", Now.OLD: "dim", Now.LESS: "cyan", Now.DROPPED: "red", Now.FORGOTTEN: "dim", Now.EXPIRED: "dim"}
_LOST = (
    (Now.SUMMARISED, "summarised"),
    (Now.CUT, "cut"),
    (Now.POINTED, "superseded"),
    (Now.LESS, "without parts"),
    (Now.DROPPED, "dropped"),
)
_GONE = ((Now.FORGOTTEN, "forgotten"), (Now.EXPIRED, "expired"))


def drawn(session: ContextSession, name: str, *, show_all: bool, width: int) -> RenderableType:
    """Return the page of a session, for paper of `width` columns."""
    told, turns = standing(session, name), list(became(session))
    parts: list[RenderableType] = [Text(one_line(standing_line(told)), style="bold"), *_bar(session, width)]
    if turns:
        parts += ["", _table(turns, show_all=show_all)]
    parts += _lost(turns, name, show_all=show_all)
    if told["open_calls"]:
        calls = ", ".join(f"{call['name']} ({call['id']})" for call in told["open_calls"])
        parts += ["", Text(one_line(f"waiting for the results of {calls}"), style="yellow")]
    return Group(*parts)


def _bar(session: ContextSession, width: int) -> Iterator[RenderableType]:
    """Yield the bar, and under it what its signs mean: the tokens of each class that stands word for word, of what is shortened, and what is free."""
    window, held = session.window, portions(session.window, by_role=False)
    free = max(0, window.max_tokens - window.total_tokens)
    places = cells([*(share.tokens for share in held), free], min(_WIDEST, width))
    bar, legend = Text(no_wrap=True), Table.grid(padding=(0, 2, 0, 0))
    for share, place in zip(held, places, strict=False):
        sign, style = look_of(share)
        bar.append(sign * place, style=style)
        legend.add_row(Text(sign, style=style), Text(meaning_of(share)), Text(f"{share.tokens:,} tokens", justify="right"))
    bar.append(sign_of(*FREE) * places[-1], style="dim")
    legend.add_row(Text(sign_of(*FREE), style="dim"), "free", Text(f"{free:,} tokens", justify="right"))
    yield from (bar, legend)


def look_of(share: Portion) -> tuple[str, str]:
    """Return the sign and the style of what is of one class and fidelity."""
    sign, plain, style = _GIST if share.fidelity is Fidelity.GIST else _LOOKS[share.resource_class, share.fidelity]
    return sign_of(sign, plain), style


def sign_of(sign: str, plain: str) -> str:
    """Return a sign that the terminal knows."""
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return sign


def meaning_of(share: Portion) -> str:
    """Say in words of which class and fidelity turns are, and how many."""
    what = "shortened" if share.fidelity is Fidelity.GIST else "word for word"
    return f"{share.resource_class.name}, {what}: {share.turns} message{'s' * (share.turns != 1)}"


def _table(turns: Sequence[Became], *, show_all: bool) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("turn", "id", "role", "class", "tokens", "in the view"):
        table.add_column(name, justify="right" if name in ("turn", "tokens") else "left", no_wrap=True)
    table.add_column("what", ratio=1, overflow="fold")
    for row in _shown(turns, show_all=show_all):
        table.add_row(*_row(row))
    return table


def _shown(turns: Sequence[Became], *, show_all: bool) -> Iterator[Became | int]:
    """Yield the turns to show, and how many are left out between them."""
    if show_all or len(turns) <= MOST_TURNS + 1:
        yield from turns
        return
    last = MOST_TURNS - _FIRST
    yield from turns[:_FIRST]
    yield len(turns) - MOST_TURNS
    yield from turns[-last:]


def _row(row: Became | int) -> tuple[Text, ...]:
    if isinstance(row, int):
        return (Text("⋯", style="dim"), *[Text("")] * 5, Text(f"{row} more turns; --all shows them", style="dim"))
    style = _STYLES.get(row.now, "blue")
    now = f"{row.now} in {row.inside}" if row.now in (Now.SUMMARISED, Now.CUT) else str(row.now)
    cells = (str(row.number), row.turn.resource_id, str(row.turn.role), row.resource_class.name, str(row.turn.tokens), now)
    return (
        *(Text(one_line(cell), style=style) for cell in cells),
        Text(excerpt(row.turn), style=style, no_wrap=True, overflow="ellipsis"),
    )


def _lost(turns: Sequence[Became], name: str, *, show_all: bool) -> Iterator[RenderableType]:
    """Yield what the model does not see word for word, where it is, and how it comes back; and what is nowhere any more."""
    lost, gone = (Table.grid(Column(style="bold", no_wrap=True), Column(), padding=(0, 2, 0, 0)) for _ in range(2))
    for grid, kinds in ((lost, _LOST), (gone, _GONE)):
        for now, told in kinds:
            if those := [turn.turn for turn in turns if turn.now is now]:
                ids = listed([turn.resource_id for turn in those], whole=show_all)
                grid.add_row(told, Text(one_line(f"{ids} ({sum(turn.tokens or 0 for turn in those):,} tokens)")))
    if lost.row_count:
        first = next(turn.turn.resource_id for now, _ in _LOST for turn in turns if turn.now is now)
        yield from ("", Text("what the model does not see word for word; all of it is in the log", style="bold"), lost)
        yield Text(one_line(f"brought back by: polycontext session recall --session {name} {first}"), style="dim")
    if gone.row_count:
        yield from ("", Text("of which no word is left anywhere", style="bold"), gone)
