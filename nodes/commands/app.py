"""The command line: `polycontext replay`, `polycontext project`, `polycontext check`, `polycontext diagram`, `polycontext laws`, `polycontext pills`.

This module holds the options, the help (what a function's docstring says) and the exit codes; each
command's work is in a module of its own, loaded when it is asked for, so that `--help` is quick.

Exit codes: 0 done; 1 the input is fine and the answer is no (the budget cannot be
met, `--strict` met a refused turn, a provider would refuse, a law is broken, a pill is refused); 2 the input or the options are at fault; 130
interrupted; 141 nobody reads the output any more.
"""

# Commands load what they need (PLC0415), and an option is a parameter with a default (FBT002, PLR0917).
# ruff: noqa: FBT002, PLC0415, PLR0917
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from inspect import getdoc
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polycontext.linearity import PolycontextError
from polycontext.nodes.commands.output import USAGE, CommandError, complain

INTERNAL, INTERRUPTED = 70, 130
"""Exit codes beside those of `output`: a fault of this program; stopped from outside."""

TRACEBACK = "POLYCONTEXT_TRACEBACK"
"""Environment variable that lets a fault of this program show its traceback."""

if TYPE_CHECKING:
    from polycontext.window.providers import Provider

ProviderChoice = Literal["auto", "openai", "anthropic"]

app = typer.Typer(name="polycontext", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, rich_markup_mode="rich")

ProviderOption = Annotated[ProviderChoice, typer.Option(help="Whose message format the input is in; auto finds out.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Close calls in the middle that have no result by a marked one, instead of refusing.")
]
KeepRecent = Annotated[int, typer.Option(min=0, metavar="TURNS", help="How many turns at the end yield last.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]


def _command(group: typer.Typer, *examples: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as a command of `group`: its docstring is the help, the examples stand below."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        # Typer keeps the line ends of every paragraph but the first.
        paragraphs = (" ".join(paragraph.split()) for paragraph in (getdoc(function) or "").split("\n\n"))
        return group.command(help="\n\n".join(paragraphs), epilog="\n\n".join(["[bold]Examples[/bold]", *examples]))(function)

    return register


def _show_version(asked: bool) -> None:  # noqa: FBT001  typer passes it so
    if asked:
        typer.echo(f"polycontext {version('polycontext')}")
        raise typer.Exit


@app.callback()
def _polycontext(
    asked: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Drive LLM conversations through the context machine: what stays, what yields, and what it costs."""


@_command(
    app,
    "polycontext replay chat.json --max-tokens 4000",
    "polycontext replay runs.jsonl --json | jq .summary",
    "polycontext replay runs.jsonl --only 3 --plot pressure.svg",
)
def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="JSON or JSONL files, or - for standard input.")],
    max_tokens: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="What the model's window holds.")] = 8000,
    threshold: Annotated[float, typer.Option(metavar="SHARE", help="Pressure above which the context is pressured.")] = 0.7,
    low: Annotated[float | None, typer.Option(metavar="SHARE", help="Pressure that compression aims at; 0.4 unless said.")] = None,
    engine: Annotated[Literal["table", "machine"], typer.Option(help="The compiled table (quick), or python-statemachine.")] = "table",
    keep_recent: KeepRecent = 6,
    provider: ProviderOption = "auto",
    repair: Repair = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first turn that the machine refuses.")] = False,
    only: Annotated[int | None, typer.Option(min=1, metavar="N", help="Replay the N-th conversation only.")] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every step of every conversation.")] = False,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.svg|png", help="Draw pressure over turns (needs polycontext\\[plot]).")] = None,
) -> int:
    """Replay recorded conversations through the machine, with automatic compression.

    Reads OpenAI chat and Anthropic messages: a list of messages, an object with "messages" (and perhaps "system", "tools"),
    a list of such, or one such a line (JSONL). One conversation is shown step by step, several as an overview.
    """
    from polycontext.nodes.commands.replay import marks, replay_files
    from polycontext.nodes.recordings.replay import ReplaySettings

    high, low = marks(threshold, low)
    settings = ReplaySettings(
        max_tokens=max_tokens, high=high, low=low, engine=engine, keep_recent=keep_recent, repair=repair, strict=strict
    )
    return replay_files(files, settings, provider=_provider(provider), as_json=as_json, show_all=show_all, only=only, plot=plot)


@_command(
    app,
    "polycontext project chat.json --budget 2000 > smaller.json",
    "polycontext project - --budget 2000 --json < request.json | jq .report",
)
def project(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON or JSONL file, or - for standard input.")],
    budget: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="What the whole request may take.")],
    provider: ProviderOption = "auto",
    keep_recent: KeepRecent = 6,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="What the next answer is about; summaries prefer it.")] = None,
    repair: Repair = False,
    as_json: AsJson = False,
) -> int:
    """Cut conversations to a budget, and print them as JSON in the shape they came in.

    The report goes to standard error. With --json one object holds messages ready to be sent, system and report.
    Exit code 1 says that the budget cannot be met even with everything cut that may be.
    """
    from polycontext.nodes.commands.project import project_file

    return project_file(file, budget, _provider(provider), as_json=as_json, keep_recent=keep_recent, query=query, repair=repair)


@_command(
    app,
    "polycontext check request.json --provider anthropic",
    "polycontext check requests.jsonl --json | jq .findings",
    "polycontext check - --provider openai < messages.json",
)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON or JSONL file, or - for standard input.")],
    provider: Annotated[
        Literal["auto", "anthropic", "openai", "openai-responses"], typer.Option(help="Who would get it; auto finds out.")
    ] = "auto",
    beta: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A value of the header anthropic-beta; may be given again.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Tell what a provider would refuse, where, in which words, and what would be legal instead.

    Reads requests, or lists of messages alone: one, a list of them, or one a line (JSONL). What needs the provider's memory
    (signatures, what is uploaded) is not judged here. Exit code 1 says that something would be refused.
    """
    from polycontext.nodes.commands.check import check_file

    return check_file(file, None if provider == "auto" else provider, betas=beta or (), as_json=as_json)


@_command(app, "polycontext diagram", "polycontext diagram --format dot --output machine.dot", "polycontext diagram --into README.md")
def diagram(
    form: Annotated[Literal["mermaid", "dot"], typer.Option("--format", help="Text for Mermaid or for Graphviz.")] = "mermaid",
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there instead of to standard output.")] = None,
    into: Annotated[Path | None, typer.Option(metavar="PAGE.md", help="Put the Mermaid diagram between the markers of a page.")] = None,
) -> int:
    """Draw the machine, from the machine's own declaration."""
    from polycontext.nodes.commands.diagram import draw, draw_into

    return draw(form, output) if into is None else draw_into(into)


@_command(
    app,
    "polycontext laws",
    "polycontext laws --room window --examples 1000 --json",
    "polycontext laws --subject my_agent.summaries:ShortSummariser",
)
def laws(
    room: Annotated[list[str] | None, typer.Option(metavar="ROOM", help="Run the laws of this room only; may be given again.")] = None,
    law: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Run this law only; may be given again.")] = None,
    examples: Annotated[int, typer.Option(min=1, metavar="N", help="How many inputs each law is tried on.")] = 100,
    subject: Annotated[
        str | None,
        typer.Option(metavar="MODULE:OBJECT", help="Your window, counter, classifier, summariser, ...: run what laws there are about it."),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="NUMBER", help="Draw other examples.")] = None,
    as_json: AsJson = False,
) -> int:
    r"""Run the laws that polycontext claims, on generated inputs or on an object of yours.

    Prints for each law how many examples were tried, whether it holds, and the smallest counterexample found.
    Exit code 1 says that a law is broken. The examples are the same in every run, unless a seed is given. Needs polycontext\[laws].
    """
    from polycontext.nodes.extras import require

    require("hypothesis", extra="laws", purpose="polycontext laws")
    from polycontext.nodes.commands.laws import check_laws

    return check_laws(room or (), law or (), subject, examples=examples, seed=seed, as_json=as_json)


pills = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="Complete the names of files and Python symbols, and attach what they name."
)
app.add_typer(pills, name="pills")

Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="Where files and symbols are, the current folder unless said; may be given again."),
]


@_command(pills, "polycontext pills complete @src/ag", "polycontext pills complete Agent --type symbol --json")
def complete(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="What was typed, with or without the @.")],
    root: Roots = None,
    kind: Annotated[Literal["all", "file", "symbol"], typer.Option("--type", help="Only names of this type.")] = "all",
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many at most.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Print the files and Python symbols that a few typed characters may stand for, the best first.

    Ignore files are honoured. Exit code 1 says that there is none.
    """
    from polycontext.nodes.commands.pills import complete_prefix

    return complete_prefix(prefix, root or [Path()], kind=None if kind == "all" else kind, limit=limit, as_json=as_json)


@_command(pills, "polycontext pills resolve 'explain \\[@src/agent.py]' --root .")
def resolve(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message, its pills written \\[@name].")],
    root: Roots = None,
    limit: Annotated[int, typer.Option(min=1, metavar="CHARACTERS", help="Where the content of a pill is cut, at a line end.")] = 50_000,
    max_tokens: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="What the model's window holds.")] = 100_000,
    provider: Annotated[Literal["openai", "anthropic"], typer.Option(help="Whose message format to print.")] = "openai",
    as_json: AsJson = False,
) -> int:
    r"""Print the messages that a provider gets for a text with pills such as \[@src/agent.py], their content attached.

    What was attached, truncated, refused or had to yield goes to standard error; with --json it stands beside the messages.
    Exit code 1 says that a pill was refused; the message is printed all the same.
    """
    from polycontext.nodes.commands.pills import resolve_message
    from polycontext.window.providers import Provider

    return resolve_message(text, root or [Path()], limit=limit, max_tokens=max_tokens, provider=Provider(provider), as_json=as_json)


def _provider(choice: ProviderChoice) -> "Provider | None":
    from polycontext.window.providers import Provider

    return None if choice == "auto" else Provider(choice)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; whatever goes wrong is one line on standard error.

    `arguments` are those behind the program's name, by default the process's own.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that does not know a sign gets a stand-in for it.
            stream.reconfigure(errors="replace")
    try:
        # Not standalone: Click would print and end the process by itself.
        code = typer.main.get_command(app).main(arguments, prog_name="polycontext", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        return _explain(error)
    return code if isinstance(code, int) else 0


def _explain(error: Exception) -> int:
    """Say what went wrong in one line, and return the exit code that fits."""
    if isinstance(error, CommandError | PolycontextError):
        complain(str(error))
        return error.code if isinstance(error, CommandError) else USAGE
    # What Click raises has its own words and its own exit code.
    explain = getattr(error, "format_message", None)
    if explain is None:
        complain(f"a fault of this program: {type(error).__name__}: {error} (set {TRACEBACK}=1 to see where)")
        return INTERNAL
    if explain():
        complain(f"{explain().rstrip('.')}; see polycontext --help")
    return int(getattr(error, "exit_code", USAGE))
