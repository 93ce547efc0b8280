"""What the command line writes for people: tables and texts in colour where there is a terminal."""

import os

from rich.console import Console, RenderableType

from polycontext.nodes.commands.output import write

PIPED_WIDTH = 110
"""Columns where nobody says how wide the paper is."""


def paper_width() -> int:
    """Return how many columns standard output has."""
    return _console(stderr=False).width


def write_rich(renderable: RenderableType) -> None:
    """Write a table or a text for people.

    Raises:
        PipeClosed: nobody reads.
    """
    console = _console(stderr=False)
    with console.capture() as captured:
        console.print(renderable)
    write(captured.get())


def tell(renderable: RenderableType) -> None:
    """Write a text for people to standard error, unbroken."""
    _console(stderr=True).print(renderable, soft_wrap=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console
