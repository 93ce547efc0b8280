"""The command line: `polycontext replay`, `polycontext project`, `polycontext diagram`.

This module holds the options and the exit codes; each command's work is in a
module of its own, loaded when it is asked for, so that `--help` is quick.
Exit codes: 0 done; 1 the answer is no (the budget cannot be met, `--strict` found a
refused turn); 2 the input or the options are at fault; 130 interrupted; 141 nobody reads
the output any more.
"""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Literal

import typer

from polycontext.linearity import PolycontextError
from polycontext.nodes.cli_output import USAGE, CommandError, PipeClosed, complain, discard_output
from polycontext.nodes.reading_errors import ReadingError

INTERRUPTED, PIPE_CLOSED, INTERNAL = 130, 141, 70

app = typer.Typer(name="polycontext", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


class ProviderChoice(StrEnum):
    """Name a message format, or leave it to be found out."""

    AUTO = "auto"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
