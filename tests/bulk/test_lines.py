"""Files of lines, plain or compressed, are read in pieces from any position."""

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from polycontext.base import InvalidDataError, MissingExtraError
from polycontext.bulk.lines import LineFormat, line_format
from polycontext.bulk.pieces import Piece
from tests.bulk.data_sets import as_lines, rows, saved

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
SOME = as_lines(rows(60))


def pieces(path: Path, codec: str, position: int = 0, row: int = 0) -> list[Piece]:
    """Return the pieces of a file from a position."""
    return [*LineFormat(codec, "", 100_000).pieces(path, position, row)]


@pytest.mark.parametrize("codec", PACKED)
def test_pieces_join_to_the_file_and_each_is_a_place_to_go_on(codec: str, tmp_path: Path) -> None:
    """The pieces behind the end of any piece are those of the whole file."""
    path = saved(tmp_path / "a", PACKED[codec](SOME))
    whole = pieces(path, codec)
    assert b"".join(each.data + b"\n" for each in whole) == SOME
    assert len(whole) > 5
    assert whole[-1].end == len(SOME)
    assert whole[-1].share == 1
    for index, piece in enumerate(whole[:-1]):
        again = pieces(path, codec, piece.end, whole[index + 1].start - 1)
        assert [each.data for each in again] == [each.data for each in whole[index + 1 :]]
        assert [each.start for each in again] == [each.start for each in whole[index + 1 :]]


@pytest.mark.parametrize("codec", [".gz", ".zst"])
def test_a_file_of_several_members_is_read_whole(codec: str, tmp_path: Path) -> None:
    """Compressed files are often written one after the other, as ours are."""
    parts = [PACKED[codec](SOME[start : start + 9_999]) for start in range(0, len(SOME), 9_999)]
    path = saved(tmp_path / "a", b"".join(parts))
    assert b"".join(each.data + b"\n" for each in pieces(path, codec)) == SOME


@pytest.mark.parametrize("codec", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_the_rows_before_a_damage_come_first(codec: str, damage: str, tmp_path: Path) -> None:
    """What can be read is yielded in whole rows; then the error says where the damage is."""
    data = b"".join(PACKED[codec](line + b"\n") for line in SOME.splitlines())
    half = data[: len(data) // 2]
    path = saved(tmp_path / "a", half + (b"" if damage == "cut" else b"\x28\xb5garbage"))
    found = list[Piece]()
    with pytest.raises(InvalidDataError, match=r"a, after row \d+: the file is damaged or cut off"):
        found.extend(LineFormat(codec, "").pieces(path, 0, 0))
    text = b"".join(each.data + b"\n" for each in found)
    assert SOME.startswith(text)
    assert len(text) > len(SOME) / 3


def test_blank_lines_and_a_byte_order_mark_are_left_out(tmp_path: Path) -> None:
    """Lines may end like on Windows, and the last one may lack its end."""
    path = saved(tmp_path / "a", b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"a":2}')
    (piece,) = pieces(path, "")
    assert (piece.data, piece.start, piece.end) == (b'{"a":1}\n{"a":2}', 1, path.stat().st_size)


@pytest.mark.parametrize(("start", "held"), [(b"", 1_000), (b" " * 1_001, 0)])
def test_a_row_that_is_too_long_is_cut_and_counted(tmp_path: Path, start: bytes, held: int) -> None:
    """Its number is told, its text is not held, and the rows behind it are read."""
    long = start + b'{"b":"' + b"x" * 1_000_000 + b'"}'
    path = saved(tmp_path / "a", b'{"a":1}\n' + long + b'\n{"c":3}\n')
    found = pieces(path, "")
    assert [number for each in found for number in each.oversize] == [2]
    text = b"\n".join(each.data for each in found).splitlines()
    assert [len(line) for line in text] == [7, held, 7]
    assert found[-1].end == path.stat().st_size


@pytest.mark.parametrize("text", [b"x" * 16_000_000, b"ab\n" * 30_000], ids=["line", "lines"])
@pytest.mark.parametrize("codec", PACKED)
def test_a_file_is_unpacked_in_steps(codec: str, text: bytes, tmp_path: Path) -> None:
    """A bomb takes the memory of a step, however much it unpacks to."""
    data = PACKED[codec](b'{"a":1}\n' + text + b"\n" + b'{"c":3}')
    path, read = saved(tmp_path / "a", data), 0
    tracemalloc.start()
    try:
        for piece in LineFormat(codec, "", 100_000).pieces(path, 0, 0):
            read = piece.start + piece.data.count(b"\n")
            assert len(piece.data) < 20_000
            assert read - piece.start < 100
        assert tracemalloc.get_traced_memory()[1] < 25_000_000
    finally:
        tracemalloc.stop()
    assert read == text.count(b"\n") + 3 - text.endswith(b"\n")


def test_zstd_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra; plain files need none."""
    monkeypatch.setattr("polycontext.base.errors.is_installed", lambda _: False)
    with pytest.raises(MissingExtraError, match=r"a file in zstd needs zstandard.*\[bulk\]"):
        line_format(Path("a.jsonl.zst"), Path("b.jsonl"))
    assert line_format(Path("a.jsonl"), Path("b.jsonl.gz")) == LineFormat("", ".gz")
