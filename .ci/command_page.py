"""Regenerate the command output and the reference in `docs/command-line.md`.

Usage: python .ci/command_page.py

The commands of the page are run in order in a temporary folder, and their output is placed below
them. The reference is generated from the declarations of the commands.
"""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from page_blocks import replace_blocks

from polycontext.cli.app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
PRINTED = re.compile(r"(```bash\n([^`]+)```\n\n```text\n)([^`]*)(?=```)")
"""A block of commands, and the block directly below it with their output."""
_FILE = re.compile(r"in `([\w.]+)`:\n\n```json\n([^`]+)```")
"""A file that the page tells the reader to write."""


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
    default = f" Default: {option.default}." if option.show_default else ""
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


def write_page(page: str) -> str:
    """Return the text of the page with all generated parts updated."""
    return replace_blocks(run_blocks(page), {"commands": reference()})


if __name__ == "__main__":
    PAGE.write_text(write_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
