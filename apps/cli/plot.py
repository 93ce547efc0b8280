"""A plot of pressure over the turns of a replay. Requires the extra `plot`."""

import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycontext.base import require_extra
from polycontext.polynomial import ContextState

from .output import CommandError
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
# Without a fixed salt, the ids in an SVG differ between runs.
_STYLE: Any = {
    "font.size": 10,
    "svg.hashsalt": "polycontext",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def check_plot(path: Path) -> None:
    """Check, before any work is done, that a plot can be written to `path`.

    Raises:
        CommandError: the file's type is not a plot format.
        MissingExtraError: matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise CommandError(f"{path}: no file type for a plot. Use {' or '.join(SUFFIXES)}.")
    require_extra("matplotlib", extra="plot", purpose=f"drawing {path}")


def save_plot(report: ReplayReport, path: Path, *, high: float, low: float) -> None:
    """Draw pressure over turns, coloured by state, with the marks as lines, and save the plot.

    The same report gives the same file.
    """
    from matplotlib import rc_context  # noqa: PLC0415  optional, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_STYLE), warnings.catch_warnings():
        # Characters of the title that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        # Not pyplot: it keeps every figure and may look for a display.
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        axes = figure.add_subplot()
        _draw_steps(axes, report)
        _draw_marks(axes, high, low)
        _dress(axes, report)
        figure.savefig(
            path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else None
        )


def _points(report: ReplayReport) -> Iterator[tuple[float, float, str]]:
    """Yield the points of the pressure line.

    A turn is at its number, a compression halfway to the next turn; the last point is the end.
    """
    x, y, state = 0.0, 0.0, str(ContextState.EMPTY)
    yield x, y, state
    for step in report.steps:
        x = x + 0.5 if isinstance(step, Compressed) else max(x, float(step.number))
        y, state = step.pressure, step.state
        yield x, y, state
    yield max(x, float(report.turns)) + 0.5, y, state


def _draw_steps(axes: "Axes", report: ReplayReport) -> None:
    """Draw pressure as a step line, each step in the colour of its state."""
    points = list(_points(report))
    for (x, y, state), (end, _, _) in pairwise(points):
        axes.fill_between([x, end], y, color=_COLOURS[state], alpha=0.22, linewidth=0)
        axes.hlines(y, x, end, color=_COLOURS[state], linewidth=2.2)
    for state in report.states[1:]:
        axes.plot([], [], color=_COLOURS[state], linewidth=6, alpha=0.7, label=str(state))
    steps = list(zip(points[1:-1], report.steps, strict=True))
    shortened = [point for point, step in steps if isinstance(step, Compressed) and step.saves]
    refused = [point for point, step in steps if isinstance(step, TurnRefused)]
    for found, marker, colour, label in (
        (shortened, "v", "#0d47a1", "compression"),
        (refused, "x", "#b71c1c", "refused turn"),
    ):
        if found:
            xs, ys, _ = zip(*found, strict=True)
            axes.scatter(xs, ys, marker=marker, color=colour, s=34, zorder=3, label=label)


def _draw_marks(axes: "Axes", high: float, low: float) -> None:
    for y, name, colour in (
        (high, f"high {high:g}", "#e53935"),
        (low, f"low {low:g}", "#1e88e5"),
        (1.0, "budget", "#37474f"),
    ):
        axes.axhline(y, color=colour, linewidth=1, linestyle="--")
        axes.text(1.01, y, name, color=colour, transform=axes.get_yaxis_transform(), va="center")


def _dress(axes: "Axes", report: ReplayReport) -> None:
    axes.set_title(report.conversation.title, loc="left", fontsize=11, parse_math=False)
    axes.set(
        xlabel="turn",
        ylabel=f"pressure (share of {report.session.window.max_tokens} tokens)",
        xlim=(0, max(1, report.turns) + 0.5),
        ylim=(0, max(1.0, report.peak) * 1.04),
    )
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, frameon=False, fontsize=9)
