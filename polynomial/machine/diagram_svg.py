"""Draw the machine as SVG, with nothing but string formatting.

Few states need no layout engine: they stand in a row in the order of their
declaration; what leads on arches above them, what leads back hangs below, the
wider the higher. Deterministic: same table, same bytes.
"""

from html import escape

from attrs import frozen

from polycontext.polynomial.machine.context_machine import TABLE
from polycontext.polynomial.machine.diagram import LEGEND, Arrow, arrows, initial_state
from polycontext.polynomial.machine.table import Table
from polycontext.polynomial.state import ContextState

WIDTH, HEIGHT, GAP, MARGIN = 150, 46, 170, 70
RISE, FIRST_RISE = 62, 58
"""Pixels an arch rises: for the first state that it spans, and for each one more."""

_COLOURS = {
    ContextState.EMPTY: "#eceff1",
    ContextState.ACCUMULATING: "#d7ecd9",
    ContextState.PRESSURED: "#fbd9d3",
    ContextState.COMPRESSED: "#d6e4f7",
}
_STYLE = (
    "text { font: 12px DejaVu Sans, Verdana, sans-serif; fill: #263238; text-anchor: middle; } "
    ".state { font-weight: 600; font-size: 13px; } "
    ".label { paint-order: stroke; stroke: #fff; stroke-width: 6px; stroke-linejoin: round; } "
    ".legend { fill: #607d8b; } "
    "path { fill: none; stroke: #607d8b; stroke-width: 1.5; marker-end: url(#head); } "
    "rect.box { stroke: #455a64; stroke-width: 1.2; }"
)
_HEAD = (
    '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 10,5 0,10" fill="#607d8b"/></marker>'
)


@frozen
class _Sheet:
    """Place the states of a table: centres in a row, room above and below for the highest arch."""

    states: tuple[ContextState, ...]

    @property
    def middle(self) -> int:
        return MARGIN + self.rise(max(1, len(self.states) - 2))

    @property
    def size(self) -> tuple[int, int]:
        width = 2 * MARGIN + len(self.states) * WIDTH + (len(self.states) - 1) * GAP
        return width, self.middle + self.rise(len(self.states) - 1) + MARGIN + 14

    def centre(self, state: ContextState) -> int:
        return MARGIN + WIDTH // 2 + self.states.index(state) * (WIDTH + GAP)

    def rise(self, span: int) -> int:
        return FIRST_RISE + RISE * (span - 1)


def svg(table: Table = TABLE) -> str:
    """Return `table` as an SVG picture that needs no other program.

    >>> svg().count("<rect class='box'")
    4
    """
    sheet = _Sheet(tuple(table))
    width, height = sheet.size
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' role='img'>",
        f"<title>The context machine</title><style>{_STYLE}</style><defs>{_HEAD}</defs>",
        f"<rect width='{width}' height='{height}' rx='8' fill='#fff'/>",
        *(_box(sheet, state) for state in sheet.states),
        _start(sheet),
        *(_curve(sheet, arrow) for arrow in arrows(table)),
        *(_label(sheet, arrow) for arrow in arrows(table)),
        f"<text class='legend' x='{width // 2}' y='{height - 18}'>{escape(LEGEND)}</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(sheet: _Sheet, state: ContextState) -> str:
    x, y = sheet.centre(state), sheet.middle
    return (
        f"<rect class='box' x='{x - WIDTH // 2}' y='{y - HEIGHT // 2}' width='{WIDTH}' height='{HEIGHT}' rx='10'"
        f" fill='{_COLOURS[state]}'/><text class='state' x='{x}' y='{y + 5}'>{state}</text>"
    )


def _start(sheet: _Sheet) -> str:
    edge, y = sheet.centre(initial_state()) - WIDTH // 2, sheet.middle
    return f"<circle cx='{edge - 40}' cy='{y}' r='6' fill='#455a64'/><path d='M{edge - 34},{y} L{edge},{y}'/>"


def _span(sheet: _Sheet, arrow: Arrow) -> int:
    return sheet.states.index(arrow.target) - sheet.states.index(arrow.source)


def _curve(sheet: _Sheet, arrow: Arrow) -> str:
    """Draw neighbours by a straight line, wider steps by an arch, a stay by a loop; the way back below."""
    span, y, half = _span(sheet, arrow), sheet.middle, HEIGHT // 2
    source, target = sheet.centre(arrow.source), sheet.centre(arrow.target)
    if span == 0:
        return (
            f"<path d='M{source - 14},{y - half} C{source - 34},{y - half - 46} {source + 34},{y - half - 46} {source + 14},{y - half}'/>"
        )
    if span == 1:
        return f"<path d='M{source + WIDTH // 2},{y} L{target - WIDTH // 2},{y}'/>"
    side = 1 if span > 0 else -1
    apart = 56 - 22 * (abs(span) - 1)
    start, end = source + side * apart, target - side * apart
    edge, bend = y - side * half, y - side * (half + round(sheet.rise(abs(span)) * 4 / 3))
    return f"<path d='M{start},{edge} C{start},{bend} {end},{bend} {end},{edge}'/>"


def _label(sheet: _Sheet, arrow: Arrow) -> str:
    span, y = _span(sheet, arrow), sheet.middle
    x = (sheet.centre(arrow.source) + sheet.centre(arrow.target)) // 2
    if span == 0:
        y -= HEIGHT // 2 + 42
    elif span == 1:
        y -= 9
    else:
        y += (-6 if span > 0 else 15) - (1 if span > 0 else -1) * (HEIGHT // 2 + sheet.rise(abs(span)))
    lines = (f"<text class='label' x='{x}' y='{y - 15 * row}'>{escape(label)}</text>" for row, label in enumerate(reversed(arrow.labels)))
    return "".join(lines)
