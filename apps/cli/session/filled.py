"""`polycontext session context`, and `/context` of a chat: the window as a waffle, a grid of cells for its parts (docs/terminal.md)."""

from collections.abc import Iterator
from itertools import chain, repeat

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from polycontext.nodes import Portion, Waffle, waffle

from ..output import paper_width, percent, write_json, write_rich
from .drawn import FREE, look_of, meaning_of, sign_of
from .opening import Where, opened_session, seen_at

_ROWS, _MOST_COLUMNS = 10, 20
_NARROW = 50
"""Columns below which a table would break its words."""
_KEPT_FREE, _TOOLS = ("▫", "o"), ("▪", "t")
_LETTERS = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}

Look = tuple[str, str]
"""The two signs of a cell, and their style."""


def context_session(where: Where, moment: str | None, *, as_json: bool) -> int:
    """Print what the window of a session is filled with, or was."""
    with opened_session(where) as opened:
        found = waffle(seen_at(opened, moment))
    if as_json:
        write_json(found.as_json(), indent=2)
    else:
        write_rich(filled(found, paper_width()))
    return 0


def filled(found: Waffle, width: int) -> RenderableType:
    """Return a waffle on paper of `width` columns: the cells, what their signs mean, and the number that all of it is weighed by."""
    return Group(*_grid(found, max(1, min(_MOST_COLUMNS, width // 2))), "", _legend(found, narrow=width < _NARROW), "", weighed(found))


def weighed(found: Waffle) -> Text:
    """Return the number that the guard weighs, and above which one room is made."""
    style = "yellow" if found.is_pressured else ""
    used = f"{found.used:,} of {found.max_tokens:,} tokens ({percent(found.used / found.max_tokens)})"
    return Text(f"{used}; pressured above {found.pressured_above:,}", style=style)


def _grid(found: Waffle, columns: int) -> Iterator[Text]:
    """Yield the rows; each cell is two signs wide, the second of which says who speaks."""
    places = found.cells(columns * _ROWS)
    signs = list(chain.from_iterable(repeat(look, place) for look, place in zip(_looks(found), places, strict=True)))
    for start in range(0, len(signs), columns):
        yield Text.assemble(*signs[start : start + columns], no_wrap=True)


def _legend(found: Waffle, *, narrow: bool) -> RenderableType:
    legend = Table.grid(Column(no_wrap=True), Column(overflow="fold"), Column(justify="right", no_wrap=True), padding=(0, 2, 0, 0))
    lines: list[Text] = []
    told = [*((_said(portion), portion.tokens) for portion in found.portions), ("free", found.free)]
    beside = [("kept free for the reply", found.reserve), ("definitions of tools", found.tools)]
    for (sign, style), (what, tokens) in zip(_looks(found), [*told, *beside], strict=True):
        if tokens or what == "free":
            legend.add_row(Text(sign, style=style), what, f"{tokens:,} tokens")
            lines.append(Text.assemble((sign, style), f" {what}: {tokens:,} tokens"))
    return Group(*lines) if narrow else legend


def _said(portion: Portion) -> str:
    return f"{portion.role} · {meaning_of(portion)}"


def _looks(found: Waffle) -> Iterator[Look]:
    """Yield the look of every part, in the order of the waffle's cells."""
    for portion in found.portions:
        sign, style = look_of(portion)
        yield sign + _LETTERS[str(portion.role)], style
    yield sign_of(*FREE) + " ", "dim"
    yield sign_of(*_KEPT_FREE) + " ", "dim"
    yield sign_of(*_TOOLS) + " ", "magenta"
