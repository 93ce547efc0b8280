"""Measure data sets on all cores: throughput, scaling, kills and memory.

Usage: just bench bulk throughput | cores | kills | memory | bombs [--number N]

Conversations are recordings with other digits, so that no row repeats another. CPU seconds are
reported, because other work on the machine does not change them much.
"""

import argparse
import filecmp
import gzip
import json
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import zstandard

from polycontext.bulk.pool import tune
from polycontext.polynomial import project

DATA = Path(__file__).resolve().parents[1] / "../shared/data/tau_airline_gpt4o.jsonl"
BUDGET = 2_000
BATCH, KILLS = 100, 10
_DIGITS = re.compile(r"(?<=\D)\d{2,}(?=\D)")


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the recorded conversations with the digits of longer numbers exchanged."""
    draw = random.Random(seed)  # noqa: S311 - data
    for line in DATA.read_text(encoding="utf-8").splitlines():
        digits = list("0123456789")
        draw.shuffle(digits)
        exchanged = partial(_exchanged, str.maketrans("0123456789", "".join(digits)))
        first, *others = json.loads(line)["messages"]
        text = _DIGITS.sub(exchanged, json.dumps(others))
        yield {"id": seed, "messages": [first, *json.loads(_unled(text))]}


def _exchanged(table: Mapping[int, int], found: re.Match[str]) -> str:
    return found[0].translate(table)


def _unled(text: str) -> str:
    """Return JSON text without numbers that begin with 0, which JSON does not have."""
    return re.sub(r"(?<=[:\[ ,-])0(?=\d)", "1", text)


def generate(path: Path, number: int) -> Path:
    """Write a data set of so many conversations."""
    with path.open("w", encoding="utf-8") as file:
        left, seed = number, 0
        while left > 0:
            for row in rows(seed):
                if left > 0:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                left -= 1
            seed += 1
    return path


# --- throughput -------------------------------------------------------------


def throughput(number: int) -> None:
    """Print what one core shortens in a second."""
    tune()
    batches = max(1, number // BATCH)
    spent, total = 0.0, 0
    for batch in range(-1, batches):  # the first one warms up
        given = [row["messages"] for row in rows(batch + 1)]
        began = time.process_time()
        tokens = sum(project(messages, max_tokens=BUDGET).tokens_before for messages in given)
        if batch >= 0:
            spent += time.process_time() - began
            total += tokens
    print(f"{batches * BATCH / spent:.1f} conversations/s, {total / spent:,.0f} tokens/s")


# --- runs of the command ----------------------------------------------------


def command(source: Path, output: Path, workers: int) -> list[str]:
    """Return the command that shortens a data set."""
    return [
        *(sys.executable, "-m", "polycontext", "compress", str(source), str(output), "--quiet"),
        *("--max-tokens", str(BUDGET), "--workers", str(workers)),
    ]


def timed(source: Path, output: Path, workers: int) -> tuple[float, float]:
    """Return the seconds on the clock and of the CPU that a run takes."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command(source, output, workers), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


def cores(folder: Path, number: int) -> None:
    """Print what two workers gain over one, and the most memory of each process."""
    source = generate(folder / "in.jsonl", number)
    (one, one_cpu), (two, two_cpu) = (
        timed(source, folder / f"out{workers}.jsonl", workers) for workers in (1, 2)
    )
    same = filecmp.cmp(folder / "out1.jsonl", folder / "out2.jsonl", shallow=False)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{number:,} conversations, equal: {same}, {most:,.0f} MB a process")
    print(f"one worker   {one:,.0f} s, {one_cpu:,.0f} s CPU")
    print(f"two workers  {two:,.0f} s, {two_cpu:,.0f} s CPU")
    print(f"ratio        {one / two:.2f} on the clock; {2 * one_cpu / two_cpu:.2f} by the CPU")


def kills(folder: Path, number: int) -> None:
    """Print whether a run that is killed ten times leaves what an undisturbed run leaves."""
    source = generate(folder / "in.jsonl", number)
    timed(source, folder / "whole.jsonl", 2)
    output, draw, killed = folder / "out.jsonl", random.Random(7), 0  # noqa: S311 - moments
    while not output.exists():
        with subprocess.Popen(  # noqa: S603 - our own command
            command(source, output, 2), stdout=subprocess.DEVNULL, start_new_session=True
        ) as process:
            if killed < KILLS:
                progress = output.with_name("out.jsonl.progress.json")
                before = progress.stat().st_mtime_ns if progress.exists() else 0
                while process.poll() is None and (
                    not progress.exists() or progress.stat().st_mtime_ns == before
                ):
                    time.sleep(0.05)
                time.sleep(draw.random())
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    killed += 1
            process.wait()
    same = filecmp.cmp(output, folder / "whole.jsonl", shallow=False)
    print(f"{number:,} conversations, killed {killed} times, equal: {same}")


def memory(folder: Path, number: int) -> None:
    """Print the most memory of each process over a file of so many MB, of rows that fit."""
    source, size = folder / "in.jsonl", 0
    text = " ".join(f"word{n % 977} and" for n in range(600))
    with source.open("w", encoding="utf-8") as file:
        while size < number * 1_000_000:
            row = {"id": size, "notes": text * 8, "messages": [{"role": "user", "content": "Hi!"}]}
            size += file.write(json.dumps(row) + "\n")
    spent, cpu = timed(source, folder / "out.jsonl", 2)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{size / 1e9:.1f} GB in {spent:,.0f} s ({cpu:,.0f} s CPU), {most:,.0f} MB a process")


# --- bombs ------------------------------------------------------------------


def bomb(path: Path, megabytes: int) -> Path:
    """Write a row, a line of so many MB of one letter, and a row, packed as the name says."""
    row, part = b'{"messages": [{"role": "user", "content": "Hello!"}]}\n', b"x" * 1_000_000
    pack: Any
    match path.suffix:
        case ".gz":
            pack = gzip.GzipFile(path, "wb")
        case ".zst":
            pack = zstandard.open(path, "wb")
        case _:
            pack = path.open("wb")
    with pack as file:
        file.write(row)
        for _ in range(megabytes):
            file.write(part)
        file.write(b"\n" + row)
    return path


# A process starts at the peak of the one that it is forked from, so a small one starts the command.
MEASURE = """
import json, resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([ran.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def measured(*arguments: object) -> tuple[float, float]:
    """Return the CPU seconds and the peak megabytes of the largest process of a command."""
    command = [sys.executable, "-m", "polycontext", *map(str, arguments)]
    ran = subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True)  # noqa: S603
    code, cpu, most = json.loads(ran.stdout)
    assert code == 1, "a row is rejected, or no budget passes"
    return cpu, most


def bombs(folder: Path, number: int) -> None:
    """Print what a line of so many MB costs, packed and plain."""
    for name in ("bomb.jsonl.gz", "bomb.jsonl.zst", "line.jsonl"):
        source = bomb(folder / name, number)
        for command, output in (("compress", [folder / f"out-{name}"]), ("certify", [])):
            cpu, most = measured(command, source, *output, "--max-tokens", BUDGET)
            size = f"{source.stat().st_size:,} bytes, unpacked {number:,} MB"
            print(f"{command:<8} {name:<14} {size}: {cpu:.1f} s CPU, {most:,.0f} MB a process")


def main() -> None:
    """Run the named measurement."""
    measures: dict[str, tuple[Callable[[Path, int], None], int]] = {
        "cores": (cores, 20_000),
        "kills": (kills, 1_000),
        "memory": (memory, 10_000),
        "bombs": (bombs, 2_000),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measure", choices=["throughput", *measures])
    parser.add_argument("--number", type=int, help="conversations, or MB for memory")
    parser.add_argument("--folder", type=Path, help="where the files are written")
    asked = parser.parse_args()
    if asked.measure == "throughput":
        throughput(asked.number or 600)
        return
    measure, number = measures[asked.measure]
    with TemporaryDirectory(dir=asked.folder) as folder:
        measure(Path(folder), asked.number or number)


if __name__ == "__main__":
    main()
