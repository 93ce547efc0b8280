"""The front doors of the window: every name is there, and what nobody asked for is not loaded."""

import subprocess
import sys

WAITING = (
    "tiktoken",
    "pathspec",
    "cattrs",
    "polycontext.pills",
    "polycontext.window.items.markdown",
    "polycontext.window.providers",
)


def test_importing_the_window_loads_no_more_than_a_window_needs() -> None:
    """Items, pills, tokenizers, formats and codecs wait until they are asked for."""
    program = (
        "import sys, polycontext.window as window; "
        "window.ContextWindow; window.Turn; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in WAITING if name in loaded]
    assert sum(name.startswith("polycontext.window") for name in loaded) <= 21
