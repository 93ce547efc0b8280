"""Mutate the code of each room and count the mutants that its tests detect.

Usage: uv run --group mutation python .ci/mutants.py [ROOM ...] [--sample N] [--again] [--workers N]

mutmut expects a package at the path that its name implies, so each room is tested in a folder of
its own, ``build/mutants/ROOM``, laid out as ``polycontext/ROOM``. An interrupted run resumes where
it stopped.
"""

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "mutants"
MUTATED = ("linearity", "window", "pressure", "polynomial")
COPIED = ("front", *MUTATED, "nodes", "apps")
TESTS = ("tests", "benchmarks", "docs")
"""The tests, and the folders that they read."""
STRICT = "tests/testing/strict"
BESIDE = {
    "window": (
        f"{STRICT}/test_bad_anthropic.py",
        f"{STRICT}/test_openai_refusals.py",
        f"{STRICT}/test_incremental_verdicts.py",
        f"{STRICT}/test_strict_anthropic.py",
        f"{STRICT}/test_strict_chat.py",
        f"{STRICT}/test_strict_responses.py",
    )
}
"""Tests of a room that live elsewhere: strict stand-ins check the rules of requests."""
LEFT_OUT = ("errors.py", "*/errors.py", "laws/*", "law.py")
"""Error texts, the laws, which are tests themselves, and code that reads the call stack.

mutmut adds a frame to the call stack.
"""

READ_THE_STACK = (
    "tests/window/items/test_codec.py::test_a_near_miss_in_a_document_is_pointed_at",
    "tests/window/items/test_metadata.py::test_a_near_miss_of_a_known_key_is_pointed_at",
)
"""Tests of where a warning points, which fail because of mutmut's frame on the call stack."""
PYTEST = [
    "-p",
    "no:cacheprovider",
    "--ignore-glob=*recordings*",
    *(f"--deselect={test}" for test in READ_THE_STACK),
]
LAWS = "(not test_laws.py or [{room}.) and not test_what_a_law_is_about_is_drawn"
"""The tests of a room's own laws; tests of the strategies are left out."""
CONFIG = """
[tool.mutmut]
source_paths = ["polycontext"]
only_mutate = ["polycontext/{room}/*"]
do_not_mutate = {left_out}
do_not_mutate_patterns = ['^\\s*raise ', '\\bcast\\(']
pytest_add_cli_args = {pytest}
pytest_add_cli_args_test_selection = {tests}
timeout_constant = 3.0
timeout_multiplier = 3.0
use_git_change_detection = false
on_dependency_change = "ignore"
"""
NEAREST_FIRST = """
import json, sys, pytest

class NearestFirst:
    def pytest_collection_modifyitems(self, items):
        with open("mutmut-stats.json") as file:
            known = json.load(file)
        seconds, calls = known["duration_by_test"], known["tests_by_mangled_function_name"]
        near = {
            test
            for name, tests in calls.items()
            if name.rpartition(".")[0] == sys.argv[1]
            for test in tests
        }
        items.sort(key=lambda item: (item.nodeid not in near, seconds.get(item.nodeid, 0)))

sys.exit(pytest.main(sys.argv[2:], plugins=[NearestFirst()]))
"""
"""A program that runs the tests in a new process.

Tests that call the mutant's module run first, and among them the fastest.
"""
VERDICTS = {
    None: "pending",
    0: "survived",
    1: "killed",
    3: "killed",
    5: "not covered",
    33: "not covered",
    -9: "timeout",
    -24: "timeout",
}
UNNOTICED = ("survived", "not covered")
UNBROKEN = ""
FRESH_SECONDS = 600
COLUMNS = ("mutants", "killed", "timeout", "survived", "not covered")


def plain_properties(source: str) -> str:
    r"""Return `source` with ``name = property(name)`` instead of each ``@property``.

    mutmut skips decorated functions.

    >>> print(
    ...     plain_properties("class A:\n    @property\n    def one(self):\n        return 1\n"),
    ...     end="",
    ... )
    class A:
        def one(self):
            return 1
        one = property(one)
    """
    lines = source.splitlines()
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and _is_property(node)
    ]
    for node in sorted(found, key=lambda node: node.lineno, reverse=True):
        lines.insert(
            node.end_lineno or node.lineno,
            f"{' ' * node.col_offset}{node.name} = property({node.name})",
        )
        del lines[node.decorator_list[0].lineno - 1]
    return "\n".join(lines) + "\n"


def whole_protocols(source: str) -> str:
    r"""Return `source` with protocols excluded from mutation.

    A mutant beside a method would be one more method that `isinstance` requires.

    >>> print(whole_protocols("class A(Protocol):\n    def one(self, two=2): ...\n"), end="")
    class A(Protocol):  # pragma: no mutate block
        def one(self, two=2): ...
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any(
            ast.unparse(base).startswith("Protocol") for base in node.bases
        ):
            lines[node.lineno - 1] += "  # pragma: no mutate block"
    return "\n".join(lines) + "\n"


def _is_property(node: ast.FunctionDef) -> bool:
    return [ast.unparse(decorator) for decorator in node.decorator_list] == ["property"]


def prepare(room: str) -> Path:
    """Lay out the folder in which `room` is mutated.

    Unchanged files keep their modification times and so their verdicts.
    """
    work = WORK / room
    if not _has_config(work, room):
        shutil.rmtree(work, ignore_errors=True)
    wanted = {path: _read(room, path) for copied in COPIED for path in _files(ROOT / copied)}
    for path, content in wanted.items():
        _write(work / _installed(path), content)
    kept = set(map(_installed, wanted))
    # If mutmut does not run again, nothing else copies the tests beside its mutants.
    for copy in (work, work / "mutants"):
        for folder in TESTS:
            shutil.rmtree(copy / folder, ignore_errors=True)
            shutil.copytree(
                ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__")
            )
        for path in _files(copy / "polycontext"):
            if path.suffix == ".py" and path.relative_to(copy) not in kept:
                path.unlink()
    _write(work / "pyproject.toml", (ROOT / "pyproject.toml").read_bytes() + _config(room).encode())
    return work


def _installed(path: Path) -> Path:
    """Return the path from which a file of the tree is imported; ``front/`` is the package."""
    parts = path.relative_to(ROOT).parts
    return Path("polycontext", *parts[parts[0] == "front" :])


def _files(folder: Path) -> Iterator[Path]:
    return (
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def _read(room: str, path: Path) -> bytes:
    content = path.read_bytes()
    return (
        plain_properties(whole_protocols(content.decode())).encode()
        if path.suffix == ".py" and path.is_relative_to(ROOT / room)
        else content
    )


def _write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _has_config(work: Path, room: str) -> bool:
    made = work / "pyproject.toml"
    return made.exists() and made.read_text(encoding="utf-8").endswith(_config(room))


def _tests(room: str) -> list[str]:
    return [f"tests/{room}", *BESIDE.get(room, ()), "tests/laws"]


def _pytest(room: str) -> list[str]:
    return [*PYTEST, "-k", LAWS.format(room=room)]


def _config(room: str) -> str:
    left_out = [f"polycontext/{room}/{name}" for name in LEFT_OUT]
    return CONFIG.format(
        room=room,
        left_out=json.dumps(left_out),
        pytest=json.dumps(_pytest(room)),
        tests=json.dumps(_tests(room)),
    )


def mutants_of(work: Path, room: str) -> list[str]:
    """Return the names of all mutants of `room`, in an order independent of the file system."""
    import_module("mutmut.configuration").reset_config()
    should_mutate = import_module("mutmut.configuration").config().should_mutate
    mutate = import_module("mutmut.mutation.file_mutation").mutate_file_contents
    name_of = import_module("mutmut.utils.format_utils").get_mutant_name
    paths = [
        path.relative_to(work)
        for path in sorted((work / "polycontext" / room).rglob("*.py"))
        if should_mutate(path.relative_to(work))
    ]
    return [
        name_of(path, name)
        for path in paths
        for name in mutate(str(path), path.read_text(encoding="utf-8")).mutant_names
    ]


def verdicts(work: Path, room: str) -> dict[str, str]:
    """Return the verdict on each mutant of `room`.

    A mutant that nothing killed in mutmut's run gets the verdict of its fresh run instead. After a
    file changes, its mutants have no verdict until mutmut has looked at it; mutmut keeps what it
    can.
    """
    found: dict[str, str] = {}
    mutated = work / "mutants"
    for path in (mutated / "polycontext" / room).rglob("*.meta"):
        source = work / path.relative_to(mutated).with_suffix("")
        if source.exists() and source.stat().st_mtime < path.stat().st_mtime:
            codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
            found |= {name: VERDICTS.get(code, "timeout") for name, code in codes.items()}
    afresh = _afresh(work)
    return {
        name: afresh.get(name, verdict) if verdict in UNNOTICED else verdict
        for name, verdict in found.items()
    }


def _afresh(work: Path) -> dict[str, str]:
    path = work / "afresh.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _keep_afresh(work: Path, found: Mapping[str, str]) -> None:
    _write(work / "afresh.json", json.dumps(found).encode())


def run(work: Path, names: Sequence[str], workers: int) -> None:
    """Run mutmut on the mutants called `names`, or on all without a verdict; it prints progress."""
    if _python(work, "-m", "mutmut", "run", "--max-children", str(workers), *names).returncode:
        sys.exit(
            f"mutmut stopped; once the reason above is mended, {work.relative_to(ROOT)} is gone "
            "on with"
        )


def run_afresh(work: Path, room: str, names: Sequence[str], workers: int) -> None:
    """Retry the surviving mutants among `names`, each in a new process.

    mutmut forks its workers, so objects created before the fork are not mutated.
    """
    known, found = verdicts(work, room), _afresh(work)
    due = [name for name in names if known[name] in UNNOTICED and name not in found]
    print(f"{room}: {len(due)} survivors to try afresh", flush=True)
    if due and _tried_afresh(work, room, UNBROKEN) != "survived":
        sys.exit(
            f"the tests of {room} fail on code that is not broken; see what uv run pytest "
            f"{' '.join(_tests(room))} says"
        )
    with ThreadPoolExecutor(workers) as pool:
        for name, verdict in zip(
            due, pool.map(lambda name: _tried_afresh(work, room, name), due), strict=True
        ):
            print(f"{verdict}: {name}", flush=True)
            found[name] = verdict
            _keep_afresh(work, found)


def _tried_afresh(work: Path, room: str, name: str) -> str:
    arguments = [
        "-c",
        NEAREST_FIRST,
        name.rpartition(".")[0],
        "--rootdir=.",
        "-x",
        "-q",
        *_pytest(room),
        *_tests(room),
    ]
    try:
        done = _python(
            work / "mutants",
            *arguments,
            mutant=name,
            stdout=subprocess.DEVNULL,
            timeout=FRESH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    return "killed" if done.returncode else "survived"


def _python(
    folder: Path, *arguments: str, mutant: str = "", **options: Any
) -> subprocess.CompletedProcess[str]:
    chosen = {
        "HYPOTHESIS_PROFILE": "mutation",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(folder),
        "MUTANT_UNDER_TEST": mutant,
    }
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **chosen},
        check=False,
        text=True,
        **options,
    )


def try_room(room: str, sample: int | None, workers: int, *, again: bool) -> Counter[str]:
    """Try the mutants of `room` that have no verdict yet, or with `again` those not killed.

    Return the count of each verdict.
    """
    work = prepare(room)
    os.chdir(work)  # mutmut reads its configuration from the current directory
    names = mutants_of(work, room)
    if sample is not None:
        names = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:sample]
    known = verdicts(work, room)
    wanted = {"pending", "timeout", *UNNOTICED} if again else {"pending"}
    due = [name for name in names if known.get(name, "pending") in wanted]
    print(f"{room}: {len(due)} of {len(names)} mutants to try", flush=True)
    if due:
        _keep_afresh(
            work, {name: verdict for name, verdict in _afresh(work).items() if name not in due}
        )
        run(work, due if again or sample else [], workers)
    run_afresh(work, room, names, workers)
    known = verdicts(work, room)
    survivors = [name for name in names if known[name] in UNNOTICED]
    _write(work / "survivors.diff", "\n\n".join(map(_change, survivors)).encode())
    return Counter(known[name] for name in names)


def _change(name: str) -> str:
    diffs = import_module("mutmut.mutation.diff_apply")
    return f"# {name}\n{diffs.get_diff_for_mutant(name, path=diffs.find_mutant(name).path)}"


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Return the count of each verdict in each room, and the share of mutants detected.

    >>> print(table({"window": Counter(killed=8, timeout=1, survived=1)}))
    | room | mutants | killed | timeout | survived | not covered | score |
    |---|---|---|---|---|---|---|
    | window | 10 | 8 | 1 | 1 | 0 | 90.0 % |
    """
    lines = [f"| room | {' | '.join(COLUMNS)} | score |", "|---" * (len(COLUMNS) + 2) + "|"]
    for room, count in counts.items():
        cells = [count.total(), *(count[column] for column in COLUMNS[1:])]
        noticed = 100 * (count["killed"] + count["timeout"]) / (count.total() or 1)
        lines.append(f"| {room} | {' | '.join(map(str, cells))} | {noticed:.1f} % |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the requested rooms one after the other, and print the table."""
    parser = argparse.ArgumentParser(
        prog="just mutants", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"default: {' '.join(MUTATED)}")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="try only N mutants a room: those whose names have the lowest hashes",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="try once more what was not killed, after the tests have changed",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at once (default: one a core)",
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.rooms) - set(MUTATED):
        parser.error(f"no such room: {', '.join(sorted(unknown))}. Use {', '.join(MUTATED)}.")
    rooms = options.rooms or MUTATED
    counts = {
        room: try_room(room, options.sample, options.workers, again=options.again) for room in rooms
    }
    print(
        f"\n{table(counts)}\n\nWhat survived stands in {WORK.relative_to(ROOT)}/ROOM/survivors.diff"
    )


if __name__ == "__main__":
    main()
