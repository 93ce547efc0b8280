"""A run over a file, which the same call resumes after an interruption.

Finished rows are appended to ``OUT.partial``, rejected rows to ``OUT.rejected.jsonl``. Once a
second both are written through to the disk and ``OUT.progress.json`` notes how far they go, so what
stands behind that point after a crash is cut off and done again. A complete run moves the rows to
OUT and leaves ``OUT.report.json``.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Protocol, Self

from attrs import asdict, define, field, frozen

from polycontext.base import InvalidDataError, InvalidOptionError, require, with_usage
from polycontext.polynomial.stores import FileLock

from .figures import Figures
from .lines import check_readable, codec_of, line_format
from .pieces import Done, Engine, Piece, Work
from .pool import Pool
from .rows import RowCompressor

CHECKPOINT_SECONDS = 1.0
_FINGERPRINT_BYTES = 2**16


class Format(Protocol):
    """How the rows of a file are read and written."""

    def work(self, compressor: RowCompressor) -> Work:
        """Return the work for the pieces of a file."""
        ...

    def pieces(self, path: Path, position: int, rows: int) -> Iterator[Piece]:
        """Yield the pieces of a file behind a position."""
        ...

    def finish(self, written: Path, output: Path, source: Path) -> None:
        """Turn the finished rows into the output."""
        ...


@frozen
class Report:
    """The report of a complete run, as it stands in ``OUT.report.json``.

    `was_complete` says that an earlier run had written the output, so nothing was done.
    """

    figures: Figures
    settings: Mapping[str, Any]
    was_complete: bool = False


@define
class Progress:
    """How far a run is: the position in the input, and what the rows before it became.

    `share` is how much of the input is done, from 0 to 1. `output` and `rejected` count bytes.
    """

    share: float = 0.0
    position: int = 0
    rows: int = 0
    output: int = 0
    rejected: int = 0
    figures: Figures = field(factory=Figures)


@with_usage
def compress_file(
    source: str | Path,
    output: str | Path,
    compressor: RowCompressor,
    *,
    engine: Engine | None = None,
    advance: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Shorten every row of a file, and return the report.

    The files are JSONL (``.jsonl``, ``.jsonl.gz``, ``.jsonl.zst``) or Parquet (``.parquet``), both
    of one kind. Rows keep their order and their other columns. If the process is killed, the same
    call goes on where it stopped, and the output is the same as without the interruption. A script
    that calls this needs ``if __name__ == "__main__":``, because workers import it.

    Args:
        source: the file to read.
        output: the file to write; it appears when all rows are done.
        compressor: the budget and the columns.
        engine: where the work runs; by default a `Pool` on all cores.
        advance: called with the progress after each piece.

    Raises:
        InvalidDataError: the input is missing, damaged or cut off, and finished rows are kept; or
            the output exists, is being written, or is unfinished with other options.
        InvalidOptionError: a name has another ending.
        OSError: the output cannot be written; finished rows are kept.
    """
    legal = "a RowCompressor, such as RowCompressor(max_tokens=4000)"
    require("compressor", compressor, isinstance(compressor, RowCompressor), legal)
    run = _Run(Path(source), Path(output), compressor)
    with run.locked():
        return run.report_of_complete() or run.go(engine or Pool(), advance)


@frozen
class _Run:
    source: Path
    output: Path
    compressor: RowCompressor

    def _beside(self, end: str) -> Path:
        return self.output.with_name(f"{self.output.name}.{end}")

    def locked(self) -> ExitStack:
        """Return a context in which no other process has the same output.

        Raises:
            InvalidDataError: another process has it.
        """
        self.output.parent.mkdir(parents=True, exist_ok=True)
        lock, stack = FileLock(self._beside("lock")), ExitStack()
        stack.callback(lock.release)
        if not lock.acquire(0):
            stack.close()
            what, legal = "is written by a running process", "another output, or wait"
            raise InvalidDataError(str(self.output), what, legal)
        for end in ("lock", "next"):
            stack.callback(self._beside(end).unlink, missing_ok=True)
        return stack

    def settings(self) -> dict[str, Any]:
        """Return what must be the same for a run to be resumed."""
        known = asdict(self.compressor)
        return {"polycontext": version("polycontext"), **known, "keep": [*self.compressor.keep]}

    def fingerprint(self, size: int = _FINGERPRINT_BYTES) -> dict[str, Any]:
        """Return how many bytes the input begins with, up to `size`, and their hash.

        The rest is not compared, so a file that was cut off may be completed.
        """
        with self.source.open("rb") as file:
            head = file.read(size)
        return {"bytes": len(head), "sha256": hashlib.sha256(head).hexdigest()}

    def report_of_complete(self) -> Report | None:
        """Return the report of an earlier run with these settings, or None if there was none.

        Raises:
            InvalidDataError: the output was written with other settings or by something else.
        """
        if not self.output.exists():
            return None
        if self.output.samefile(self.source):
            raise InvalidDataError(str(self.output), "is the input", "the name of another file")
        report = self._beside("report.json")
        if report.exists():
            told = json.loads(report.read_bytes())
            same = told["settings"] == self.settings() and self._is_input(told["input"])
            if same:
                for end in ("partial", "progress.json"):
                    self._beside(end).unlink(missing_ok=True)
                return Report(Figures.from_json(told), told["settings"], was_complete=True)
        legal = "another name, or remove the file and those that begin with its name"
        raise InvalidDataError(str(self.output), "exists already", legal)

    def _is_input(self, fingerprint: Mapping[str, Any]) -> bool:
        return bool(self.fingerprint(fingerprint["bytes"]) == fingerprint)

    def go(self, engine: Engine, advance: Callable[[Progress], None]) -> Report:
        """Run from the last checkpoint to the end."""
        form = _format(self.source, self.output, self.compressor.most_row_bytes)
        check_readable(self.source)
        saved = self._resumed()
        written, rejected = self._beside("partial"), self._beside("rejected.jsonl")
        torn = list[InvalidDataError]()
        pieces = _until_torn(form.pieces(self.source, saved.position, saved.rows), torn)
        with _Writer(self, saved, written, rejected) as writer:
            for done in engine.map(form.work(self.compressor), pieces):
                writer.add(done)
                advance(writer.progress)
        if torn:
            raise torn[0]
        if not saved.rejected:
            rejected.unlink()
        self._save("report.json", saved.figures.as_json())
        form.finish(written, self.output, self.source)
        self._beside("progress.json").unlink(missing_ok=True)
        return Report(saved.figures, self.settings())

    def _resumed(self) -> Progress:
        """Return the last checkpoint, or the start of a new run.

        Raises:
            InvalidDataError: the unfinished run had other settings or another input.
        """
        place = self._beside("progress.json")
        if not place.exists():
            return Progress()
        told = json.loads(place.read_bytes())
        settings, mine = told["settings"], self.settings()
        other = [name for name in mine if settings.get(name) != mine[name]]
        if not self._is_input(told["input"]):
            other.append("input")
        if other:
            what = f"is unfinished, and its run had another {' and another '.join(other)}"
            legal = f"the same, or remove {place} to start again"
            raise InvalidDataError(str(self.output), what, legal)
        sizes = told["progress"]
        return Progress(**sizes, figures=Figures.from_json(told))

    def checkpoint(self, progress: Progress) -> None:
        """Note how far the run is."""
        sizes = {name: getattr(progress, name) for name in _SIZES}
        self._save("progress.json", {"progress": sizes, **progress.figures.as_json()})

    def _save(self, end: str, facts: Mapping[str, Any]) -> None:
        told = {"settings": self.settings(), "input": self.fingerprint(), **facts}
        place = self._beside(f"{end}.new")
        with place.open("wb") as file:
            file.write(json.dumps(told, indent=1).encode() + b"\n")
            _through(file)
        place.replace(self._beside(end))


_SIZES = ("position", "rows", "output", "rejected")


class _Writer:
    """Appends pieces to the files of a run, and notes a checkpoint once a second."""

    def __init__(self, run: _Run, progress: Progress, written: Path, rejected: Path) -> None:
        self._run, self.progress = run, progress
        self._written = _opened(written, progress.output)
        self._rejected = _opened(rejected, progress.rejected)
        self._noted = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._written, self._rejected:
            self._note()

    def add(self, done: Done) -> None:
        """Append a piece."""
        self._written.write(done.data)
        rejected = b"".join(each.as_line() for each in done.rejected)
        self._rejected.write(rejected)
        self.progress.share = done.piece.share
        self.progress.position = done.piece.end
        self.progress.rows += done.figures.rows
        self.progress.output += len(done.data)
        self.progress.rejected += len(rejected)
        self.progress.figures.add(done.figures)
        if monotonic() - self._noted >= CHECKPOINT_SECONDS:
            self._note()

    def _note(self) -> None:
        _through(self._written)
        _through(self._rejected)
        self._run.checkpoint(self.progress)
        self._noted = monotonic()


def _opened(path: Path, size: int) -> BinaryIO:
    """Open a file to append behind its first `size` bytes; what stands after them is cut off."""
    path.touch()
    os.truncate(path, size)
    return path.open("ab")


def _through(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _until_torn(pieces: Iterator[Piece], torn: list[InvalidDataError]) -> Iterator[Piece]:
    """Yield pieces up to an error in the input, which is put into `torn`."""
    try:
        yield from pieces
    except InvalidDataError as error:
        torn.append(error)


def _format(source: Path, output: Path, most_row_bytes: int) -> Format:
    if source.suffix == ".parquet":
        from .arrow import table_format  # noqa: PLC0415 - an extra

        return table_format(output)
    if codec_of(source) is None:
        legal = "a name that ends in .jsonl, .jsonl.gz, .jsonl.zst or .parquet"
        raise InvalidOptionError("input", str(source), legal)
    return line_format(source, output, most_row_bytes)
