"""Pressure over the turns of a replay, as a picture. Needs the optional extra `plot`."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycontext.linearity import require_extra
from polycontext.polynomial import ContextState

from .output import USAGE, CommandError
from .recordings.report import Compressed, ReplayReport, TurnRefused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".svg", ".png")
_COLOURS: dict[str, str] = {
    ContextState.EMPTY: "#90a4ae",
    ContextState.ACCUMULATING: "#43a047",
    ContextState.PRESSURED: "#e53935",
    ContextState.COMPRESSED: "#1e88e5",
}
# Without a salt of its own, the ids in an SVG differ from run to run.
_STYLE: Any = {"font.size": 10, "svg.hashsalt": "polycontext", "axes.spines.top": False, "axes.spines.right": False}


def check_plot(path: Path) -> None:
    """Make sure, before any work is done for it, that a plot could be written to `path`.

    Raises:
        CommandError: the file's type is none for a plot. MissingExtraError: matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise CommandError(USAGE, f"{path}: no file type for a plot; legal: {' or '.join(SUFFIXES)}")
    require_extra("matplotlib", extra="plot", purpose=f"drawing {path}")


def save_plot(report: ReplayReport, path: Path, *, high: float, low: float) -> None:
    """Draw pressure over turns, coloured by state, the marks as lines, and save it; same report, same picture."""
    from matplotlib import rc_context  # noqa: PLC0415  optional, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_STYLE), warnings.catch_warnings():
        # A title may hold signs that the font does not have: those show as boxes.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        # Not pyplot, which keeps every figure and may look for a screen.
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        axes = figure.add_subplot()
        _draw_steps(axes, report)
        _draw_marks(axes, high, low)
        _dress(axes, report)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _points(report: ReplayReport) -> list[tuple[float, float, str]]:
    """Return where the stairs go: a turn at its number, a compression halfway to the next turn, and the end."""
    points = [(0.0, 0.0, str(ContextState.EMPTY))]
    for step in report.steps:
        x = points[-1][0] + 0.5 if isinstance(step, Compressed) else max(points[-1][0], float(step.number))
        points.append((x, step.pressure, step.state))
    return [*points, (max(points[-1][0], float(report.turns)) + 0.5, *points[-1][1:])]


def _draw_steps(axes: "Axes", report: ReplayReport) -> None:
    """Draw pressure as stairs, since it stays as it is until the next step; each stair in the colour of its state."""
    from matplotlib.collections import LineCollection, PolyCollection  # noqa: PLC0415

    points = _points(report)
    stairs = [((x, next_x), y, _COLOURS[state]) for (x, y, state), (next_x, _, _) in pairwise(points)]
    colours = [colour for _, _, colour in stairs]
    axes.add_collection(PolyCollection([[(x, 0), (x, y), (end, y), (end, 0)] for (x, end), y, _ in stairs], facecolors=colours, alpha=0.22))
    axes.add_collection(LineCollection([[(x, y), (end, y)] for (x, end), y, _ in stairs], colors=colours, linewidths=2.2))
    axes.step([x for x, _, _ in points], [y for _, y, _ in points], where="post", color="#607d8b", linewidth=0.6)
    for state in report.states[1:]:
        axes.plot([], [], color=_COLOURS[state], linewidth=6, alpha=0.7, label=str(state))
    steps = list(zip(points[1:-1], report.steps, strict=True))
    compressed = [(x, y) for (x, y, _), step in steps if isinstance(step, Compressed) and step.saves]
    refused = [(x, y) for (x, y, _), step in steps if isinstance(step, TurnRefused)]
    for places, marker, colour, label in ((compressed, "v", "#0d47a1", "compression"), (refused, "x", "#b71c1c", "refused turn")):
        if places:
            axes.scatter([x for x, _ in places], [y for _, y in places], marker=marker, color=colour, s=34, zorder=3, label=label)


def _draw_marks(axes: "Axes", high: float, low: float) -> None:
    for y, name, colour in ((high, "high", "#e53935"), (low, "low", "#1e88e5"), (1.0, "budget", "#37474f")):
        axes.axhline(y, color=colour, linewidth=1, linestyle=(0, (5, 4)))
        label = f"{name} {y:g}" if y < 1 else name
        axes.annotate(label, (1.0, y), xycoords=("axes fraction", "data"), xytext=(4, -3), textcoords="offset points", color=colour)


def _dress(axes: "Axes", report: ReplayReport) -> None:
    axes.set_title(report.conversation.title, loc="left", fontsize=11, parse_math=False)
    axes.set_xlabel("turn")
    axes.set_ylabel(f"pressure (share of {report.session.window.max_tokens} tokens)")
    axes.set_xlim(0, max(1, report.turns) + 0.5)
    axes.set_ylim(0, max(1.0, report.peak) * 1.04)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, frameon=False, fontsize=9, handlelength=1.2, columnspacing=1.2)
