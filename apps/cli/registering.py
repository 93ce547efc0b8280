"""How a function becomes a command: its docstring is the help, what it raises is one line and an exit code; and the options that several have."""

from collections.abc import Callable
from functools import wraps
from inspect import getdoc
from typing import Annotated, Any, Literal

import typer

from polycontext.linearity import PolycontextError

from .output import USAGE, CommandError

ProviderChoice = Literal["auto", "openai", "anthropic"]

ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Who is asked, such as gpt-5 or claude-sonnet-4-5: sets window and counting.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

Verdict = Callable[[PolycontextError], tuple[int, str]]
"""Returns the exit code and the line that fit an error."""

_EXAMPLES = "[bold]Examples[/bold]"


def fault_of_input(error: PolycontextError) -> tuple[int, str]:
    """Say that the input is at fault, which is all that the commands read that keep nothing."""
    return USAGE, str(error)


def command(group: typer.Typer, *examples: str, verdict: Verdict = fault_of_input) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as a command of `group`, by its name with dashes, without a last underscore; the examples stand below its help."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        name = function.__name__.rstrip("_").replace("_", "-")
        path = name if group.info.name == "polycontext" else f"{group.info.name} {name}"

        @wraps(function)
        def run(**options: Any) -> int:
            try:
                return function(**options)
            except CommandError as error:
                raise CommandError(error.code, str(error), path) from error
            except PolycontextError as error:
                raise CommandError(*verdict(error), path) from error

        # Typer keeps the line ends of every paragraph but the first.
        paragraphs = (" ".join(paragraph.split()) for paragraph in (getdoc(function) or "").split("\n\n"))
        return group.command(name, help="\n\n".join(paragraphs), epilog="\n\n".join([_EXAMPLES, *examples]))(run)

    return register
