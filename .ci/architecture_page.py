"""Regenerate the tables and diagrams of `docs/architecture.md` from the code.

Usage: python .ci/architecture_page.py [--check]

Only the text between the markers of a block is generated; the rest of the page is written by hand.
`--check` writes nothing and fails if the page is out of date.
"""

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

import grimp
from page_blocks import replace_blocks

from polycontext import ContextSession

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
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


def written(page: str) -> str:
    """Return the text of the page with each of its blocks regenerated.

    Raises:
        ValueError: The page has no markers for a block.
    """
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
    """Return the Mermaid diagram of imports between rooms and guests, with their counts."""
    graph = grimp.build_graph("polycontext", exclude_type_checking_imports=True, cache_dir=None)
    counted: dict[tuple[str, str], int] = {}
    for module in sorted(graph.modules):
        for target in graph.find_modules_directly_imported_by(module):
            pair = (_place(module), _place(target))
            if pair[0] != pair[1]:
                counted[pair] = counted.get(pair, 0) + 1
    arrows = [f"    {one} -->|{count}| {other}" for (one, other), count in sorted(counted.items())]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```"]) + "\n"


def _place(module: str) -> str:
    """Return the room or the guest that a module belongs to."""
    part = module.split(".")[1] if "." in module else ""
    return part if part in (*ROOMS, *GUESTS) else "front"


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, return 1 if it is out of date."""
    stands = PAGE.read_text(encoding="utf-8")
    made = written(stands)
    if arguments != ["--check"]:
        PAGE.write_text(made, encoding="utf-8")
    elif made != stands:
        print(
            "docs/architecture.md is out of date: run `uv run just write architecture_page`",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
