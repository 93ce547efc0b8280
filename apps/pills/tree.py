"""Folder walks that skip ignored files, links, version control folders and files with secrets.

Ignore files are matched with pathspec. Its patterns become regular expressions that backtrack, so
each is rewritten to never retry a star or a ``**`` that has matched. A walk ends once it has
matched `MOST_MATCHED` characters or run for `MOST_SECONDS`.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycontext.base import require_extra

from .pill import LONGEST_NAME

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
from fnmatch import fnmatchcase

IGNORE_FILES = (".gitignore", ".ignore")
"""The ignore files of a folder.

Later files override earlier ones, and deeper folders override higher ones.
"""

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})

_STARS = re.compile(r"\*+")
_STAR = "[^/]*"
"""The expression for a star within a path step."""
_OPEN = re.compile(r"(\^\(\?:\.\+/\)\?|\(\?:/\.\+\)\?/)")
"""The expressions for ``**/`` at the start and further on."""

MOST_MATCHED = 1_000_000_000
"""The most characters of paths, times the number of rules, to match in one walk.

The walk then ends with the files found so far. A file that would take more is not read.
"""

MOST_SECONDS = 10
"""The most processor time of one walk, in seconds, however long the rules are."""

_MOST_READ = 100_000
"""The most bytes of one ignore file to read, since every line is tried on every path."""

_MOST_RULES = 2_000
"""The most lines of one ignore file to read; each costs as much as `_A_RULE` characters."""

_A_RULE = 25_000

_Rules = tuple[tuple[int, "GitIgnoreSpec"], ...]
"""Ignore files from the root down, each with the length of its folder's path."""

_log = logging.getLogger(__name__)


def walk_files(root: Path, clock: Callable[[], float] = time.thread_time) -> Iterator[str]:
    """Yield the relative path, with ``/``, of every regular file in `root` that is not ignored.

    Symbolic links are neither followed nor yielded. Folders that cannot be read are skipped. If the
    walk reaches `MOST_MATCHED`, or `MOST_SECONDS` by `clock`, it ends with a logged warning.
    """
    pending: list[tuple[str, _Rules]] = [("", ())]
    left, end = MOST_MATCHED, clock() + MOST_SECONDS
    while pending:
        folder, rules = pending.pop()
        entries = _listed(root / folder)
        before, rules = len(rules), _with_rules(entries, folder, rules)
        left -= _A_RULE * _count(rules[before:])
        count = _count(rules)
        for entry in entries:
            path = folder + entry.name
            if len(path) > LONGEST_NAME:
                continue
            left -= len(path) * count
            if left < 0 or clock() > end:
                _log.warning(
                    "not all files beneath %s are known: reading them and matching them with "
                    "ignore files takes too long",
                    root,
                )
                return
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in VERSION_CONTROL and not _is_ignored(f"{path}/", rules):
                    pending.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(path, rules):
                yield path


def is_ignored(root: Path, path: str, clock: Callable[[], float] = time.thread_time) -> bool | None:
    """Return whether an ignore file between `root` and `path` excludes the file or its folder.

    Returns None if this exceeds the limits of a walk: `MOST_MATCHED`, or `MOST_SECONDS` by `clock`.
    """
    rules: _Rules = ()
    folder = ""
    left, end = MOST_MATCHED, clock() + MOST_SECONDS
    for step in path.split("/"):
        before = len(rules)
        rules = _with_rules(_listed(root / folder), folder, rules)
        left -= _A_RULE * _count(rules[before:]) + len(folder + step) * _count(rules)
        if left < 0 or clock() > end:
            return None
        last = folder + step == path
        if _is_ignored(path if last else f"{folder}{step}/", rules):
            return True
        folder += f"{step}/"
    return False


def _count(rules: _Rules) -> int:
    return sum(len(spec.patterns) for _, spec in rules)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _with_rules(entries: list[os.DirEntry[str]], folder: str, rules: _Rules) -> _Rules:
    """Return `rules` extended by the ignore files among `entries`."""
    present = {
        entry.name: entry
        for entry in entries
        if entry.name in IGNORE_FILES and entry.is_file(follow_symlinks=False)
    }
    lines = [
        line for name in IGNORE_FILES if name in present for line in _lines(present[name].path)
    ]
    return (*rules, (len(folder), _spec(lines))) if lines else rules


def _lines(path: str) -> list[str]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_READ + 1)
    except OSError:
        return []
    lines = data.decode("utf-8", errors="replace").splitlines()
    # The last line may be cut in the middle, which would make it a different pattern.
    return (lines[:-1] if len(data) > _MOST_READ else lines)[:_MOST_RULES]


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    """Return the rules of `lines`, skipping invalid patterns as git does."""
    require_extra("pathspec", extra="cli", purpose="reading ignore files")
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - slow import, only for completion
    from pathspec.patterns.gitignore import GitIgnorePatternError, spec  # noqa: PLC0415 - as above

    patterns: list[spec.GitIgnoreSpecPattern] = []
    for line in map(_with_single_stars, lines):
        with suppress(GitIgnorePatternError):
            pattern = spec.GitIgnoreSpecPattern(line)
            if pattern.regex is None:
                continue
            patterns.append(
                spec.GitIgnoreSpecPattern(
                    re.compile(_linear(pattern.regex.pattern)), pattern.include
                )
            )
    # Other backends do not support atomic groups.
    return GitIgnoreSpec(patterns, backend="simple")


def _linear(regex: str) -> str:
    """Return an equivalent expression that retries no star and no ``**`` except the last of each.

    The first place where the text between two of them matches is always the best one to continue
    from.

    >>> _linear("^[^/]*a[^/]*b[^/]*c$")
    '^(?>[^/]*?a)(?>[^/]*?b)[^/]*c$'
    >>> _linear("^(?:.+/)?a(?:/.+)?/b$")
    '(?>^(?:.+?/)??a(?=/))(?:/.+)?/b$'
    """
    first, *others = _OPEN.split(regex)
    steps = [
        opened + _with_atomic_stars(body)
        for opened, body in zip(others[::2], others[1::2], strict=True)
    ]
    lazy = [
        f"(?>{step.replace('.+', '.+?', 1).replace(')?', ')??', 1)}(?=/))" for step in steps[:-1]
    ]
    return _with_atomic_stars(first) + "".join(lazy + steps[-1:])


def _with_atomic_stars(regex: str) -> str:
    first, *pieces = regex.split(_STAR)
    return (
        first
        + "".join(f"(?>{_STAR}?{piece})" for piece in pieces[:-1])
        + "".join(_STAR + piece for piece in pieces[-1:])
    )


def _with_single_stars(line: str) -> str:
    """Return `line` with every run of stars within a step replaced by one star.

    Two stars differ from one only as a whole step, and an engine may retry each star.
    """
    return "/".join(
        step if step in ("**", "!**") else _STARS.sub("*", step) for step in line.split("/")
    )


def _is_ignored(path: str, rules: _Rules) -> bool:
    for start, spec in reversed(rules):
        ignored = spec.check_file(path[start:]).include
        if ignored is not None:
            return ignored
    return False


SECRETS = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *(
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        ".git-credentials",
    ),
)
"""Names of files that hold keys and passwords, according to the documentation of programs."""

_SHOWN = (".env.example", ".env.sample", ".env.template")
_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".docker"})


def holds_secrets(path: str) -> bool:
    """Return whether the name of a path suggests that it holds keys or passwords.

    >>> [
    ...     holds_secrets(path)
    ...     for path in (
    ...         ".env",
    ...         "deploy/server.PEM",
    ...         ".ssh/config",
    ...         ".env.example",
    ...         "environment.py",
    ...     )
    ... ]
    [True, True, True, False, False]
    """
    *folders, name = path.lower().split("/")
    if not _FOLDERS.isdisjoint(folders):
        return True
    return name not in _SHOWN and any(fnmatchcase(name, pattern) for pattern in SECRETS)


def kept_back(root: Path, path: str) -> str | None:
    """Return why the file at `path` in `root` is withheld, or None if it is not."""
    steps = path.split("/")
    if not VERSION_CONTROL.isdisjoint(steps[:-1]):
        return "is version control's own"
    if holds_secrets(path):
        return "may hold keys or passwords, by its name"
    ignored = is_ignored(root, path)
    if ignored is None:
        return "has more ignore rules above it than can be matched"
    return "is ignored by version control" if ignored else None
