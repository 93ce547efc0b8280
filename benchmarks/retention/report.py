"""Tables of figures, and what differs between two runs."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.retention.projecting import RECALLS

Data = Mapping[str, Any]
"""The figures of a set, by method and by budget: see `Figures.as_data`."""


def table(name: str, figures: Mapping[str, Mapping[str, Data]], *, intervals: bool) -> Table:
    """Return the table of a set: a line for each method and budget."""
    rows = [(method, budget, data) for method, budgets in figures.items() for budget, data in budgets.items()]
    recalls = [recall for recall in RECALLS if any(recall in data["recalls"] for _, _, data in rows)]
    counts = ", ".join(f"{recall} {max(data['recalls'].get(recall, {'of': 0})['of'] for _, _, data in rows)}" for recall in recalls)
    made = Table(title=f"{name}: {counts}")
    made.add_column("method")
    for column in ("budget", "calls", "refused", *recalls, "used", "p10", "room used", "p10", "ms"):
        made.add_column(column, justify="right")
    for method, budget, data in rows:
        shares = [_recall(data["recalls"].get(recall), intervals=intervals) for recall in recalls]
        used = [_percent(data[of][key]) for of in ("used", "room used") for key in ("median", "p10")]
        made.add_row(method, budget, str(data["calls"]), _percent(data["refusals"]), *shares, *used, f"{data['ms']:.0f}")
    return made


def _recall(recall: Data | None, *, intervals: bool) -> str:
    if recall is None or recall["share"] is None:
        return ""
    low, high = recall["interval"]
    return f"{recall['share']:.3f}" + (f" ({low:.2f}–{high:.2f})" if intervals else "")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def print_gates(console: Console, name: str, figures: Mapping[str, Mapping[str, Data]]) -> None:
    """Print the gates that were broken, and what was raised, method by method."""
    for method, budgets in figures.items():
        for budget, data in budgets.items():
            broken = ", ".join(f"{gate} {count}" for gate, count in data["gates"].items())
            errors = "; ".join(f"{count} x {error}" for error, count in data["errors"].items())
            if broken or errors:
                console.print(f"{name} {method} {budget}: " + " | ".join(filter(None, [broken and f"gates broken: {broken}", errors])))
        if not any(data["gates"] for data in budgets.values()):
            console.print(f"{name} {method}: all gates 0 of {sum(data['calls'] for data in budgets.values())} calls")


def differences(now: Any, before: Any, path: str = "") -> Iterator[tuple[str, float, float]]:
    """Yield each number that differs between two results: its path, before, now.

    >>> list(differences({"a": {"b": 2.0}, "new": 1}, {"a": {"b": 1.0}}))
    [('a/b', 1.0, 2.0)]
    """
    if isinstance(now, Mapping) and isinstance(before, Mapping):
        for key in now:
            if key in before:
                yield from differences(now[key], before[key], f"{path}/{key}".lstrip("/"))
    elif isinstance(now, int | float) and isinstance(before, int | float) and now != before:
        yield path, before, now
