"""`polycontext diagram`: the machine as a picture."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from polycontext.nodes.cli_output import saved, write
from polycontext.polynomial.diagram import dot, mermaid
from polycontext.polynomial.diagram_svg import svg


class DiagramFormat(StrEnum):
    """Name what the machine can be drawn as."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_WRITERS: dict[DiagramFormat, Callable[[], str]] = {
    DiagramFormat.MERMAID: mermaid,
    DiagramFormat.DOT: dot,
    DiagramFormat.SVG: svg,
}


def draw(form: DiagramFormat, output: Path | None) -> int:
    """Print the diagram, or write it to `output`; return the exit code.

    Raises:
        CommandError: the file cannot be written.
    """
    text = _WRITERS[form]()
    if output is None:
        write(text)
    else:
        saved(output, lambda path: path.write_text(text, encoding="utf-8"))
    return 0
