"""Measure the size and structure of the code against its limits.

Usage: python .ci/house.py

The checks cover files, characters of code, errors, names and imports of the front door and the
rooms. Exit code 1 means that a limit is exceeded; the worst offenders are named.
"""

import ast
import builtins
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import grimp

ROOT = Path(__file__).resolve().parents[1]
FRONT = "front"
SESSION, MACHINE = "polynomial/session", "polynomial/machine"
ROOMS = (FRONT, "base", "linearity", "window", "pressure", "polynomial", "nodes")
APPLICATIONS = tuple(
    f"apps/{door.parent.name}" for door in sorted((ROOT / "apps").glob("*/__init__.py"))
)
MAY_BE_SHORT = ("__init__.py", "__main__.py")
WORST = 5

MOST_FILES = 365
MOST_CORE_FILES = 260
MOST_CHARACTERS = 1_255_892
MOST_APPLIED = 408_474
FEWEST_LINES_A_FILE = 25
MOST_LINES_A_FILE = 400
MOST_CODE_A_FILE = 320
MOST_CODE = {"polynomial/session/context_session.py": 407}  # signatures only
MOST_ERRORS = 51
MOST_NAMES = 40  # of each public API
MOST_LOADED = 85
MOST_CYCLES = 0
MOST_LATE_IMPORTS = 28  # of all code without the command line
MOST_LATE_IN_SESSION = 6  # of these, in session and machine
MOST_DEEP_IMPORTS = 0
MOST_DEEP_IN_CORE = 32  # imports of another core room's internals
MOST_PARTICIPLES = 0
MOST_SILENCED = 64
MOST_PACKAGES = 8  # third-party packages of a base install
MOST_TWINS = 8  # of all code; LangChain and llama-index prescribe one each
MOST_TWINS_IN_SESSION = 1  # of these, the two drivers of a session's writer

PARTICIPLES = {
    "became",
    "beneath",
    "drawn",
    "fit",
    "kept",
    "made",
    "read",
    "seen",
    "shown",
    "told",
    "whole",
    "write",
    "written",
}
NOUNS = {"embed", "feed", "reasoning", "seed", "speed", "standing", "testing"}
"""Names that end like participles but are nouns or terms of the field."""

SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
"""Token types that do not make a line a line of code."""


@dataclass(frozen=True)
class Check:
    """One limit with the current count and the counts by module.

    For a limit per module, `worst` holds the modules over it; for a total, it holds every count.
    """

    what: str
    limit: int
    now: int
    worst: Mapping[str, int]

    @property
    def ok(self) -> bool:
        """Return whether the limit is kept."""
        return self.now <= self.limit


def checks(root: Path, loaded: Sequence[str], cycles: Sequence[Sequence[str]] = ()) -> list[Check]:
    """Return every check of the code under `root`.

    `loaded` are the modules that a session imports, and `cycles` the groups of modules that import
    each other.
    """
    sources = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for room in (*ROOMS, *APPLICATIONS)
        for path in _modules(root / room)
    }
    core = {name for name in sources if name.startswith(tuple(f"{room}/" for room in ROOMS))}
    lines = {name: source.count("\n") for name, source in sources.items()}
    short = {
        name: count
        for name, count in lines.items()
        if count < FEWEST_LINES_A_FILE and Path(name).name not in MAY_BE_SHORT
    }
    characters = {name: code_characters(source) for name, source in sources.items()}
    code = {name: len(code_lines(source)) for name, source in sources.items()}
    long = {n: count for n, count in code.items() if count > MOST_CODE.get(n, MOST_CODE_A_FILE)}
    high = {
        n: count for n, count in lines.items() if count > MOST_LINES_A_FILE and n not in MOST_CODE
    }
    participles = {name: 1 for name in sources if is_participle(name)}
    silenced = {name: source.count("# noqa") for name, source in sources.items()}
    names = {
        Path(name).parent.as_posix(): len(exported(_listing(root / name)))
        for name in sources
        if Path(name).name == "__init__.py"
    }
    wide = {package: count for package, count in names.items() if count > MOST_NAMES}
    twins = {name: len(hand_written_twins(source)) for name, source in sources.items()}
    late = {
        name: late_imports(source)
        for name, source in sources.items()
        if not name.startswith("apps/cli/")
    }
    deep = {name: len(deep_imports(root, source)) for name, source in sources.items()}
    packages = base_packages(root)
    in_session = {name for name in sources if name.startswith((f"{SESSION}/", f"{MACHINE}/"))}
    errors = Counter(name for name, count in error_classes(sources).items() for _ in range(count))
    return [
        Check(
            "Python files",
            MOST_FILES,
            len(sources),
            Counter(Path(name).parent.as_posix() for name in sources),
        ),
        Check(
            "Python files of the core",
            MOST_CORE_FILES,
            len(core),
            Counter(Path(name).parent.as_posix() for name in core),
        ),
        Check(
            "characters of code: core",
            MOST_CHARACTERS,
            sum(characters[name] for name in core),
            {name: characters[name] for name in core},
        ),
        Check(
            "characters of code: applications",
            MOST_APPLIED,
            sum(characters[name] for name in sources if name not in core),
            {name: characters[name] for name in sources if name not in core},
        ),
        Check(
            f"files under {FEWEST_LINES_A_FILE} lines",
            0,
            len(short),
            {name: -count for name, count in short.items()},
        ),
        Check(f"files over {MOST_LINES_A_FILE} lines", 0, len(high), high),
        Check(f"files over {MOST_CODE_A_FILE} lines of code", 0, len(long), long),
        Check("error and warning classes", MOST_ERRORS, errors.total(), errors),
        Check(f"public APIs with over {MOST_NAMES} names", 0, len(wide), wide),
        Check(
            "deep imports from applications",
            MOST_DEEP_IMPORTS,
            sum(deep[name] for name in sources if name not in core),
            {name: deep[name] for name in sources if name not in core},
        ),
        Check(
            "deep imports across rooms",
            MOST_DEEP_IN_CORE,
            sum(deep[name] for name in core),
            {name: deep[name] for name in core},
        ),
        Check("modules named by participles", MOST_PARTICIPLES, len(participles), participles),
        Check(
            "rules of lint that are silenced (noqa)",
            MOST_SILENCED,
            sum(silenced.values()),
            silenced,
        ),
        Check(
            "modules loaded after three turns",
            MOST_LOADED,
            len(loaded),
            Counter(name.rpartition(".")[0] for name in loaded),
        ),
        Check(
            "import cycles",
            MOST_CYCLES,
            len(cycles),
            {" <-> ".join(each): len(each) for each in cycles},
        ),
        Check(
            "imports in functions, without the command line",
            MOST_LATE_IMPORTS,
            sum(late.values()),
            late,
        ),
        Check(
            "imports in functions of session and machine",
            MOST_LATE_IN_SESSION,
            sum(late[name] for name in in_session),
            {name: late[name] for name in in_session},
        ),
        Check(
            "packages that a base install names",
            MOST_PACKAGES,
            len(packages),
            dict.fromkeys(packages, 1),
        ),
        Check("twins written by hand", MOST_TWINS, sum(twins.values()), twins),
        Check(
            "twins in session and machine",
            MOST_TWINS_IN_SESSION,
            sum(twins[name] for name in in_session),
            {name: twins[name] for name in in_session},
        ),
    ]


def _modules(room: Path) -> Iterable[Path]:
    return (path for path in sorted(room.rglob("*.py")) if "__pycache__" not in path.parts)


def _listing(door: Path) -> str:
    """Return the text that lists a package's names: its stub, or the module if it has none."""
    stub = door.with_suffix(".pyi")
    return (stub if stub.exists() else door).read_text(encoding="utf-8")


def is_participle(module: str) -> bool:
    """Return whether any part of a module path is a bare participle, gerund or verb.

    >>> [
    ...     is_participle(name)
    ...     for name in ("a/told.py", "a/counting/b.py", "a/reasoning/feed.py", "a/shared_store.py")
    ... ]
    [True, True, False, False]
    """
    words = {
        word
        for part in Path(module).with_suffix("").parts[1:]
        if (word := part.strip("_")) not in NOUNS
    }
    return any(word in PARTICIPLES or re.fullmatch(r"[a-z]+(ing|ed)", word) for word in words)


def code_lines(source: str) -> set[int]:
    r"""Return the numbers of the lines that hold code rather than docstrings, comments or blanks.

    >>> sorted(code_lines('"Say why."\n\n# a comment\nx = (\n    1\n)\n"Explain x."\n'))
    [4, 5, 6]
    """
    held = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return held - _described(source)


def code_characters(source: str) -> int:
    r"""Return the number of characters of code, without docstrings, comment lines and indentation.

    >>> code_characters('"Say why."\n\n# a comment\nif x:\n    y = 1\n')
    10
    """
    lines, described = source.split("\n"), _described(source)
    code = (line.strip() for number, line in enumerate(lines, 1) if number not in described)
    return sum(len(line) for line in code if not line.startswith("#"))


def _described(source: str) -> set[int]:
    """Return the numbers of the lines of docstrings."""
    texts = (node for node in ast.walk(ast.parse(source)) if _is_text(node))
    return {
        line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Return whether a statement is just a string, as docstrings are."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def exported(source: str) -> list[str]:
    r"""Return the names that a package exports: its `__all__`, or else the names it imports.

    >>> (
    ...     exported("from a import b, c as d\n__all__ = ['b']"),
    ...     exported("from a import b, c as d, _e"),
    ... )
    (['b'], ['b', 'd'])
    """
    imported: list[str] = []
    for node in ast.parse(source).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")])
                | ast.AnnAssign(target=ast.Name(id="__all__"))
            ):
                return [
                    each.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                ]
            case ast.ImportFrom():
                imported += [name.asname or name.name for name in node.names]
    return [name for name in imported if not name.startswith("_")]


def error_classes(sources: Mapping[str, str]) -> Counter[str]:
    """Return the number of exception and warning classes of each module, derived ones included."""
    bases = {
        (module, node.name): {_last_name(base) for base in node.bases}
        for module, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }
    raised = {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    while more := {name for (_, name), above in bases.items() if above & raised} - raised:
        raised |= more
    return Counter(module for (module, name) in bases if name in raised)


def _last_name(base: ast.expr) -> str:
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return ""


def hand_written_twins(source: str) -> list[str]:
    r"""Return the coroutine methods whose name is that of a sibling method with an `a` in front.

    >>> hand_written_twins(
    ...     "class A:\n    def get(self): ...\n    async def aget(self): ...\n"
    ...     "    async def add(self): ...\n"
    ... )
    ['aget']
    """
    classes = (node.body for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))
    named = (
        {
            each.name: each
            for each in body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for body in classes
    )
    return [
        name
        for methods in named
        for name, each in methods.items()
        if isinstance(each, ast.AsyncFunctionDef) and name[1:] in methods
    ]


def late_imports(source: str) -> int:
    r"""Return the number of imports inside functions.

    >>> late_imports("import a\ndef f():\n    import b\n    from c import d, e\n")
    2
    """
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return len(
        {
            each
            for function in functions
            for each in ast.walk(function)
            if isinstance(each, ast.Import | ast.ImportFrom)
        }
    )


def deep_imports(root: Path, source: str) -> list[str]:
    """Return the imports from other rooms that no public API of theirs exports.

    Imports inside a room are relative.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").startswith("polycontext.")
        ):
            public = _public_names(root, str(node.module).split(".")[1:])
            found += [
                f"{node.module}.{name.name}" for name in node.names if name.name not in public
            ]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.startswith("polycontext.")]
    return found


def _public_names(root: Path, parts: Sequence[str]) -> Collection[str]:
    """Return the public names of a package, or of a module that a package exports.

    Other modules have no public names.
    """
    for folder in (root, root / "apps"):
        door, above = (
            folder.joinpath(*parts, "__init__.py"),
            folder.joinpath(*parts[:-1], "__init__.py"),
        )
        if door.exists():
            return exported(_listing(door))
        if parts[1:] and above.exists() and parts[-1] in exported(_listing(above)):
            return defined(above.with_name(f"{parts[-1]}.py").read_text(encoding="utf-8"))
    return ()


def defined(source: str) -> list[str]:
    r"""Return the public names that a module defines.

    >>> defined("from a import b\nX = 1\n_y = 2\ndef f(): ...\nclass C: ...\n")
    ['X', 'f', 'C']
    """
    found: list[str] = []
    for node in ast.parse(source).body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                found.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append(name)
            case _:
                pass
    return [name for name in found if not name.startswith("_")]


def base_packages(root: Path) -> list[str]:
    """Return the names of the packages that every install of the project includes."""
    project = root / "pyproject.toml"
    wanted = (
        tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        if project.exists()
        else []
    )
    return [re.split(r"[^\w.-]", name)[0] for name in wanted]


def import_cycles(package: str = "polycontext") -> list[tuple[str, ...]]:
    """Return the groups of modules that import each other, at the top or inside a function.

    Imports for type checkers only do not count.
    """
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    upstream = {module: graph.find_upstream_modules(module) for module in graph.modules}
    groups = {
        tuple(sorted([module, *(each for each in above if module in upstream[each])]))
        for module, above in upstream.items()
    }
    return sorted(group for group in groups if len(group) > 1)


THREE_TURNS = """
from polycontext.polynomial import ContextSession
session = ContextSession(max_tokens=8000)
session.add_user_turn("Where is my parcel?")
session.add_assistant_turn("On its way.")
session.add_user_turn("Thanks.")
"""


def loaded_modules(statement: str = THREE_TURNS) -> list[str]:
    """Return the modules of polycontext that are loaded after `statement` in a new interpreter."""
    asked = (
        f"import sys\n{statement}\nprint(*(name for name in sys.modules if name.partition('.')[0] "
        "== 'polycontext'))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", asked], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def table(found: Sequence[Check]) -> str:
    """Return the checks as a table, followed by the worst offenders of the failing ones.

    >>> print(table([Check("files", 3, 2, {}), Check("names", 1, 2, {"window": 2, "nodes": 0})]))
    what   limit  now  ok
    files      3    2  yes
    names      1    2  no
    <BLANKLINE>
    names: window 2
    """
    rows = [
        ("what", "limit", "now", "ok"),
        *(
            (each.what, str(each.limit), str(each.now), "yes" if each.ok else "no")
            for each in found
        ),
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{what:<{wide[0]}}  {limit:>{wide[1]}}  {now:>{wide[2]}}  {ok}"
        for what, limit, now, ok in rows
    ]
    blamed = [f"{each.what}: {_blamed(each)}" for each in found if not each.ok]
    return "\n".join([*lines, "", *blamed] if blamed else lines)


def _blamed(check: Check) -> str:
    worst = sorted(check.worst.items(), key=lambda item: (-item[1], item[0]))[:WORST]
    return ", ".join(f"{name} {abs(count)}" for name, count in worst if count)


def main() -> int:
    """Print the table; return 1 if a limit is exceeded."""
    found = checks(ROOT, loaded_modules(), import_cycles())
    print(table(found))
    return 0 if all(check.ok for check in found) else 1


if __name__ == "__main__":
    sys.exit(main())
