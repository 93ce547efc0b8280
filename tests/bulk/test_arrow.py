"""Tables of Arrow keep their schema; Parquet files are written in it and resumed."""

import json
from importlib import reload
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polycontext.base import InvalidDataError, InvalidOptionError, MissingExtraError
from polycontext.bulk import Pool, RowCompressor, arrow, compress_file, compress_table, run
from tests.bulk.data_sets import BUDGET, read
from tests.cli.command import chat

SMALL = RowCompressor(max_tokens=BUDGET)
STRUCT = pa.list_(
    pa.struct([("role", pa.string()), ("content", pa.string()), ("name", pa.string())])
)
MASKED = RowCompressor(max_tokens=BUDGET, keep=("mask",))


def chats(number: int) -> list[dict[str, Any]]:
    """Return rows of plain chats with a mask; every third fits into `BUDGET`."""
    made = []
    for index in range(number):
        messages = chat(4 if index % 3 == 0 else 12)
        made.append({"id": index, "messages": messages, "mask": [0, 1] * (len(messages) // 2)})
    return made


def as_structs(number: int) -> pa.Table:
    """Return these rows as structs, which fill what a message lacks with null."""
    schema = pa.schema(
        [("id", pa.int32()), ("messages", STRUCT), ("mask", pa.list_(pa.int8()))],
        metadata={"huggingface": "{}"},
    )
    return pa.Table.from_pylist(chats(number), schema)


def test_structs_stay_structs() -> None:
    """Shortened messages and their masks have the types of the columns."""
    table = as_structs(6)
    short = compress_table(table, MASKED)
    assert short.schema.equals(table.schema, check_metadata=True)
    for row, given in zip(short.to_pylist(), chats(6), strict=True):
        wanted: Any = MASKED(given)
        assert [(each["role"], each["content"]) for each in row["messages"]] == [
            (each["role"], each["content"]) for each in wanted["messages"]
        ]
        assert (row["id"], row["mask"]) == (wanted["id"], wanted["mask"])


def test_a_row_that_does_not_fit_its_column_is_refused() -> None:
    """A summary is text, so a column of blocks alone has no place for it; Arrow would drop it."""
    block = pa.struct([("type", pa.string()), ("text", pa.string())])
    schema = pa.schema(
        [("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.list_(block))])))]
    )
    messages = [
        {"role": each["role"], "content": [{"type": "text", "text": each["content"]}]}
        for each in chat(12)
    ]
    table = pa.Table.from_pylist([{"messages": messages}], schema)
    with pytest.raises(InvalidDataError, match="has no place for text, which a summary is"):
        compress_table(table, SMALL)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (pa.list_(pa.struct([("role", pa.string())])), "no field 'content'"),
        (pa.int64(), "int64 has no place for list"),
    ],
)
def test_fields_without_a_place_are_refused(kind: pa.DataType, told: str) -> None:
    """Nothing is dropped in silence."""
    with pytest.raises(InvalidDataError, match=told):
        arrow._check_fields("messages", [{"role": "user", "content": "x"}], kind)


@pytest.mark.parametrize("stops", [(), (1, 2)])
def test_a_parquet_file_is_shortened_and_resumed(
    stops: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output has the input's schema and order, whole or after interruptions."""
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(arrow, "PIECE_ROWS", 4)
    monkeypatch.setattr(arrow, "GROUP_ROWS", 10)
    table = as_structs(30)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    output = tmp_path / "out.parquet"

    class StoppedError(Exception):
        pass

    def stop(progress: run.Progress) -> None:
        if progress.rows in {7 * each for each in stops}:
            raise StoppedError

    for _ in stops:
        with pytest.raises(StoppedError):
            compress_file(tmp_path / "in.parquet", output, MASKED, engine=Pool(1), advance=stop)
        assert not output.exists()
    report = compress_file(tmp_path / "in.parquet", output, MASKED, engine=Pool(1))
    written = pq.read_table(output)
    assert written.equals(compress_table(table, MASKED))
    schema = pq.read_schema(tmp_path / "in.parquet")
    assert written.schema.equals(schema, check_metadata=True)
    assert report.figures.rows == 30
    assert {path.name for path in tmp_path.iterdir() if "lock" not in path.name} == {
        "in.parquet",
        "out.parquet",
        "out.parquet.report.json",
    }


def test_bad_rows_of_a_table_go_to_the_side_file(tmp_path: Path) -> None:
    """Their numbers count rows; a file of bad rows alone gives an empty table."""
    given = [{"messages": json.dumps(chat(12))}, {"messages": "[1"}, {"messages": None}]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "in.parquet")
    report = compress_file(tmp_path / "in.parquet", tmp_path / "out.parquet", SMALL, engine=Pool(1))
    assert [each["number"] for each in read(tmp_path / "out.parquet.rejected.jsonl")] == [2, 3]
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1
    assert report.figures.rejected == 2
    pq.write_table(pa.Table.from_pylist(given[1:]), tmp_path / "bad.parquet")
    compress_file(tmp_path / "bad.parquet", tmp_path / "none.parquet", SMALL, engine=Pool(1))
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """The end of a Parquet file holds what is needed to read it."""
    pq.write_table(as_structs(9), tmp_path / "in.parquet")
    data = (tmp_path / "in.parquet").read_bytes()
    (tmp_path / "in.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(InvalidDataError, match=r"in.parquet: cannot be read: .*Use a Parquet file"):
        compress_file(tmp_path / "in.parquet", tmp_path / "out.parquet", SMALL, engine=Pool(1))
    with pytest.raises(InvalidOptionError, match=r"a name that ends in .parquet"):
        compress_file(tmp_path / "in.parquet", tmp_path / "out.jsonl", SMALL, engine=Pool(1))


def test_parquet_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra."""
    monkeypatch.setattr("polycontext.base.errors.is_installed", lambda _: False)
    with pytest.raises(MissingExtraError, match=r"a Parquet file needs pyarrow.*\[bulk\]"):
        reload(arrow)
