"""Output of the command line: results, messages and exit codes.

Results go to standard output, in colour on a terminal. Messages for people go to standard error. A
reader that closes the pipe early (`| head`) is not an error.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO, TextIOWrapper
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from attrs import frozen
from click.exceptions import Exit

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table

FAULT, USAGE, PIPE_CLOSED = 1, 2, 141
"""Exit codes: the answer is no; the input or the options are invalid; the pipe was closed."""

_OBEYED = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    "|(?<=[\0-\x7f])[\u200c\u200d]"
)
"""Control characters, bidirectional controls and invisible characters. Joiners count only after an
ASCII character, because emoji and many scripts need them."""

MINUTE = 60.0
"""The seconds between two lines about how far a task is."""

_FOLDED = 20
"""The fewest columns of cells that are continued on further lines."""

PIPED_WIDTH = 110
"""The number of columns if the output has no known width."""


class CommandError(Exception):
    """An error that ends the command with one line on standard error and an exit code.

    The message says what is wrong and what to do.
    """

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


Verbosity = Literal["quiet", "normal", "verbose"]
"""How much is printed besides results and errors."""

_verbosity: Verbosity = "normal"


def set_verbosity(verbosity: Verbosity) -> None:
    """Set the verbosity of the process."""
    global _verbosity  # noqa: PLW0603 - one process is one command
    _verbosity = verbosity


def is_verbose() -> bool:
    """Return whether errors show a traceback."""
    return _verbosity == "verbose"


def shown(text: str) -> str:
    r"""Return `text` with control, bidirectional and invisible characters escaped.

    Letters and emoji stay as they are.

    >>> shown("plums\n\x1b[2J"), shown("a\u202eb \u05d0")
    ('plums\n\\x1b[2J', 'a\\u202eb א')
    """
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def _as_json(text: str) -> str:
    """Return JSON text with the same characters as JSON escapes, so that its value is unchanged."""
    return _OBEYED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def write(text: str) -> None:
    """Write text to standard output, escaped as by `shown`, and flush.

    If the reader has closed the pipe, the command ends without a message.
    """
    _write(shown(text))


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again at exit: redirect what is still buffered to the null device,
        # so that it does not report the error a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Exit(PIPE_CLOSED) from None


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Write `value` as one JSON document and a line end, in ASCII unless the output is UTF-8."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    _write(_as_json(json.dumps(value, ensure_ascii=not is_utf8, indent=indent)) + "\n")


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of JSON for another program.

    The output is UTF-8 whatever the terminal's encoding, so that no character is replaced, and line
    ends are written unchanged.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    _write(_as_json("".join(lines)))


@contextmanager
def redirected(output: Path | None) -> Generator[None]:
    """Write results to a file, which is complete or not written at all; None is standard output."""
    if output is None:
        yield
        return
    with redirect_stdout(StringIO()) as held:
        yield
    save(output, lambda path: path.write_text(held.getvalue(), encoding="utf-8"))


def paper_width() -> int:
    """Return the width of standard output in columns."""
    return _console(stderr=False).width


def write_rich(renderable: "RenderableType") -> None:
    """Write a table or text for people to standard output."""
    console = _console(stderr=False)
    with console.capture() as captured:
        console.print(_Shown(renderable))
    _write(captured.get())


def tell(text: str, style: str = "") -> None:
    """Write one line for people to standard error, without wrapping it.

    With `--quiet`, nothing is written.
    """
    if _verbosity != "quiet":
        from rich.text import Text  # noqa: PLC0415  as below

        _console(stderr=True).print(_Shown(Text(one_line(text), style=style)), soft_wrap=True)


@frozen
class _Shown:
    """A renderable whose text is escaped, so that only Rich's own control codes take effect."""

    drawn: "RenderableType"

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[Segment]":
        for piece in console.render(self.drawn, options):
            yield piece if piece.control else piece._replace(text=shown(piece.text))


@contextmanager
def progress(what: str, total: float) -> Generator[Callable[[float, str], None]]:
    """Show how far a task is: a bar on a terminal, removed at the end, otherwise a line a minute.

    Yields the function that takes how much of `total` is done, and a word about it.
    """
    console = _console(stderr=True)
    if _verbosity == "quiet" or not console.is_terminal:
        last = monotonic()

        def update(done: float, about: str) -> None:
            nonlocal last
            if monotonic() - last >= MINUTE:
                last = monotonic()
                tell(f"{percent(done / total)}: {about}")

        yield update
        return
    from rich.progress import Progress  # noqa: PLC0415  slow to load, rarely needed

    with Progress(
        console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, about: bar.update(task, completed=done, description=about)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console  # noqa: PLC0415  slow to load, rarely needed

    console = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def complain(message: str) -> None:
    """Write an error to standard error as one line."""
    sys.stderr.write(f"error: {one_line(message)}\n")


def one_line(text: str) -> str:
    r"""Return `text` as one line with control and invisible characters escaped.

    >>> one_line("a\nb \x1b[31mred")
    'a b \\x1b[31mred'
    """
    return shown(" ".join(text.split()))


def percent(share: float | None) -> str:
    """Format a share as a percentage, None as a dash."""
    return "-" if share is None else f"{share * 100:.0f} %"


def write_columns(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, whole: str | None = None
) -> None:
    """Write rows below column names; on a narrow terminal the widest column is truncated.

    The cells of the column `whole` are continued on further lines instead.
    """
    from rich.text import Text  # noqa: PLC0415  as above

    shown = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(columns, *shown, strict=True)]
    table = plain_table(2)
    widest = max(width for column, width in zip(columns, widths, strict=True) if column != whole)
    for column, width in zip(columns, widths, strict=True):
        if column == whole:
            table.add_column(column, overflow="fold", min_width=min(width, _FOLDED))
        else:
            table.add_column(column, no_wrap=True, min_width=0 if width == widest else width)
    for row in shown:
        table.add_row(*map(Text, row))
    write_rich(table)


def plain_table(gap: int) -> "Table":
    """Return a table without borders, with `gap` blanks between its columns."""
    from rich.table import Table  # noqa: PLC0415  as above

    return Table(box=None, header_style="bold", pad_edge=False, padding=(0, gap, 0, 0))


def save(path: Path, save: Callable[[Path], object]) -> None:
    """Save a file and print its path.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        save(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written: {reason}") from None
    tell(f"wrote {path}")
