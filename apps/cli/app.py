"""The command line: its commands, and what their errors come to.

Exit codes: 0 done; 1 the input is fine and the answer is no (a budget cannot be met, `--strict` met
a refused turn, a provider would refuse, a law is broken, a session or its store refuses); 2 the
input or the options are at fault; 70 a fault of this program; 130 interrupted; 141 nobody reads the
output.
"""

import errno
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from polycontext.linearity import (
    InvalidDataError,
    InvalidOptionError,
    MissingExtraError,
    PolycontextError,
    UnknownNameError,
)

from .command import Group
from .output import (
    FAULT,
    USAGE,
    CommandError,
    complain,
    is_verbose,
    set_verbosity,
    write,
)

NAME = "polycontext"
INTERNAL, INTERRUPTED = 70, 130


app = Group(
    NAME,
    "Keep LLM conversations within the model's window.",
    {
        "session": ("session", "Manage conversations in a store."),
        "chat": ("chat", "Chat with a model."),
        "project": ("project", "Shorten a conversation to fit a window."),
        "replay": ("replay", "Replay a recorded conversation and show each compression."),
        "check": ("check", "Find what a provider would reject in a request."),
        "serve": ("serve", "Serve conversations over HTTP."),
        "pills": ("pills", "List the files and symbols that a message can attach."),
        "diagram": ("diagram", "Draw the state machine."),
        "laws": ("laws", "Test the library's laws on generated input or on your object."),
        "completion": ("completion", "Print the completion script of a shell."),
    },
)
click.version_option(
    package_name=NAME,
    prog_name=NAME,
    message="%(prog)s %(version)s",
    help="Print the version and exit.",
)(app)


def main(arguments: Sequence[str] | None = None, program: str = NAME) -> int:
    """Run the command line and return its exit code.

    Whatever goes wrong is one line on standard error.

    `arguments` are those behind the program's name, by default the process's own; `program` is what
    help and errors call it.
    """
    set_verbosity("normal")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that does not know a sign gets a stand-in for it.
            stream.reconfigure(errors="replace")
    try:
        # Not standalone: Click would print and end the process by itself.
        code = app.main(arguments, prog_name=program, standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        write(f"{error.format_message()}\n")
        return USAGE
    except Exception as error:
        if is_verbose() and not isinstance(error, click.ClickException):
            raise
        message, code = _explanation(error)
        complain(message)
    return code if isinstance(code, int) else 0


def _explanation(error: Exception) -> tuple[str, int]:
    """Return in one line what went wrong, and the exit code that fits."""
    match error:
        case CommandError():
            return str(error), error.code
        case click.UsageError(ctx=click.Context() as context):
            message = error.format_message()
            end = "" if message.endswith((".", "?")) else "."
            return f"{message}{end} Try {context.command_path} --help.", USAGE
        case click.ClickException():
            return error.format_message(), error.exit_code
        case PolycontextError():
            return str(error), exit_code(error)
        case OSError(errno=errno.ENOSPC):
            return "the output cannot be written: the disk is full. Make room and try again.", FAULT
        case _:
            what = f"{type(error).__name__}: {error}"
            return f"a fault of this program: {what}. Add -v to see where.", INTERNAL


def exit_code(error: PolycontextError) -> int:
    """Return 2 where what was given is at fault, 1 where a session, a store or a budget says no."""
    from polycontext.window import InvalidMessagesError, InvalidTurnError  # noqa: PLC0415 - for who has erred

    given = (
        InvalidDataError,
        InvalidOptionError,
        UnknownNameError,
        InvalidMessagesError,
        InvalidTurnError,
        MissingExtraError,
    )
    return USAGE if isinstance(error, given) else FAULT
