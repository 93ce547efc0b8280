"""Regenerate the parts of pages in `docs/` that come from the code.

Usage: python .ci/pages.py NAME [--check]

The pages are architecture, command-line and paths. Only the text between the markers of a block,
and the output below commands, is generated; the rest of a page is written by hand. `--check` writes
nothing and fails if the page is out of date.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import click
import grimp

from polycontext import ContextSession
from polycontext.cli.app import app
from polycontext.polynomial.session import paths as session_paths

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("front", "base", "linearity", "window", "pressure", "polynomial", "nodes")
GUESTS = tuple(door.parent.name for door in sorted(ROOT.glob("apps/*/__init__.py")))
BESIDE = {
    "web": (
        "The page in TypeScript; `just page-build` writes what it builds into `apps/server/page/`."
    ),
    "docs": "The pages; every example in them is run by the tests.",
    "examples": "Example programs, which the tests run.",
    "benchmarks": (
        "What is measured: retention, sessions, budgets, stores. `just bench` lists the commands."
    ),
    "tests": (
        "The tests, in folders like those of the code; `tests/strict` and `tests/faults` are the "
        "long runs."
    ),
    ".ci": "The gate (`.ci/run`), the checks of the structure, and the generators of pages.",
}

Trip = list[tuple[str, str]]
"""Modules in the order in which a call enters them, each with the module that first calls it."""


PRINTED = re.compile(r"(```bash\n([^`]+)```\n\n```text\n)([^`]*)(?=```)")
"""A block of commands, and the block directly below it with their output."""
_FILE = re.compile(r"in `([\w.]+)`:\n\n```json\n([^`]+)```")
"""A file that the page tells the reader to write."""


def architecture(page: str) -> str:
    """Return the page with its diagrams and its table of folders."""
    session = ContextSession(8_000)
    session.add_user_turn("one")
    session.add_assistant_turn("two")
    session.messages("anthropic")
    blocks = {
        "folders": folders(),
        "turn": flowchart(trip(lambda: session.add_user_turn("three"))),
        "request": flowchart(trip(lambda: session.messages("anthropic"))),
        "rooms": rooms(),
    }
    return replace_blocks(page, blocks)


def command_line(page: str) -> str:
    """Return the page with the output of its commands, and with the reference of all commands."""
    return replace_blocks(run_blocks(page), {"commands": reference()})


def paths(page: str) -> str:
    """Return the page with the tables of the paths of a session."""
    tables = {
        "paths": _table(
            ("path, and what it takes and gives", "what it does"),
            ((f"`{path}`", path.summary) for path in session_paths.paths()),
        ),
        "aliases": _table(
            ("former path", "path"),
            ((f"`{old}`", f"`{now}`") for old, now in session_paths.ALIASES.items()),
        ),
    }
    return replace_blocks(page, tables)


PAGES = {"architecture": architecture, "command-line": command_line, "paths": paths}
"""What returns each page with its parts regenerated."""


def replace_blocks(page: str, blocks: Mapping[str, str]) -> str:
    r"""Return the text of a page with each block between its markers.

    Raises:
        ValueError: The page has no markers for a block.

    >>> replace_blocks("<!-- a -->\nold\n<!-- end of a -->\n", {"a": "new\n"})
    '<!-- a -->\n\nnew\n\n<!-- end of a -->\n'
    """
    for name, block in blocks.items():
        before, begins, rest = page.partition(f"<!-- {name} -->\n")
        _, ends, after = rest.partition(f"<!-- end of {name} -->")
        if not ends:
            raise ValueError(
                f"The page has no markers for {name}. Add `<!-- {name} -->` and `<!-- end of "
                f"{name} -->`."
            )
        page = f"{before}{begins}\n{block}\n{ends}{after}"
    return page


def folders() -> str:
    """Return a table of the folders, each with the first line of its package's docstring."""
    packages = (
        door.parent
        for top in (*ROOMS, "apps")
        for door in sorted((ROOT / top).rglob("__init__.py"))
    )
    told = {path.relative_to(ROOT).as_posix(): _sentence(path / "__init__.py") for path in packages}
    rows = [f"| `{folder}/` | {sentence} |" for folder, sentence in {**told, **BESIDE}.items()]
    return "\n".join(["| folder | what it is for |", "|---|---|", *rows]) + "\n"


def _sentence(door: Path) -> str:
    """Return the first line of a package's docstring, escaped for a table."""
    return (
        (ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or "")
        .split("\n", 1)[0]
        .replace("|", "\\|")
    )


def trip(act: Callable[[], object]) -> Trip:
    """Return the modules of polycontext that `act` enters, with their first callers."""
    entered: dict[str, str] = {}

    def entering(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (module := _module(frame)) and module not in entered:
            entered[module] = next(_callers(frame.f_back), "you")

    sys.setprofile(entering)
    try:
        act()
    finally:
        sys.setprofile(None)
    return list(entered.items())


def _callers(frame: FrameType | None) -> Iterator[str]:
    """Yield the modules of polycontext on the call stack, innermost first."""
    while frame is not None:
        if module := _module(frame):
            yield module
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    """Return the module of a frame without the package's name, or an empty text.

    Code that attrs generates at run time has no module.
    """
    name = str(frame.f_globals.get("__name__", ""))
    return (
        name.removeprefix("polycontext.")
        if name.startswith("polycontext.") and Path(frame.f_code.co_filename).suffix == ".py"
        else ""
    )


def flowchart(entered: Trip) -> str:
    """Return the Mermaid diagram of a trip, with one box per module and one arrow per first call.

    Modules are framed by room.
    """
    lines = ["```mermaid", "flowchart LR", "    you([your code])"]
    for room in ROOMS:
        if inside := [module for module, _ in entered if module.split(".", 1)[0] == room]:
            boxes = [
                f'        {_id(module)}["{module.partition(".")[2].replace(".", "/")}"]'
                for module in inside
            ]
            lines += [f"    subgraph {room}", *boxes, "    end"]
    lines += [f"    {_id(caller)} --> {_id(module)}" for module, caller in entered]
    return "\n".join([*lines, "```"]) + "\n"


def _id(module: str) -> str:
    return module.replace(".", "_")


def rooms() -> str:
    """Return the Mermaid diagram of the imports between rooms and guests."""
    graph = grimp.build_graph("polycontext", exclude_type_checking_imports=True, cache_dir=None)
    pairs = {
        (_place(module), _place(target))
        for module in graph.modules
        for target in graph.find_modules_directly_imported_by(module)
    }
    arrows = [f"    {one} --> {other}" for one, other in sorted(pairs) if one != other]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```"]) + "\n"


def _place(module: str) -> str:
    """Return the room or the guest that a module belongs to."""
    part = module.split(".")[1] if "." in module else ""
    return part if part in (*ROOMS, *GUESTS) else "front"


def reference() -> str:
    """Return the reference: for every command its purpose, usage, options and examples."""
    return "\n".join(part for name, command in commands() for part in _section(name, command))


def commands(
    group: click.Group = app, path: str = "polycontext"
) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that are not groups with the words that call them, in help order."""
    context = _context(group, path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _context(command: click.Command, path: str) -> click.Context:
    # A command keeps the help option of the first context that asks for it, so without these
    # settings `-h` would be missing.
    return click.Context(command, info_name=path, **command.context_settings)


def _section(path: str, command: click.Command) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(_context(command, path)))
    yield f"### {path.removeprefix('polycontext ')}\n"
    yield f"```text\n{path} {usage}\n```\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    options = [each for each in command.params if isinstance(each, click.Option)]
    yield "| option | |"
    yield "|---|---|"
    for option in options:
        if option.name not in ("quiet", "verbose"):
            yield f"| {_names(option)} | {_meaning(option)} |"
    _, *examples = (command.epilog or "").removeprefix("\b\n").splitlines()
    yield "\n```sh\n" + "\n".join(example.strip() for example in examples) + "\n```\n"


def _names(option: click.Option) -> str:
    takes = "" if option.is_flag else f" {option.metavar or _choices(option)}"
    return ", ".join(f"`{name}`" for name in option.opts[:-1]) + (
        f"{', ' if option.opts[1:] else ''}`{option.opts[-1]}{takes}`"
    )


def _choices(option: click.Option) -> str:
    return "\\|".join(getattr(option.type, "choices", ())) or option.type.name.upper()


def _meaning(option: click.Option) -> str:
    variable = f" (`{option.envvar}`)" if option.show_envvar else ""
    has_default = isinstance(option.default, str | int | float) and not option.is_flag
    default = f" Default: {option.default}." if has_default else ""
    return f"{option.help}{variable}{default}"


def run_blocks(page: str) -> str:
    """Return the page with the current output of its commands.

    Raises:
        CalledProcessError: A command fails.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "COLUMNS": "100", "POLYCONTEXT_STORE": "chat.db"}
    with TemporaryDirectory() as folder:
        for name, text in _FILE.findall(page):
            Path(folder, name).write_text(text, encoding="utf-8")

        def run(block: "re.Match[str]") -> str:
            commands = ["bash", "-e", "-c", block[2]]
            environment = os.environ | settings
            done = subprocess.run(
                commands, cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
            return block[1] + "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())

        return PRINTED.sub(run, page)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def main(name: str, *options: str) -> int:
    """Write a page; with `--check`, return 1 if it is out of date."""
    path = ROOT / "docs" / f"{name}.md"
    page = path.read_text(encoding="utf-8")
    made = PAGES[name](page)
    if options != ("--check",):
        path.write_text(made, encoding="utf-8")
    elif made != page:
        print(f"{path} is out of date: run `uv run just write pages {name}`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
