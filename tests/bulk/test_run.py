"""A run over a file survives interruption, and a broken input or disk costs no finished row."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.bulk import Pool, RowCompressor, compress_file, run
from polycontext.bulk.run import Progress, Report
from polycontext.polynomial.stores import FileLock
from tests.bulk.data_sets import BUDGET, as_lines, little_space, read, rows, saved
from tests.cli.command import chat
from tests.house import ROOT

SMALL = RowCompressor(max_tokens=BUDGET)
HERE = Pool(1)


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run note each piece."""
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", 0.0)


def compressed(source: Path, name: str = "out.jsonl", **options: Any) -> tuple[Path, Report]:
    """Return the output beside the input, and the report."""
    output = source.with_name(name)
    return output, compress_file(source, output, SMALL, engine=HERE, **options)


def beside(output: Path) -> set[str]:
    """Return the ends of the names of the files that a run left."""
    return {path.name.removeprefix(output.name) for path in output.parent.glob(f"{output.name}*")}


def test_rows_keep_their_order_and_a_row_that_fits_its_bytes(tmp_path: Path) -> None:
    """The output has a line for each row; the report sums what was done."""
    given = rows(30)
    source = saved(tmp_path / "in.jsonl", as_lines(given))
    output, report = compressed(source)
    assert read(output) == [*map(SMALL, given)]
    fits = source.read_bytes().splitlines()[0]
    assert output.read_bytes().splitlines()[0] == fits
    assert beside(output) == {"", ".report.json"}
    figures = report.figures
    assert (figures.rows, figures.shortened, figures.rejected) == (30, 20, 0)
    assert figures.tokens_after < figures.tokens_before
    assert json.loads((tmp_path / "out.jsonl.report.json").read_bytes()) | figures.as_json() == (
        json.loads((tmp_path / "out.jsonl.report.json").read_bytes())
    )


def test_the_report_counts_messages_by_class_and_rules(tmp_path: Path) -> None:
    """Every message has a class and a fate; a rule that stands verbatim is kept."""
    messages = chat(12)
    messages[2]["content"] += ". From now on, never suggest a flight."
    source = saved(tmp_path / "in.jsonl", as_lines([{"messages": messages}]))
    told = compressed(source)[1].figures.as_json()
    assert sum(count for fates in told["messages"].values() for count in fates.values()) == 12
    assert told["messages"]["PRESERVED"] == {"kept": 1, "summarised": 0, "dropped": 0}
    assert told["rules"] == {"stated": 1, "kept": 1}
    assert told["tokens"]["out"] <= BUDGET < told["tokens"]["in"]


def test_bad_rows_go_to_a_file_of_their_own(tmp_path: Path) -> None:
    """Each has its number, the kind of error, the reason and the row; the others are done."""
    bad = [
        b'{"messages": [{"role": "user", "content": "\xff"}]}',
        b"not JSON",
        b'{"text": "no messages"}',
        b"[" * 40_000,
        b'{"messages": [{"role": "poet", "content": "x"}]}',
        b'{"messages": [{"role": "user", "content": "' + b"x " * 2_000_000 + b'"}]}',
        b'{"messages": [' + b"{}," * 70_000 + b"{}]}",
        b'{"messages": [{"role": "user", "content": "' + rb"a: 1\n" * 140_000 + b'"}]}',
    ]
    good = as_lines(rows(9)).splitlines()
    mixed = [line for pair in zip(good, [*bad, b""], strict=True) for line in pair]
    output, report = compressed(saved(tmp_path / "in.jsonl", b"\n".join(mixed)))
    assert read(output) == [*map(SMALL, rows(9))]
    told = read(tmp_path / "out.jsonl.rejected.jsonl")
    assert [each["number"] for each in told] == [2, 4, 6, 8, 10, 12, 14, 16]
    reasons = (
        "0xff",
        "not JSON",
        "messages: is missing",
        "nested",
        "openai rule",
        "longer than",
        "objects",
        "lines of text",
    )
    for record, reason in zip(told, reasons, strict=True):
        assert reason in record["reason"]
    assert told[2]["row"] == {"text": "no messages"}
    assert report.figures.as_json()["rejected"] == {
        "InvalidDataError": 7,
        "InvalidMessagesError": 1,
    }


def test_half_of_a_surrogate_pair_is_written_as_it_was(tmp_path: Path) -> None:
    """JSON may name a character that UTF-8 cannot hold; the row stays JSON."""
    row = {"label": "\ud83d", "messages": chat(12)}
    source = saved(tmp_path / "in.jsonl", json.dumps(row).encode())
    assert read(compressed(source)[0]) == [SMALL(row)]


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_compressed_files_hold_the_same_rows(end: str, tmp_path: Path) -> None:
    """The names say how the files are compressed; other tools read them."""
    packed = gzip.compress(as_lines(rows(30)))
    output, _ = compressed(saved(tmp_path / "in.jsonl.gz", packed), f"out.jsonl{end}")
    data = output.read_bytes()
    if end == ".gz":
        data = gzip.decompress(data)
    elif end == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            data = stream.read()
    assert [json.loads(line) for line in data.splitlines()] == [*map(SMALL, rows(30))]


# --- interruption -----------------------------------------------------------


class StoppedError(Exception):
    """Stands for whatever ends a process."""


def stopping(after: int) -> Any:
    """Return an `advance` that raises after so many pieces."""
    left = iter(range(after))

    def advance(_: Progress) -> None:
        if next(left, None) is None:
            raise StoppedError

    return advance


@pytest.mark.parametrize("end", ["", ".gz"])
def test_the_same_call_goes_on_after_an_interruption(end: str, tmp_path: Path) -> None:
    """Rows behind the checkpoint are cut off, torn ones too: the bytes are those of one run."""
    given = as_lines([*rows(30), {"text": "bad"}, *rows(30)])
    whole, report = compressed(saved(tmp_path / "in.jsonl", given), f"whole.jsonl{end}")
    name = f"out.jsonl{end}"
    partial, rejected = (tmp_path / f"{name}.{each}" for each in ("partial", "rejected.jsonl"))
    for _ in range(3):
        with pytest.raises(StoppedError):
            compressed(tmp_path / "in.jsonl", name, advance=stopping(2))
        assert not (tmp_path / name).exists()
        for path in (partial, rejected):  # as a kill leaves them
            path.write_bytes(path.read_bytes() + b'{"torn": "l')
    output, again = compressed(tmp_path / "in.jsonl", name)
    assert output.read_bytes() == whole.read_bytes()
    assert rejected.read_bytes() == (tmp_path / f"{whole.name}.rejected.jsonl").read_bytes()
    assert again.figures == report.figures
    assert beside(output) == {"", ".report.json", ".rejected.jsonl"}


@pytest.mark.parametrize("step", ["report.json", "progress.json"])
def test_an_end_at_the_last_step_loses_nothing(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two steps of finishing, the same call finishes or finds the run complete."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(20)))
    whole, _ = compressed(source, "whole.jsonl")
    replace, unlink = Path.replace, Path.unlink

    def stop(path: Path, *rest: Any, **more: Any) -> Any:
        before = replace if rest else unlink
        if path.name.endswith(("out.jsonl.partial", f"out.jsonl.{step}")):
            raise StoppedError
        return before(path, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace" if step == "report.json" else "unlink", stop)
        with pytest.raises(StoppedError):
            compressed(source)
    output, report = compressed(source)
    assert output.read_bytes() == whole.read_bytes()
    assert beside(output) == {"", ".report.json"}
    assert report.was_complete == (step == "progress.json")


def test_a_complete_run_is_not_repeated_and_no_other_file_is_overwritten(tmp_path: Path) -> None:
    """The same call returns the report; other options or a strange file are refused."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(20)))
    output, first = compressed(source)
    before = output.stat().st_mtime_ns
    again = compressed(source)[1]
    assert again.was_complete
    assert again.figures == first.figures
    assert output.stat().st_mtime_ns == before
    with pytest.raises(InvalidDataError, match=r"out.jsonl: exists already. Use another name"):
        compress_file(source, output, RowCompressor(max_tokens=700), engine=HERE)
    with pytest.raises(InvalidDataError, match=r"in.jsonl: is the input. Use the name of another"):
        compress_file(source, source, SMALL, engine=HERE)


def test_an_unfinished_run_is_not_mixed_with_another(tmp_path: Path) -> None:
    """Other options, or another input, would give rows of two kinds in one file."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(30)))
    with pytest.raises(StoppedError):
        compressed(source, advance=stopping(2))
    other = RowCompressor(max_tokens=700, repair=True)
    with pytest.raises(
        InvalidDataError, match=r"another max_tokens and another repair\. Use the same"
    ):
        compress_file(source, tmp_path / "out.jsonl", other, engine=HERE)
    source.write_bytes(source.read_bytes().replace(b"w0x1", b"w0x2"))
    with pytest.raises(InvalidDataError, match=r"another input\. Use the same"):
        compressed(source)


def test_two_processes_do_not_write_one_output(tmp_path: Path) -> None:
    """The second is refused while the first runs."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(10)))
    lock = FileLock(tmp_path / "out.jsonl.lock")
    assert lock.acquire(0)
    with pytest.raises(InvalidDataError, match="is written by a running process"):
        compressed(source)
    lock.release()
    compressed(source)
    assert not [*tmp_path.glob("out.jsonl.lock"), *tmp_path.glob("out.jsonl.next")]


KILLED = """
import sys
from polycontext.bulk import Pool, RowCompressor, compress_file, lines
if __name__ == "__main__":
    lines.PIECE_BYTES = 8_000
    compress_file(sys.argv[1], sys.argv[2], RowCompressor(max_tokens=600), engine=Pool(1))
"""


@pytest.mark.gate
@pytest.mark.no_cover
def test_a_process_killed_twice_leaves_what_one_run_leaves(tmp_path: Path) -> None:
    """SIGKILL gives no time to write anything; the next process goes on at the checkpoint."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(1_500)))
    whole, _ = compressed(source, "whole.jsonl")
    output, script = tmp_path / "out.jsonl", saved(tmp_path / "run.py", KILLED.encode())
    kills = 0
    while not output.exists():
        process = subprocess.Popen([sys.executable, script, source, output], cwd=ROOT)
        for _ in iter(process.poll, 0):  # until it has ended well
            time.sleep(0.01)
            if kills < 2 and (tmp_path / "out.jsonl.progress.json").exists():
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                break
    assert kills == 2
    assert output.read_bytes() == whole.read_bytes()


# --- broken inputs and disks ------------------------------------------------


def test_the_rows_of_a_file_that_is_cut_off_are_kept(tmp_path: Path) -> None:
    """The error says where it is damaged; with the whole file, the same call goes on from there."""
    data = gzip.compress(as_lines(rows(90)))
    source = saved(tmp_path / "in.jsonl.gz", data[: len(data) // 2])
    with pytest.raises(InvalidDataError, match=r"in.jsonl.gz, after row \d+: the file is damaged"):
        compressed(source)
    kept = read(tmp_path / "out.jsonl.partial")
    assert kept == [*map(SMALL, rows(90)[: len(kept)])]
    assert len(kept) > 10
    source.write_bytes(data)
    output, report = compressed(source)
    assert read(output) == [*map(SMALL, rows(90))]
    assert report.figures.rows == 90


def test_a_missing_input_is_refused(tmp_path: Path) -> None:
    """The error names the file, and no output appears."""
    with pytest.raises(InvalidDataError, match=r"in.jsonl: cannot be read: no such file"):
        compressed(tmp_path / "in.jsonl")
    assert not [path for path in tmp_path.iterdir() if path.name != "out.jsonl.lock"]
    with pytest.raises(InvalidOptionError, match=r"a name that ends in .jsonl, .jsonl.gz"):
        compressed(saved(tmp_path / "in.csv", b"a,b\n"))


def test_finished_rows_are_kept_if_there_is_no_space(tmp_path: Path) -> None:
    """The system's error is raised; with space, the same call goes on."""
    source = saved(tmp_path / "in.jsonl", as_lines(rows(60)))
    whole, _ = compressed(source, "whole.jsonl")
    with little_space(40_000), pytest.raises(OSError, match="File too large"):
        compressed(source)
    progress = json.loads((tmp_path / "out.jsonl.progress.json").read_bytes())
    kept = (tmp_path / "out.jsonl.partial").read_bytes()[: progress["progress"]["output"]]
    assert whole.read_bytes().startswith(kept)
    assert len(kept) > 20_000
    assert compressed(source)[0].read_bytes() == whole.read_bytes()
