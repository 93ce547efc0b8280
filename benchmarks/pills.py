"""Measure completion on a tree of 20,000 files: the first scan, then look-ups while typing."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from rich.console import Console
from rich.table import Table

from polycontext.pills import Completer, FileResolver

FILES = 20_000
TIMES = 5
PREFIXES = ("@", "@s", "@src", "@src/ag", "@sag", "@component_17/handler_3", "@aeiou", "@zzzz")

_WORDS = ("agent", "handler", "component", "service", "model", "store", "window", "router")


def plant(root: Path, files: int) -> None:
    """Create a tree of that many empty files, thirty per folder, with ignore files in it."""
    (root / ".gitignore").write_text("*.log\nbuild/\n", encoding="utf-8")
    for number in range(files):
        folder = number // 30
        words = [_WORDS[(folder // len(_WORDS) ** power) % len(_WORDS)] for power in range(3)]
        path = (
            root
            / "src"
            / words[2]
            / words[1]
            / f"{words[0]}_{folder}"
            / f"{_WORDS[number % len(_WORDS)]}_{number}.py"
        )
        if number % 30 == 0:
            path.parent.mkdir(parents=True)
            (path.parent / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
        path.touch()


def _seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def run(console: Console) -> None:
    """Print milliseconds for the first scan and for each prefix, and the budget."""
    with TemporaryDirectory() as folder:
        plant(Path(folder), FILES)
        completer = Completer([FileResolver([folder])])
        first = _seconds(lambda: completer.candidates("@"))
        table = Table(title=f"completion, ms (best of {TIMES})")
        table.add_column("prefix")
        table.add_column("ms", justify="right")
        for prefix in PREFIXES:
            best = min(
                _seconds(lambda prefix=prefix: completer.candidates(prefix))  # type: ignore[misc]
                for _ in range(TIMES)
            )
            table.add_row(prefix, f"{best * 1e3:.1f}")
        console.print(table)
        console.print(
            f"{FILES:,} files, first scan {first * 1e3:.0f} ms; budget of a look-up after it: 50 ms"
        )


if __name__ == "__main__":
    run(Console(width=150))
