"""The command line: `polycontext` with `replay`, `project`, `check`, `diagram`, `laws`, `pills`, `session`, `serve`, `chat`.

This module holds the options, the help (what a function's docstring says) and the exit codes, those of `session` stand in its folder; each
command's work is in a module of its own, loaded when it is asked for, so that `--help` is quick.

Whatever is wrong with the input or the options is one line that ends on the command whose --help tells more.

Exit codes: 0 done; 1 the input is fine and the answer is no (the budget cannot be
met, `--strict` met a refused turn, a provider would refuse, a law is broken, a pill is refused, a session or its store refuses); 2 the input or the options are at fault; 130
interrupted; 141 nobody reads the output any more.
"""

# Commands load what they need (PLC0415), and an option is a parameter with a default (FBT002, PLR0917).
# ruff: noqa: FBT002, PLC0415, PLR0917
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import polycontext

from .output import USAGE, CommandError, complain
from .registering import AsJson, ModelOption, ProviderChoice, command
from .session import session
from .session.group import STORE, verdict

INTERNAL, INTERRUPTED = 70, 130
"""Exit codes beside those of `output`: a fault of this program; stopped from outside."""

TRACEBACK = "POLYCONTEXT_TRACEBACK"
"""Environment variable that lets a fault of this program show its traceback."""

if TYPE_CHECKING:
    from polycontext.window.providers import Provider

_NAME = "polycontext"

app = typer.Typer(name=_NAME, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, rich_markup_mode="rich")

ProviderOption = Annotated[ProviderChoice, typer.Option(help="Whose message format the input is in; auto finds out.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Close calls in the middle that have no result by a marked one, instead of refusing.")
]
KeepRecent = Annotated[int, typer.Option(min=0, metavar="TURNS", help="How many messages at the end are shortened last.")]


def _show_version(asked: bool) -> None:  # noqa: FBT001  typer passes it so
    if asked:
        typer.echo(f"{_NAME} {polycontext.__version__}")
        raise typer.Exit


@app.callback()
def _polycontext(
    asked: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Keep LLM conversations within their window: see what stays, what is summarised or dropped, and what it costs."""


@command(
    app,
    "polycontext replay chat.json --max-tokens 4000",
    "polycontext replay runs.jsonl --json | jq .summary",
    "polycontext replay runs.jsonl --only 3 --plot pressure.svg",
)
def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="JSON or JSONL files, or - for standard input.")],
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="How many tokens a request may have; 8000 unless this or --model is given.")
    ] = None,
    model: ModelOption = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How much of the free room may be used before something is summarised; a session's own mark unless said.",
            show_default=False,
        ),
    ] = None,
    low: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How much of the free room is to be used after that; a session's own mark unless said.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Literal["table", "machine"],
        typer.Option(help="What decides: a compiled table, or python-statemachine beside it (slower, same result)."),
    ] = "table",
    keep_recent: KeepRecent = 6,
    provider: ProviderOption = "auto",
    repair: Repair = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first message that is refused, with exit code 1.")] = False,
    only: Annotated[int | None, typer.Option(min=1, metavar="N", help="Replay the N-th conversation only.")] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every step of every conversation.")] = False,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.svg|png", help="Draw how full the window was (needs polycontext\\[plot]).")
    ] = None,
) -> int:
    """Replay a recorded conversation message by message, and show what is summarised or dropped when the window gets full.

    No model is called. One conversation is shown step by step, with the summaries that were made; several as an overview.

    Reads OpenAI chat and Anthropic messages: a list of messages, an object with "messages" (and perhaps "system", "tools"),
    a list of such, or one such a line (JSONL).
    """
    from .recordings.replay import ReplaySettings
    from .replay import marks, replay_files

    high, low = marks(threshold, low)
    settings = ReplaySettings(
        model=model,
        max_tokens=max_tokens,
        high=high,
        low=low,
        engine=engine,
        keep_recent=keep_recent,
        repair=repair,
        strict=strict,
    )
    return replay_files(files, settings, provider=_provider(provider), as_json=as_json, show_all=show_all, only=only, plot=plot)


@command(
    app,
    "polycontext project chat.json --max-tokens 2000 > smaller.json",
    "polycontext project chat.json --model gpt-5 --query 'the invoice of March'",
    "polycontext project - --max-tokens 2000 --json < request.json | jq .report",
)
def project(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON or JSONL file, or - for standard input.")],
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="How many tokens the request may have; needed unless --model is given.")
    ] = None,
    model: ModelOption = None,
    provider: ProviderOption = "auto",
    keep_recent: KeepRecent = 6,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="What the next answer is about; summaries prefer it.")] = None,
    repair: Repair = False,
    as_json: AsJson = False,
) -> int:
    """Shorten a conversation so that it fits, and print it as JSON in the shape it came in.

    What is old is dropped or summarised, without a model. A report of it goes to standard error; with --json one object holds
    messages ready to be sent, system and report. Exit code 1 says that it cannot be made to fit.
    """
    from .project import project_file

    if model is None and max_tokens is None:
        raise CommandError(USAGE, "neither --max-tokens nor --model; legal: how many tokens the request may have, or who is asked")
    room = {"model": model, "max_tokens": max_tokens}
    return project_file(file, room, _provider(provider), as_json=as_json, keep_recent=keep_recent, query=query, repair=repair)


@command(
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
    from .check import check_file

    return check_file(file, None if provider == "auto" else provider, betas=beta or (), as_json=as_json)


@command(app, "polycontext diagram", "polycontext diagram --format dot --output machine.dot", "polycontext diagram --into README.md")
def diagram(
    form: Annotated[Literal["mermaid", "dot"], typer.Option("--format", help="Text for Mermaid or for Graphviz.")] = "mermaid",
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there instead of to standard output.")] = None,
    into: Annotated[Path | None, typer.Option(metavar="PAGE.md", help="Put the Mermaid diagram between the markers of a page.")] = None,
) -> int:
    """Draw the states that a conversation goes through, and what leads from one to the next.

    The diagram is made of the state machine's own declaration, as text for Mermaid or Graphviz.
    """
    from .diagram import draw, draw_into

    return draw(form, output) if into is None else draw_into(into)


@command(
    app,
    "polycontext laws",
    "polycontext laws --room window --examples 1000 --json",
    "polycontext laws --subject my_agent.summaries:ShortSummariser",
)
def laws(
    room: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROOM", help="Run the laws of this package only: linearity, window, pressure, polynomial, nodes; may be given again."
        ),
    ] = None,
    law: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Run this law only; may be given again.")] = None,
    examples: Annotated[int, typer.Option(min=1, metavar="N", help="How many inputs each law is tried on.")] = 100,
    subject: Annotated[
        str | None,
        typer.Option(metavar="MODULE:OBJECT", help="Your window, counter, classifier, summariser, ...: run what laws there are about it."),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="NUMBER", help="Draw other examples.")] = None,
    as_json: AsJson = False,
) -> int:
    r"""Test what polycontext promises (its laws), on generated inputs or on an object of yours.

    A law is a property such as "no call is parted from its result", as code. Prints for each law how many examples were tried, whether it holds, and the smallest counterexample found.
    Exit code 1 says that a law is broken. The examples are the same in every run, unless a seed is given. Needs the extra `laws`.
    """
    from polycontext.linearity import require_extra

    require_extra("hypothesis", extra="laws", purpose="polycontext laws")
    from .laws import check_laws

    return check_laws(room or (), law or (), subject, examples=examples, seed=seed, as_json=as_json)


pills = typer.Typer(
    name="pills",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Name files and Python symbols in a message, as \\[@src/agent.py], and have their content attached: such a name is a pill.",
)
app.add_typer(pills)
app.add_typer(session)

Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="Where files and symbols are, the current folder unless said; may be given again."),
]


@command(pills, "polycontext pills complete @src/ag", "polycontext pills complete Agent --type symbol --json")
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
    from .pills import complete_prefix

    return complete_prefix(prefix, root or [Path()], kind=None if kind == "all" else kind, limit=limit, as_json=as_json)


@command(pills, "polycontext pills resolve 'explain \\[@src/agent.py]' --root .")
def resolve(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message, its pills written \\[@name].")],
    root: Roots = None,
    limit: Annotated[int, typer.Option(min=1, metavar="CHARACTERS", help="Where the content of a pill is cut, at a line end.")] = 50_000,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="How many tokens a request may have; 100000 unless this or --model is given."),
    ] = None,
    model: ModelOption = None,
    provider: Annotated[
        Literal["auto", "openai", "anthropic"], typer.Option(help="Whose message format to print; auto is the model's, or OpenAI's.")
    ] = "auto",
    as_json: AsJson = False,
) -> int:
    r"""Print the messages that a provider gets for a text with pills such as \[@src/agent.py], their content attached.

    What was attached, cut, refused or had to be summarised goes to standard error; with --json it stands beside the messages.
    Exit code 1 says that a pill was refused; the message is printed all the same.
    """
    from .pills import resolve_message

    room: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    return resolve_message(text, root or [Path()], limit=limit, **room, provider=_provider(provider), as_json=as_json)


@command(
    app,
    "polycontext serve",
    "polycontext serve --store chats.db --model https://api.openai.com/v1 --name gpt-5",
    "polycontext serve --host 0.0.0.0 --token $SECRET",
    "polycontext serve --root .",
)
def serve(
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Where chats are kept: a SQLite file, or postgresql://…; in memory unless said.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen. On any host but loopback, --token is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="On which port; 0 takes a free one.")] = 8400,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An endpoint that speaks OpenAI's chat or Anthropic's messages; a script answers unless one is said."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What the endpoint calls its model.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="How many tokens a request may have.")] = 8000,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A system prompt for every chat; no browser sees it.")] = None,
    token: Annotated[
        list[str] | None,
        typer.Option(
            envvar="POLYCONTEXT_TOKENS", help="A token of at least 16 characters that is let in as a user of its own. Repeat for several."
        ),
    ] = None,
    origin: Annotated[list[str] | None, typer.Option(help="A page elsewhere that may ask; may be said several times.")] = None,
    a_minute: Annotated[int, typer.Option(min=1, metavar="N", help="How many requests a user may make in a minute.")] = 600,
    proxy: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="A reverse proxy whose X-Forwarded-For is believed. Repeat for several.")
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Where files and symbols are that users may name in messages, none unless said; may be given again."
        ),
    ] = None,
) -> int:
    r"""Serve conversations over HTTP: a browser sees what may be shown, and hears when it changes.

    Needs the extra `server`. Stops on Ctrl+C, with what was said kept.
    """
    from .serve import Served
    from .serve import serve as run

    users = tuple(token or ()), tuple(origin or ()), a_minute
    return run(Served(store, host, port, model, name, max_tokens, system, *users, tuple(root or ()), tuple(proxy or ())))


@command(
    app,
    "polycontext chat",
    "polycontext chat --store chats.db --session trip --model https://api.openai.com/v1 --name gpt-5",
    "polycontext chat --model http://localhost:11434/v1 --name llama3 < questions.txt",
    verdict=verdict,
)
def chat(
    store: Annotated[
        str | None,
        typer.Option(envvar=STORE, metavar="URL", help="Where the chat is kept: a SQLite file, or postgresql://…; nowhere unless said."),
    ] = None,
    name_of_session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Which session of the store, which goes on if it is there; a new one unless said."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An endpoint that speaks OpenAI's chat or Anthropic's messages; a script answers unless one is said."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What the endpoint calls its model.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="TOKENS", help="How many tokens a request may have; as many as a known model has, or 8000, unless said."
        ),
    ] = None,
    root: Roots = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A system prompt for a new session.")] = None,
) -> int:
    r"""Talk with a model in the terminal: @ attaches files, symbols and buffers, /help tells what else can be typed.

    Ctrl+C ends an answer, of which is kept what was said; Ctrl+D leaves. Where standard input is no terminal, each line of it is a message, and exit
    code 1 says that one was refused or not answered. Needs the extra `chat` at a terminal.
    """
    from .chat.chatting import Chatted
    from .chat.chatting import chat as run

    return run(Chatted(store, name_of_session, model, name, max_tokens, root or [Path()], system))


def _provider(choice: ProviderChoice) -> "Provider | None":
    from polycontext.window.providers import Provider

    return None if choice == "auto" else Provider(choice)


def main(arguments: Sequence[str] | None = None, program: str = _NAME) -> int:
    """Run the command line and return its exit code; whatever goes wrong is one line on standard error.

    `arguments` are those behind the program's name, by default the process's own; `program` is what help and complaints call it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that does not know a sign gets a stand-in for it.
            stream.reconfigure(errors="replace")
    try:
        # Not standalone: Click would print and end the process by itself.
        code = _called(typer.main.get_command(app), program).main(arguments, prog_name=program, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        return _explain(error, program)
    return code if isinstance(code, int) else 0


def _called(command: Any, program: str) -> Any:
    """Return a command, made for one run, whose examples call the program what its user called it."""
    if command.epilog and program != _NAME:
        command.epilog = command.epilog.replace(f"\n\n{_NAME} ", f"\n\n{program} ")
    for inner in getattr(command, "commands", {}).values():
        _called(inner, program)
    return command


def _explain(error: Exception, program: str) -> int:
    """Say what went wrong in one line, and return the exit code that fits."""
    if isinstance(error, CommandError):
        # Where the input is fine and the answer is no, there is nothing to look up.
        complain(f"{error}; see {program} {error.command} --help" if error.code == USAGE else str(error))
        return error.code
    # What Typer raises has its own words and its own exit code.
    explain = getattr(error, "format_message", None)
    if explain is None:
        complain(f"a fault of this program: {type(error).__name__}: {error} (set {TRACEBACK}=1 to see where)")
        return INTERNAL
    if explain():
        command = getattr(getattr(error, "ctx", None), "command_path", program)
        complain(f"{explain().rstrip('.')}; see {command} --help")
    return int(getattr(error, "exit_code", USAGE))
