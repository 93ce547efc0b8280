"""Measure a window of 100,000 turns: duplicate, trajectory, plan, commit and bytes."""

import gc
import tracemalloc
from collections.abc import Callable
from time import process_time

from rich.console import Console
from rich.table import Table

from benchmarks.conversation import InstantSummariser, RememberingCounter, turns
from polycontext.pressure import ContextProjector
from polycontext.window import ContextWindow

SIZE = 100_000
TIMES = 5


def best(work: Callable[[], object]) -> float:
    """Return the least seconds of TIMES runs without the garbage collector, as timeit does."""
    found = []
    gc.disable()
    for _ in range(TIMES):
        began = process_time()
        work()
        found.append(process_time() - began)
    gc.enable()
    return min(found)


def window_of(size: int) -> ContextWindow:
    """Return a window of that many turns, with room for more."""
    window = ContextWindow(size * 30, counter=RememberingCounter())
    for turn in turns(size):
        window = window.append(turn)
    return window


def _bytes_a_turn() -> float:
    conversation = list(turns(10_000))
    window = ContextWindow(300_000, counter=RememberingCounter())
    tracemalloc.start()
    for turn in conversation:
        window = window.append(turn)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The counter's cache belongs to the benchmark, and strings are shared with the conversation.
    return used / len(window)


def run(console: Console) -> None:
    """Print milliseconds for windows of 10,000 and 100,000 turns, with their budgets."""
    windows = {size: window_of(size) for size in (SIZE // 10, SIZE)}
    projector = ContextProjector(InstantSummariser())
    fulfilments = {
        size: projector.fulfil(projector.plan_for(window, 0.4)) for size, window in windows.items()
    }
    works: dict[str, tuple[Callable[[int], object], str]] = {
        "duplicate": (lambda n: windows[n].duplicate(), "100"),
        "duplicate, every snapshot read": (lambda n: list(windows[n].duplicate()), "100"),
        "pressure trajectory": (lambda n: list(windows[n].extend(lambda w: w.pressure)), "-"),
        "plan_for(0.4)": (lambda n: projector.plan_for(windows[n], 0.4), "50"),
        "commit, summaries supplied": (
            lambda n: projector.commit(windows[n], fulfilments[n]),
            "200",
        ),
    }
    table = Table(title=f"a window of {SIZE:,} turns, ms (best of {TIMES})")
    for name in ("work", f"{SIZE // 10:,}", f"{SIZE:,}", "ratio", "budget"):
        table.add_column(name, justify="left" if name == "work" else "right")
    for name, (work, budget) in works.items():
        small, large = (
            best(lambda size=size, work=work: work(size)) * 1e3  # type: ignore[misc]
            for size in windows
        )
        table.add_row(name, f"{small:.3f}", f"{large:.3f}", f"{large / small:.1f}", budget)
    console.print(table)
    console.print(f"held per turn beyond its text: {_bytes_a_turn():.0f} bytes (budget 1,000)")


if __name__ == "__main__":
    run(Console(width=150))
