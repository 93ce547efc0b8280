"""Measure the structure of the code: circles, deep imports, public names, what is loaded, lines.

Usage: python .ci/house.py

Every import counts, including those for type checkers and those inside functions. A name that is
imported from a package, or read from a package imported as a namespace, counts as an import of the
module that defines it. Exit code 1 means that a limit is exceeded; the offenders are named.
`just layers` checks that imports run downward.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {
    "groups of modules that import each other": 0,
    "deep imports across rooms and guests": 0,
    "public APIs with over 40 names": 0,
    "modules loaded after three turns": 95,
    "files over 400 lines": 0,
}
MOST_NAMES, MOST_LINES = 40, 400
MAY_BE_LONG = {"polycontext.polynomial.context_session"}  # signatures and docstrings
THREE_TURNS = """
import sys
from polycontext.polynomial import ContextSession
session = ContextSession(max_tokens=8000)
session.add_user_turn("Where is my parcel?")
session.add_assistant_turn("On its way.")
session.add_user_turn("Thanks.")
print(*(name for name in sys.modules if name.partition(".")[0] == "polycontext"))
"""

Import = tuple[str, str]  # a module, and a name that is imported from it


class House:
    """The modules of a source tree by import name, as its pyproject.toml maps them."""

    def __init__(self, root: Path) -> None:
        """Read the modules of the folders in `[tool.setuptools.package-dir]`."""
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        self.paths: dict[str, Path] = {}
        for package, folder in project["tool"]["setuptools"]["package-dir"].items():
            for path in sorted((root / folder).rglob("*.py")):
                steps = [package, *path.relative_to(root / folder).with_suffix("").parts]
                self.paths[".".join(steps).removesuffix(".__init__")] = path
        self.packages = {n for n, path in self.paths.items() if path.name == "__init__.py"}
        self.public = {package: dict(self._exports(package)) for package in self.packages}
        self.imports = {module: {*self._imports(module)} for module in self.paths}

    def _exports(self, package: str) -> Iterator[tuple[str, Import]]:
        """Yield the public names of a package, listed in its stub if it has one, with origins."""
        stub = self.paths[package].with_suffix(".pyi")
        for node in ast.parse((stub if stub.exists() else self.paths[package]).read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                for each in node.names:
                    yield each.asname or each.name, (self._base(package, node), each.name)

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        """Return the full name of the module that an import statement of `module` imports from."""
        parts = module.split(".")[: None if module in self.packages else -1]
        above = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*above, *filter(None, [node.module])])

    def _imports(self, module: str) -> Iterator[Import]:
        nodes = [*ast.walk(ast.parse(self.paths[module].read_text(encoding="utf-8")))]
        attributes = [each for each in nodes if isinstance(each, ast.Attribute)]
        for node in nodes:
            base = self._base(module, node) if isinstance(node, ast.ImportFrom) else ""
            for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                whole, called = f"{base}.{each.name}".strip("."), each.asname or each.name
                if whole in self.public:  # a namespace
                    read = (a.attr for a in attributes if ast.unparse(a.value) == called)
                    yield from ((whole, attribute) for attribute in read)
                elif whole.partition(".")[0] == "polycontext":
                    yield base or whole, each.name if base else ""

    def home(self, base: str, name: str) -> str:
        """Return the module that defines what `from base import name` imports."""
        if f"{base}.{name}" in self.paths:
            return f"{base}.{name}"
        origin = self.public.get(base, {}).get(name)
        return self.home(*origin) if origin else base

    def circles(self) -> list[str]:
        """Return each group of modules that import each other, with the imports in it."""
        homes = {name: {self.home(*each) for each in made} for name, made in self.imports.items()}
        graph = {name: targets & self.paths.keys() - {name} for name, targets in homes.items()}
        above = {name: _reachable(graph, name) for name in graph}
        groups = {frozenset(each for each in above[n] if n in above[each]) for n in graph}
        return [
            ", ".join(f"{one} -> {other}" for one in sorted(group) for other in graph[one] & group)
            for group in groups
            if group
        ]

    def deep_imports(self) -> list[str]:
        """Return the imports from another room or guest of what its public APIs do not export."""
        return [
            f"{module}: {base}.{name}"
            for module, found in self.imports.items()
            for base, name in sorted(found)
            if base.split(".")[:2] != module.split(".")[:2] and not self._is_public(base, name)
        ]

    def _is_public(self, base: str, name: str) -> bool:
        if base in self.public or name.startswith("_"):
            return name in self.public.get(base, ()) or name.startswith("__")
        package, _, last = base.rpartition(".")
        return last in self.public.get(package, ())

    def offenders(self, loaded: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return what counts against each limit; `loaded` are the modules after three turns."""
        wide = [each for each, names in self.public.items() if len(names) > MOST_NAMES]
        lines = {name: path.read_bytes().count(b"\n") for name, path in self.paths.items()}
        long = [name for name in lines.keys() - MAY_BE_LONG if lines[name] > MOST_LINES]
        found = (self.circles(), self.deep_imports(), wide, sorted(loaded), long)
        return dict(zip(LIMITS, found, strict=True))


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found, pending = set[str](), [start]
    while pending:
        more = graph.get(pending.pop(), set()) - found
        found |= more
        pending += more
    return found


def main() -> int:
    """Print the counts, and the offenders of each exceeded limit; return 1 if there are any."""
    asked = [sys.executable, "-c", THREE_TURNS]
    done = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    found = House(ROOT).offenders(done.stdout.split())
    for what, limit in LIMITS.items():
        print(f"{len(found[what]):>4} of {limit:>2}  {what}")
    exceeded = [what for what, limit in LIMITS.items() if len(found[what]) > limit]
    for what in exceeded:
        print(f"\n{what}:", *found[what], sep="\n  ")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
