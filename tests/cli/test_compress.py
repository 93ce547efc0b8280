"""`polycontext compress`, as a user sees it."""

import json
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks import bulk
from polycontext.base import is_installed
from polycontext.bulk import RowCompressor, lines
from polycontext.cli import compress
from tests.bulk.data_sets import BUDGET, as_lines, little_space, read, rows, saved
from tests.cli.command import Command

BOMBS = (("bomb", ".gz"), ("bomb", ".zst"), ("line", ""), ("row", ""))
SMALL = ("--max-tokens", BUDGET, "--workers", 1)


def test_a_data_set_is_shortened_and_reported(polycontext: Command, tmp_path: Path) -> None:
    """The rows stand in the output, the report on standard output."""
    source, output = saved(tmp_path / "in.jsonl", as_lines(rows(20))), tmp_path / "out.jsonl"
    ran = polycontext("compress", source, output, *SMALL)
    assert ran.code == 0
    assert read(output) == [*map(RowCompressor(max_tokens=BUDGET), rows(20))]
    assert ran.out.startswith("rows      20, 13 shortened\ntokens    ")
    assert f"wrote {output}" in ran.err
    again = polycontext("compress", source, output, *SMALL, "--json")
    assert again.code == 0
    assert again.json()["rows"] == 20
    assert "was complete before" in again.err
    shown = polycontext("compress", source, output, *SMALL)
    assert (shown.out, "wrote" in shown.err) == (ran.out, False)


def test_rejected_rows_end_with_1(polycontext: Command, tmp_path: Path) -> None:
    """The report counts them by error, and the last line says where they are and why."""
    source = saved(tmp_path / "in.jsonl", as_lines([*rows(3), {"text": "x"}]))
    ran = polycontext("compress", source, tmp_path / "out.jsonl", *SMALL)
    assert ran.code == 1
    assert "rejected  1 InvalidDataError\n" in ran.out
    assert "1 row was rejected: " in ran.err
    assert "; row 4: messages: is missing; the columns are 'text'. Use " in ran.err
    assert [row["number"] for row in read(tmp_path / "out.jsonl.rejected.jsonl")] == [4]


@pytest.mark.gate
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("certify", "bomb.jsonl.gz"),
        *(("compress", f"{name}.jsonl{end}") for name, end in BOMBS),
    ],
)
def test_no_file_takes_more_than_300_megabytes(command: str, name: str, tmp_path: Path) -> None:
    """Small files that unpack to gigabytes, a line without an end, and a row up to the limit."""
    source = tmp_path / name
    if name == "row.jsonl":
        said = (" ".join(f"item{n}_{word}" for word in range(60)) for n in range(3_400))
        roles = cycle(("user", "assistant"))
        row = {"messages": [{"role": next(roles), "content": each} for each in said]}
        source.write_text(json.dumps(row) + "\nnot JSON\n", encoding="utf-8")
    else:
        bulk.bomb(source, 400)
    output = [tmp_path / "out.jsonl"] if command == "compress" else []
    _, megabytes = bulk.measured(command, source, *output, "--max-tokens", 1_000)
    assert megabytes < 300


def test_an_interrupted_run_says_how_to_go_on(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command continues it; another one is refused in one line."""
    monkeypatch.setattr(lines, "PIECE_BYTES", 8_000)
    monkeypatch.setattr(lines, "_BLOCK", 8_000)
    source, output = saved(tmp_path / "in.jsonl", as_lines(rows(30))), tmp_path / "out.jsonl"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(compress, "progress", lambda *_: nullcontext(interrupt))
        ran = polycontext("compress", source, output, *SMALL)
    assert (ran.code, "run the same command again to go on" in ran.err) == (130, True)
    ran = polycontext("compress", source, output, "--max-tokens", 700)
    assert "out.jsonl: is unfinished, and its run had another max_tokens. Use the" in ran.complaint
    assert polycontext("compress", source, output, *SMALL).code == 0
    assert len(read(output)) == 30


def test_what_cannot_be_done_is_one_line(polycontext: Command, tmp_path: Path) -> None:
    """No size, no input, an input that is cut off, an output that cannot be written."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(3)))
    ran = polycontext("compress", source, tmp_path / "o.jsonl")
    assert (ran.code, ran.complaint) == (2, "the budget has no size. Pass --max-tokens or --model.")
    ran = polycontext("compress", tmp_path / "no.jsonl", tmp_path / "o.jsonl", *SMALL)
    assert ran.code == 2
    assert "no.jsonl: cannot be read: no such file" in ran.complaint
    with little_space(2_000):
        ran = polycontext("compress", source, tmp_path / "o.jsonl", *SMALL)
    assert ran.code == 1
    assert "o.jsonl: cannot be written: file too large. Finished rows are kept" in ran.complaint


def test_an_engine_takes_its_own_options(polycontext: Command, tmp_path: Path) -> None:
    """Workers are the pool's, an address is a cluster's, and the cluster needs its extra."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(3)))
    asked = ("compress", source, tmp_path / "o.jsonl", "--max-tokens", BUDGET)
    ran = polycontext(*asked, "--engine", "ray", "--workers", 2)
    assert (ran.code, "Ray uses the whole cluster" in ran.complaint) == (2, True)
    ran = polycontext(*asked, "--address", "auto")
    assert (ran.code, "Pass --engine ray, too" in ran.complaint) == (2, True)
    if not is_installed("ray"):
        ran = polycontext(*asked, "--engine", "ray")
        assert (ran.code, "needs ray" in ran.complaint) == (2, True)
