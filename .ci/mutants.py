"""Show which tests catch which mutants of shipped files, and which tests no mutant needs.

Usage: python .ci/mutants.py FILE ... [--tests PATH ...] [--number N] [--seed N] [--first]

A mutant is one small mistake in a function: a condition negated, an operator or a constant changed,
a value not returned, an argument or a statement removed. The tests are collected once. Each mutant
has a fork of the process, which exchanges the code of the function and runs the tests that execute
the mutant's line. So a mutant is not seen by other processes that a test starts, nor by what is
computed while modules are imported: judge such tests by reading them.
"""

# mutmut and cosmic-ray do not know `package-dir`, and collect the tests anew for each mutant.

import argparse
import ast
import copy
import gc
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 20.0
"""Seconds that a mutant's tests may take beyond five times what they take without it."""
PAIRS: list[tuple[type[Any], type[Any]]] = [
    (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv),
]  # fmt: skip
OPPOSITE = dict(PAIRS) | {second: first for first, second in PAIRS}
NOT_RUN = {"annotation", "decorator_list", "returns"}
Tests = dict[str, set[str]]


class Mutant(NamedTuple):
    """A file with one mistake, and the lines that execute it."""

    file: str
    lines: range
    name: str
    code: Callable[[], CodeType]


def spots(parent: ast.AST, lines: range) -> Iterator[tuple[Any, Any, Any, range]]:
    """Yield the nodes below a node: what holds each, under which key, and its lines."""
    fields = (each for each in ast.iter_fields(parent) if each[0] not in NOT_RUN)
    for field, value in fields:
        is_list = isinstance(value, list)
        for key, node in enumerate(value) if is_list else [(field, value)]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.arguments):
                within = lines
                if isinstance(node, ast.expr | ast.stmt):
                    last = node.lineno if hasattr(node, "body") else node.end_lineno or node.lineno
                    within = range(node.lineno, last + 1)
                yield value if is_list else vars(parent), key, node, within
                yield from spots(node, within)


def changes(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a mutant has in the place of a node, with the kind of the mistake."""
    match node:
        case ast.cmpop() | ast.boolop() | ast.operator() if type(node) in OPPOSITE:
            yield "operator", OPPOSITE[type(node)]()
        case ast.If() | ast.While() | ast.IfExp():
            negated = copy.copy(node)
            negated.test = ast.UnaryOp(ast.Not(), node.test)
            yield "negated", negated
        case ast.Constant(value=bool() | int() | float() as value):
            yield "constant", ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Constant(value=str() as value) if " " not in value:  # not a text for people
            yield "constant", ast.Constant(f"{value}x")
        case ast.Return(value=ast.expr()):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Call(args=[*args], keywords=[*keywords]) if args or keywords:
            fewer = (args, keywords[:-1]) if keywords else (args[:-1], keywords)
            yield "argument", ast.Call(node.func, *fewer)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign():
            yield "removed", ast.Pass()
        case _:
            pass


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of the functions of a file."""
    sys.path.append(str(ROOT))
    from tests.house import installed_path  # noqa: PLC0415 - of the tree

    module = installed_path(path.with_suffix("")).removesuffix("/__init__").replace("/", ".")
    file = str(import_module(module).__file__)  # a link to the path
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    every = (spot for function in functions for spot in spots(function, range(0)))
    found = {(id(holder), key): (holder, key, *rest) for holder, key, *rest in every}
    for holder, key, node, lines in found.values():
        for kind, new in changes(node):
            text = ast.unparse(node).partition("\n")[0] or type(node).__name__

            def code(holder: Any = holder, key: Any = key, new: Any = new, old: Any = node) -> Any:
                holder[key] = ast.copy_location(new, old)
                made = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
                holder[key] = old
                return made

            place = f"{path}:{lines[0]}:{getattr(node, 'col_offset', key)}"
            yield Mutant(str(ROOT / path), lines, f"{place} {kind} {text:.50}", code)


def living() -> list[FunctionType]:
    """Return every function of this process; it is frozen again, so that forks share it."""
    gc.unfreeze()  # what tests/conftest.py has frozen is not listed
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
    gc.freeze()
    return functions


def exchange(code: CodeType, functions: Iterable[FunctionType]) -> None:
    """Give the functions of a file the code that they have in the mutant."""
    codes, new = dict[tuple[str, int], CodeType](), [code]
    while new:
        each = new.pop()
        codes[each.co_qualname, each.co_firstlineno] = each
        new += [const for const in each.co_consts if isinstance(const, CodeType)]
    for function in functions:
        old = function.__code__
        if old.co_filename == code.co_filename:
            made = codes.get((old.co_qualname, old.co_firstlineno), old)
            if made.co_freevars == old.co_freevars:
                function.__code__ = made


def forked(work: Callable[[Callable[..., None]], None], limit: float) -> list[Any]:
    """Return what some work says in a fork of the process until it ends or takes too long."""
    with tempfile.TemporaryFile("w+") as said:
        process = os.fork()
        if process == 0:
            os.setpgid(0, 0)
            for output in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
            try:
                work(lambda *what: print(json.dumps(what), file=said, flush=True))
            finally:
                os._exit(0)
        end = time.monotonic() + limit
        while not os.waitpid(process, os.WNOHANG)[0]:
            time.sleep(0.01)
            if time.monotonic() > end:
                os.killpg(process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what the tests have started
        said.seek(0)
        return [json.loads(line) for line in said]


class Lane:
    """A plugin that runs the collected tests as they are, and then those of each mutant."""

    def __init__(self, chosen: Sequence[Mutant], *, is_first: bool) -> None:
        self.chosen, self.is_first = chosen, is_first
        self.caught: Tests = {}
        self.seconds: dict[str, float] = defaultdict(float)
        self.tests: set[str] = set()
        self.functions: Sequence[FunctionType] = ()
        self.say: Callable[..., Any] = lambda *_: None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell the parent whether a test failed, and how long it took."""
        self.say(report.nodeid, report.failed, report.duration)
        if report.failed and self.is_first:
            os._exit(0)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in forks, and print a line for each mutant."""
        lines = self.executed(session.items)
        self.functions = living()
        self.tests = {function_of(item.nodeid) for item in session.items}
        for mutant in self.chosen:
            tests = set().union(*(lines.get((mutant.file, line), ()) for line in mutant.lines))
            items = [item for item in session.items if item.nodeid in tests]
            self.caught[mutant.name] = self.trial(mutant, items)
            caught = len(self.caught[mutant.name])
            print(f"{caught} of {len(items)} tests: {mutant.name}", flush=True)
        return True

    def executed(self, items: Sequence[pytest.Item]) -> dict[tuple[str, int], set[str]]:
        """Return the tests that execute each line, without those that fail."""
        files = sorted({mutant.file for mutant in self.chosen})
        lines, failed, is_first = dict[tuple[str, int], set[str]](), set[str](), self.is_first

        def work(say: Callable[..., None]) -> None:
            tracer = coverage.Coverage(data_file=None, include=files, config_file=False)
            self.say, self.is_first = say, False
            tracer.start()
            _run(items, tracer.switch_context)
            tracer.stop()
            data = tracer.get_data()
            for file in data.measured_files():
                for line, tests in data.contexts_by_lineno(file).items():
                    say(file, line, tests, "line")

        for name, told, third, *rest in forked(work, limit=3600):
            if rest:
                lines[name, told] = set(third)
            else:
                self.seconds[name] += third
                failed.update([name] * told)
        self.is_first = is_first
        print(len(self.seconds), "tests, of which fail without a mutant:", sorted(failed))
        return {place: tests - failed for place, tests in lines.items()}

    def trial(self, mutant: Mutant, items: Sequence[pytest.Item]) -> set[str]:
        """Return the functions that fail with a mutant, or do not end."""
        items = sorted(items, key=lambda i: self.seconds[i.nodeid]) if self.is_first else items

        def work(say: Callable[..., None]) -> None:
            self.say = say
            exchange(mutant.code(), self.functions)
            _run(items, lambda test: say(test, None))

        said = forked(work, PATIENCE + 5 * sum(self.seconds[item.nodeid] for item in items))
        failed = {test for test, has_failed, *_ in said if has_failed}
        return {
            *map(function_of, failed | {said[-1][0]} if said and said[-1][1] is None else failed)
        }


def _run(items: Sequence[pytest.Item], before: Callable[[str], Any]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True) if items else ():
        before(item.nodeid)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)


def function_of(test: str) -> str:
    """Return the id of a test without its parameters."""
    return test.partition("[")[0]


def sufficient(caught: Tests) -> list[str]:
    """Return few tests that catch every mutant that any test catches, the best first.

    >>> sufficient({"first": {"a", "b"}, "second": {"b"}, "third": set()})
    ['b']
    """
    left, chosen = [tests for tests in caught.values() if tests], list[str]()
    while left:
        every = [test for tests in left for test in sorted(tests)]
        chosen.append(max(every, key=every.count))
        left = [tests for tests in left if chosen[-1] not in tests]
    return chosen


def main(*arguments: str) -> int:
    """Print what each mutant is caught by, the tests that suffice, and all others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", help="default: the folder of the files in tests/")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", action="store_true", help="only ask whether a mutant is caught")
    given = parser.parse_args(arguments)
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    every = [mutant for path in given.files for mutant in mutants(path)]
    chosen = random.Random(given.seed).sample(every, min(given.number, len(every)))  # noqa: S311
    lane = Lane(sorted(chosen, key=lambda mutant: mutant.name), is_first=given.first)
    folders = {f"tests/{path.parent}".replace("apps/", "") for path in given.files}
    options = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "--no-summary"]
    with tempfile.TemporaryDirectory() as folder:
        options.append(f"--basetemp={folder}/tests")
        pytest.main([*options, *(given.tests or sorted(folders))], plugins=[lane])
    suffice = sufficient(lane.caught)
    catching = set().union(*lane.caught.values())
    print(f"\n{sum(map(bool, lane.caught.values()))} of {len(chosen)} mutants are caught")
    if not given.first:
        print(f"\n{len(suffice)} of {len(lane.tests)} functions suffice:", *suffice, sep="\n  ")
        others = [
            f"{test}{'' if test in catching else ', which catches none'}"
            for test in sorted(lane.tests - {*suffice})
        ]
        print("\nNo mutant needs:", *others, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
