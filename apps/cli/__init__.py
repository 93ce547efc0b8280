"""The command line: one file a command, over what a reader could also call; needs the extra `cli`."""

from polycontext.linearity import require_extra

for _module in ("typer", "rich"):
    require_extra(_module, extra="cli", purpose="the command line")
