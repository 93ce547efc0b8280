"""`polycontext diagram`: a diagram of a state machine."""

from pathlib import Path
from shutil import which
from subprocess import run
from typing import Annotated

import click

from polycontext.polynomial.machine import (
    LEGEND,
    ContextMachine,
    arrows,
    dot,
    mermaid,
)

from .command import argument, command, option
from .options import Output, imported
from .output import FAULT, CommandError, redirected, save, write

NOTATIONS = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot"}
PICTURES = (".png", ".svg", ".pdf")
"""The endings of files that Graphviz draws."""


@command(
    "polycontext diagram",
    "polycontext diagram my_agent.machines:ReviewedMachine",
    "polycontext diagram -o machine.svg",
)
def diagram(
    *,
    machine: Annotated[str | None, argument(metavar="[MODULE:CLASS]", required=False)],
    notation: Annotated[
        str | None,
        option(
            "Plain lines, Mermaid, or DOT for Graphviz; by default that of the file's ending.",
            type=click.Choice(["outline", "mermaid", "dot"]),
            show_default="outline",
        ),
    ],
    output: Output,
) -> int:
    """Draw the states and transitions of a state machine.

    By default the library's own. MODULE:CLASS is a subclass of ContextMachine; modules in the
    working directory are found. A file that ends in .png, .svg or .pdf is drawn by Graphviz, one in
    .mmd or .dot is written in that notation.
    """
    drawn = load_machine(machine)
    regions = {name: region.table for name, region in drawn.regions.items()}
    ending = "" if output is None else output.suffix.lower()
    if output is not None and notation is None and ending in PICTURES:
        _draw(dot(drawn.table, regions), output)
        return 0
    if notation is None and ending not in ("", ".md", ".txt", *NOTATIONS):
        endings = ", ".join((*PICTURES, *NOTATIONS, ".md", ".txt"))
        raise CommandError(f"{output}: no file type for a diagram. Use {endings}, or --notation.")
    match notation or NOTATIONS.get(ending, "outline"):
        case "mermaid":
            text = mermaid(drawn.table, regions)
        case "dot":
            text = dot(drawn.table, regions)
        case _:
            text = outline(drawn)
    with redirected(output):
        write(text)
    return 0


def _draw(text: str, output: Path) -> None:
    """Draw a graph in DOT with Graphviz, in the format of the file's ending."""
    program = which("dot")
    if program is None:
        raise CommandError(
            f"{output}: drawing needs Graphviz, which is not installed. Install it, or use a file "
            "that ends in .mmd or .dot.",
            FAULT,
        )

    def write_picture(path: Path) -> None:
        form = output.suffix.lower().removeprefix(".")
        command: list[str | Path] = [program, f"-T{form}", "-o", path]
        done = run(command, input=text.encode(), capture_output=True, check=False)  # noqa: S603 - Graphviz
        if done.returncode:
            raise CommandError(f"{path}: Graphviz failed: {done.stderr.decode()}", FAULT)

    save(output, write_picture)


def load_machine(name: str | None) -> type[ContextMachine]:
    """Return the machine class that ``module:Class`` names, or the library's own for None.

    Raises:
        CommandError: it cannot be imported, or is not a machine.
    """
    if name is None:
        return ContextMachine
    found = imported(name)
    if not (isinstance(found, type) and issubclass(found, ContextMachine)):
        raise CommandError(f"{name} is not a machine. Name a subclass of ContextMachine.")
    return found


def outline(machine: type[ContextMachine]) -> str:
    r"""Return a machine as text for a terminal: each state with its outgoing transitions below.

    >>> print(*outline(ContextMachine).splitlines()[:3], sep="\n")
    EMPTY (start)
      user_turn, system [else]                                -> ACCUMULATING
      user_turn, system [is_pressured]                        -> PRESSURED
    """
    tables = machine.places.tables
    every = [arrow for table in tables for arrow in arrows(table)]
    width = max(len(label) for arrow in every for label in arrow.labels)
    lines: list[str] = []
    for name, table in zip(("", *machine.regions), tables, strict=True):
        lines += ["", f"Region {name}:"] if name else []
        for state in table.cells:
            lines.append(f"{state} (start)" if state == table.initial else str(state))
            lines += [
                f"  {label:{width}}  -> {arrow.target}"
                for arrow in arrows(table)
                if arrow.source == state
                for label in arrow.labels
            ]
    return "\n".join([*lines, "", *LEGEND.split("; ")]) + "\n"
