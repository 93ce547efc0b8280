"""Tables of Arrow, and Parquet files, which are read and written in batches of rows."""

from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from attrs import frozen

from polycontext.base import InvalidDataError, PolycontextError, require, require_extra

from .pieces import Done, Piece
from .rows import RowCompressor

for _module in ("pyarrow",):
    require_extra(_module, extra="bulk", purpose="a Parquet file")

import pyarrow as pa  # noqa: E402 - an extra
import pyarrow.parquet as pq  # noqa: E402

PIECE_ROWS = 32
"""The number of rows in a piece."""

GROUP_ROWS = 4_096
"""The number of rows from which a row group of the output is complete."""

Reject = Callable[[int, PolycontextError, Any], None]
"""Takes a rejected row: its index, the error, and the row."""


def compress_table(
    table: pa.Table, compressor: RowCompressor, rejected: Reject | None = None
) -> pa.Table:
    """Return a table of the same schema with the messages of its rows shortened.

    It suits `map_batches` of Ray Data and `datasets.Dataset.map` with the format "arrow". Without
    `rejected`, the first row that cannot be shortened raises its error.

    Raises:
        PolycontextError: as `RowCompressor`; or a shortened row does not fit the schema.
    """
    return _compressed(table, compressor, rejected or _raise)


def _raise(_: int, error: PolycontextError, __: Any) -> None:
    raise error


def _compressed(
    table: pa.Table,
    compressor: RowCompressor,
    rejected: Reject,
    count: Callable[[Any], None] = lambda _: None,
) -> pa.Table:
    changed = [name for name in table.column_names if name in _touched(compressor)]
    kept, columns = list[int](), {name: list[Any]() for name in changed}
    for index, row in enumerate(table.to_pylist()):
        try:
            if compressor.messages in row:
                row[compressor.messages] = _without_nulls(row[compressor.messages])
            new, projection = compressor.compressed(row)
            for name in changed:
                _check_fields(name, new[name], table.schema.field(name).type)
        except (PolycontextError, pa.ArrowException) as error:
            known = error if isinstance(error, PolycontextError) else _misfit("row", str(error))
            rejected(index, known, row)
            continue
        count(projection)
        kept.append(index)
        for name in changed:
            columns[name].append(new[name])
    result = table.take(pa.array(kept, pa.int64()))
    for name in changed:
        kind = table.schema.field(name)
        place = table.schema.get_field_index(name)
        result = result.set_column(place, kind, pa.array(columns[name], kind.type))
    return result


def _touched(compressor: RowCompressor) -> tuple[str, ...]:
    return (compressor.messages, "system", *compressor.keep)


def _without_nulls(value: Any) -> Any:
    """Return a value without the nulls with which a struct fills the fields that a row lacks."""
    match value:
        case dict():
            return {
                key: _without_nulls(inner)
                for key, inner in value.items()
                if inner is not None or key == "content"
            }
        case list():
            return [_without_nulls(inner) for inner in value]
        case _:
            return value


def _check_fields(name: str, value: object, kind: pa.DataType) -> None:
    """Refuse a value with fields for which its type has no place; Arrow would drop them."""
    match value:
        case list() if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            for inner in value:
                _check_fields(name, inner, kind.value_type)
        case dict() if pa.types.is_struct(kind):
            known = {field.name: field.type for field in kind}
            for key, inner in value.items():
                if key not in known:
                    raise _misfit(name, f"the column has no field {key!r}")
                _check_fields(name, inner, known[key])
        case Mapping() | list():
            raise _misfit(name, f"{kind} has no place for {type(value).__name__}")
        case str() if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise _misfit(name, f"{kind} has no place for text, which a summary is")
        case _:
            pass


def _misfit(name: str, what: str) -> InvalidDataError:
    return InvalidDataError(
        name, f"the shortened row does not fit: {what}", "a column of JSON text"
    )


@frozen
class TableWork:
    """Shortens a piece that is a stream of Arrow."""

    compressor: RowCompressor

    def __call__(self, piece: Piece) -> Done:
        """Return the shortened piece."""
        done = Done(piece)
        with pa.ipc.open_stream(piece.data) as stream:
            table = stream.read_all()
        result = _compressed(
            table,
            self.compressor,
            lambda index, error, row: done.reject(piece.start + index, error, row),
            done.figures.count,
        )
        done.data = _stream(result) if result.num_rows else b""
        return done

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the rows of a piece as pieces of their own."""
        with pa.ipc.open_stream(piece.data) as stream:
            table = stream.read_all()
        for index in range(table.num_rows):
            yield Piece(piece.start + index, piece.end, _stream(table.slice(index, 1)))


def _stream(table: pa.Table) -> bytes:
    sink = BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@frozen
class TableFormat:
    """Reads and writes Parquet."""

    def work(self, compressor: RowCompressor) -> TableWork:
        """Return the work for the pieces of a file."""
        return TableWork(compressor)

    def pieces(self, path: Path, position: int, rows: int) -> Iterator[Piece]:
        """Yield the pieces of a file behind `position`, which counts rows.

        Raises:
            InvalidDataError: the file is damaged, cut off, or no Parquet.
        """
        del rows
        try:
            with pq.ParquetFile(path, memory_map=True) as file:
                yield from _pieces(file, position)
        except pa.ArrowException as error:
            raise InvalidDataError(
                str(path), f"cannot be read: {error}", "a Parquet file"
            ) from None

    def finish(self, written: Path, output: Path, source: Path) -> None:
        """Write the finished rows as a Parquet file of the input's schema."""
        place = output.with_name(f"{output.name}.writing")
        schema = pq.read_schema(source)
        with written.open("rb") as file, pq.ParquetWriter(place, schema) as writer:
            pending, size = list[pa.Table](), written.stat().st_size
            while file.tell() < size:
                with pa.ipc.open_stream(file) as stream:
                    pending.append(stream.read_all())
                if sum(each.num_rows for each in pending) >= GROUP_ROWS or file.tell() >= size:
                    writer.write_table(pa.concat_tables(pending).cast(schema))
                    pending = []
        place.replace(output)
        written.unlink()


def _pieces(file: pq.ParquetFile, position: int) -> Iterator[Piece]:
    done = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if done + rows <= position:
            done += rows
            continue
        for batch in file.iter_batches(PIECE_ROWS, row_groups=[group]):
            start, done = done, done + batch.num_rows
            if done > position:
                data = _stream(pa.Table.from_batches([batch]))
                yield Piece(start + 1, done, data, share=done / file.metadata.num_rows)


def table_format(output: Path) -> TableFormat:
    """Return the format of Parquet files.

    Raises:
        InvalidOptionError: the output's name ends otherwise.
    """
    require("output", str(output), output.suffix == ".parquet", "a name that ends in .parquet")
    return TableFormat()
