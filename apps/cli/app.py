"""The `polycontext` command line: its commands, error messages and exit codes.

Exit codes:

- 0: success.
- 1: the input is valid but the answer is no: a budget cannot be met, `--strict` met a refused turn,
  a provider would reject the request, a law is broken, or a session or its store refuses.
- 2: the input or the options are invalid.
- 70: an internal error.
- 130: interrupted.
- 141: the reader of the output closed the pipe.
"""

import errno
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from polycontext.base import (
    InvalidDataError,
    InvalidOptionError,
    MissingExtraError,
    PolycontextError,
    UnknownNameError,
)

from .command import Group
from .errors import about_option, message_of
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
        "receipts": ("receipts", "Show and check what compressions did."),
        "chat": ("chat", "Chat with a model."),
        "project": ("project", "Shorten a conversation to fit a window."),
        "compress": ("compress", "Shorten every conversation of a data set."),
        "compact": ("compact", "Compact the conversation of a host, by its contract."),
        "lost": ("lost", "Show what a host's compactions took out of its view."),
        "demo": ("demo", "Show what a session does, on a recorded conversation."),
        "certify": ("certify", "Show what a budget loses on recorded conversations."),
        "replay": ("replay", "Replay a recorded conversation and show each compression."),
        "inspect": ("inspect", "Write what the model saw of a conversation as an HTML file."),
        "check": ("check", "Find what a provider would reject in a request."),
        "models": ("models", "List the models that are known by name."),
        "serve": ("serve", "Serve conversations over HTTP."),
        "pills": ("pills", "List the files and symbols that a message can attach."),
        "diagram": ("diagram", "Draw the state machine."),
        "verify": ("verify", "Check a policy of a state machine over all orders of events."),
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

    Every error is printed as one line on standard error.

    Args:
        arguments: The arguments after the program's name; the process's own by default.
        program: The program's name in help texts and errors.
    """
    set_verbosity("normal")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Replace characters that the terminal's encoding cannot represent.
            stream.reconfigure(errors="replace")
    try:
        # In standalone mode, Click would print the error and exit the process.
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
    """Return the error message, on one line, and the exit code."""
    match error:
        case CommandError():
            return str(error), error.code
        case click.UsageError(ctx=click.Context() as context):
            message = error.format_message()
            if isinstance(error, click.NoSuchOption):
                message = about_option(error)
            end = "" if message.endswith((".", "?")) else "."
            return f"{message}{end} Try {context.command_path} --help.", USAGE
        case click.ClickException():
            return error.format_message(), error.exit_code
        case PolycontextError():
            return message_of(error), exit_code(error)
        case OSError(errno=errno.ENOSPC):
            return "the output cannot be written: the disk is full. Make room and try again.", FAULT
        case _:
            what = f"{type(error).__name__}: {error}"
            return f"internal error: {what}. Add -v to see where.", INTERNAL


def exit_code(error: PolycontextError) -> int:
    """Return 2 if the input or the options are invalid, 1 if a session, store or budget refuses."""
    from polycontext.window import InvalidMessagesError, InvalidTurnError  # noqa: PLC0415 - lazy

    given = (
        InvalidDataError,
        InvalidOptionError,
        UnknownNameError,
        InvalidMessagesError,
        InvalidTurnError,
        MissingExtraError,
    )
    return USAGE if isinstance(error, given) else FAULT
