"""Files that may hold keys and passwords, by their names.

They are listed in ``tables/secret_files.txt``, according to the documentation of programs.
"""

import re
from fnmatch import translate
from functools import cache
from importlib.resources import files

_SHOWN = re.compile(
    r".*\.(?:pyi?|[mc]?[jt]sx?|go|rs|java|kt|rb|php|c|h|cc|cpp|cs|swift|scala|sh|css|html|md|mdx|rst"
    r"|adoc|pub)|(?:.*[._-])?(?:example|sample|template|tmpl|dist)(?:[._-].*)?"
)
"""Names that look like those of secrets but are source code, pages, public keys or templates."""
_BACKUP = re.compile(r"(?:~|\.(?:(?:bak|backup|old|orig|save|tmp)?\d*|~\d+|sw[a-p]|txt))+$")


@cache
def _table() -> dict[str, re.Pattern[str]]:
    """Return the pattern of each kind of entry."""
    text = (
        files("polycontext.pills")
        .joinpath("tables", "secret_files.txt")
        .read_text(encoding="utf-8")
    )
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        kind, _, listed = line.partition(": ")
        words.setdefault(kind, []).extend(listed.split())
    return {kind: re.compile("|".join(map(translate, each))) for kind, each in words.items()}


def holds_secrets(path: str) -> bool:
    """Return whether the name of a path suggests that it holds keys or passwords.

    >>> [
    ...     holds_secrets(path)
    ...     for path in (
    ...         ".env",
    ...         "deploy/server.PEM",
    ...         ".ssh/config",
    ...         "credentials.json",
    ...         ".env.example",
    ...         "credentials.py",
    ...     )
    ... ]
    [True, True, True, True, False, False]
    """
    table, (*folders, name) = _table(), path.lower().split("/")
    bare = _BACKUP.sub("", name.strip("#"))
    return any(map(table["folder"].match, folders)) or any(
        table["name"].match(each)
        or (
            (table["like"].match(each) or table["place"].match("/".join([*folders[-1:], each])))
            and not _SHOWN.fullmatch(each)
        )
        for each in (bare, bare.removeprefix("."))  # an editor's copy may begin with a point
    )
