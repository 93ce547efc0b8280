"""Walk a folder as version control sees it: ignore files are honoured, links and its own folders passed over.

pathspec does the matching. Its patterns become regular expressions that backtrack, so a line
reaches it only where no name can make it take long.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycontext.window.pills.pill import LONGEST_NAME

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")
"""In each folder; the later one has the last word, and a deeper folder's over a higher one's."""

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})

_STARS = re.compile(r"\*+")
_MOST_STARS = 3
"""Runs of stars in one line, a leading ``**/`` apart: each more multiplies what matching a long name may cost."""

_MOST_READ = 100_000
"""Bytes of one ignore file; every line is tried on every path."""

_Rules = tuple[tuple[int, "GitIgnoreSpec"], ...]
"""Ignore files from the root down, each with the length of its folder's path."""


def walk_files(root: Path) -> Iterator[str]:
    """Yield the path of every regular file beneath `root` that is not ignored, with ``/`` and relative to it.

    Symbolic links are not followed and not yielded. A folder that cannot be read is passed over.
    """
    pending: list[tuple[str, _Rules]] = [("", ())]
    while pending:
        folder, rules = pending.pop()
        entries = _listed(root / folder)
        rules = _with_rules(entries, folder, rules)
        for entry in entries:
            path = folder + entry.name
            if len(path) > LONGEST_NAME:
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in VERSION_CONTROL and not _is_ignored(f"{path}/", rules):
                    pending.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(path, rules):
                yield path


def is_ignored(root: Path, path: str) -> bool:
    """Tell whether an ignore file on the way from `root` to the file at `path` names it or a folder that it is in."""
    rules: _Rules = ()
    folder = ""
    for step in path.split("/"):
        rules = _with_rules(_listed(root / folder), folder, rules)
        last = folder + step == path
        if _is_ignored(path if last else f"{folder}{step}/", rules):
            return True
        folder += f"{step}/"
    return False


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _with_rules(entries: list[os.DirEntry[str]], folder: str, rules: _Rules) -> _Rules:
    """Return `rules` with those of the ignore files among `entries`."""
    present = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES and entry.is_file(follow_symlinks=False)}
    lines = [line for name in IGNORE_FILES if name in present for line in _lines(present[name].path)]
    return (*rules, (len(folder), _spec(lines))) if lines else rules


def _lines(path: str) -> list[str]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_READ + 1)
    except OSError:
        return []
    lines = data.decode("utf-8", errors="replace").splitlines()
    # What was cut in the middle would be another pattern than it was.
    return lines[:-1] if len(data) > _MOST_READ else lines


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    """Return the rules of `lines`; one that is no pattern is passed over, as git does, and so is one made to take forever."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - a quarter of the room's import time, for those who complete
    from pathspec.patterns.gitignore import GitIgnorePatternError  # noqa: PLC0415 - as above

    patterns: list[str] = []
    for line in filter(_is_quick, map(_with_single_stars, lines)):
        with suppress(GitIgnorePatternError):
            GitIgnoreSpec.from_lines([line])
            patterns.append(line)
    return GitIgnoreSpec.from_lines(patterns)


def _with_single_stars(line: str) -> str:
    """Return `line` with every run of stars as one: two mean more only where they are a whole step, and an engine may try each star."""
    return "/".join(step if step in ("**", "!**") else _STARS.sub("*", step) for step in line.split("/"))


def _is_quick(line: str) -> bool:
    stars = _STARS.findall(line.removeprefix("!").removeprefix("**/"))
    return len(stars) <= _MOST_STARS and stars.count("**") <= 1


def _is_ignored(path: str, rules: _Rules) -> bool:
    for start, spec in reversed(rules):
        ignored = spec.check_file(path[start:]).include
        if ignored is not None:
            return ignored
    return False
