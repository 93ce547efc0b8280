"""`polycontext diagram`: the machine as a picture."""

from pathlib import Path
from typing import Literal

from polycontext.polynomial.machine import dot, mermaid

from .output import USAGE, CommandError, saved, write

BEGIN, END = "<!-- machine diagram -->", "<!-- /machine diagram -->"
"""What stands around the diagram in a Markdown file that shows it."""


def draw(form: Literal["mermaid", "dot"], output: Path | None) -> int:
    """Print the diagram, or write it to `output`; return the exit code.

    Raises:
        CommandError: the file cannot be written.
    """
    text = mermaid() if form == "mermaid" else dot()
    if output is None:
        write(text)
    else:
        saved(output, lambda path: path.write_text(text, encoding="utf-8"))
    return 0


def draw_into(page: Path) -> int:
    """Put the Mermaid diagram between the markers of a Markdown page, in place of what is there.

    Raises:
        CommandError: the page cannot be read or written, or has no markers.
    """
    try:
        # As bytes, since reading text would make every line end one of this system.
        text = page.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(USAGE, f"{page}: cannot be read: {error}") from None
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise CommandError(USAGE, f"{page}: no markers for the diagram; legal: a line {BEGIN} and a line {END} behind it")
    drawn = f"{head}{BEGIN}\n\n```mermaid\n{mermaid()}```\n\n{END}{tail}"
    saved(page, lambda path: path.write_bytes(drawn.encode()))
    return 0
