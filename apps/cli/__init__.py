"""The command line, with one module for each command or group of commands.

It uses only the library's public API. Requires the extra `cli`.
"""

from polycontext.base import require_extra

for _module in ("click", "rich"):
    require_extra(_module, extra="cli", purpose="the command line")
