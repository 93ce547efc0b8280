"""`polycontext completion`: shell completion of commands, options and session names."""

from typing import Annotated

import click
from click.shell_completion import get_completion_class

from .command import argument, command
from .output import write

VARIABLE = "_POLYCONTEXT_COMPLETE"
"""Environment variable that a shell sets to request completions."""


@command(
    'eval "$(polycontext completion bash)"    # in ~/.bashrc',
    'eval "$(polycontext completion zsh)"     # in ~/.zshrc',
    "polycontext completion fish > ~/.config/fish/completions/polycontext.fish",
)
def completion(
    *,
    shell: Annotated[str, argument(type=click.Choice(["bash", "zsh", "fish"]))],
) -> None:
    """Print the script that completes commands, options and session names in a shell."""
    complete = get_completion_class(shell)
    assert complete is not None
    root = click.get_current_context().find_root()
    write(complete(root.command, {}, str(root.info_name), VARIABLE).source())
