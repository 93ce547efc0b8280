"""The command line: one module a command or a group of them, over public APIs.

Needs the extra `cli`.
"""

from polycontext.linearity import require_extra

for _module in ("click", "rich"):
    require_extra(_module, extra="cli", purpose="the command line")
