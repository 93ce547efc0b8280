"""Folder walks that skip ignored files, links, version control folders and files with secrets.

Inside a git repository, git says which files are not ignored; the rules of other folders are
matched with pathspec. Files whose rules cannot be judged are withheld. A walk ends once it has
matched `MOST_MATCHED` characters or run for `MOST_SECONDS`.
"""

import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Timer
from typing import TYPE_CHECKING

from polycontext.base import require_extra

from .pill import LONGEST_NAME
from .secret_files import holds_secrets

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")
"""The ignore files of a folder.

Later files override earlier ones, and deeper folders override higher ones. Inside a git repository
``.ignore`` only excludes more.
"""

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})

_BARE = frozenset({"HEAD", "objects", "refs"})
"""What the folder of a bare git repository holds."""

MOST_MATCHED = 1_000_000_000
"""The most characters of paths, times the number of rules, to match in one walk.

The walk then ends with the files found so far. A file that would take more is not read.
"""

MOST_SECONDS = 10
"""The most processor time of one walk, and the most time of one call to git, in seconds."""

_MOST_LISTED = 100_000_000
"""The most bytes to read of git's list of files."""

_MOST_READ = 100_000
"""The most bytes of one ignore file to match; a longer one ignores everything beside and below."""

_MOST_RULES = 2_000
"""The most lines of one ignore file to match; each costs as much as `_A_RULE` characters."""

_MOST_STARS = 3
"""The most stars in a rule that pathspec matches, since its expressions try every way to do so.

A rule with more ignores everything beside and below it, or nothing if it is negated.
"""

_A_RULE = 25_000

_A_REPOSITORY = 1_000_000
"""The cost of one call to git below the root, in matched characters: a walk makes about 1,000."""

_Rules = tuple[tuple[int, "GitIgnoreSpec"], ...]
"""Ignore files from the root down, each with the length of its folder's path."""

_Known = frozenset[str] | None
"""The files of a repository that git does not ignore and their folders; None outside of one."""

_log = logging.getLogger(__name__)


def walk_files(root: Path, clock: Callable[[], float] = time.thread_time) -> Iterator[str]:
    """Yield the relative path, with ``/``, of every regular file in `root` that is not ignored.

    Symbolic links are neither followed nor yielded. Folders that cannot be read are skipped. If the
    walk reaches `MOST_MATCHED`, or `MOST_SECONDS` by `clock`, it ends with a logged warning.
    """
    pending: list[tuple[str, _Rules, int, _Known]] = [("", (), 0, None)]
    left, end = MOST_MATCHED, clock() + MOST_SECONDS
    while pending:
        folder, rules, start, known = pending.pop()
        entries = _listed(root / folder)
        names = {entry.name for entry in entries}
        if names >= _BARE:
            continue
        if not folder or ".git" in names:
            start, known = len(folder), _not_ignored_by_git(root / folder)
            left -= _A_REPOSITORY if folder else 0
        before, rules = len(rules), _with_rules(entries, folder, rules, known)
        left -= _A_RULE * _count(rules[before:])
        count = _count(rules)
        for entry in entries:
            path = folder + entry.name
            if len(path) > LONGEST_NAME or (known is not None and path[start:] not in known):
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
                    pending.append((f"{path}/", rules, start, known))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(path, rules):
                yield path


def is_ignored(root: Path, path: str, clock: Callable[[], float] = time.thread_time) -> bool | None:
    """Return whether git, or an ignore file between `root` and `path`, excludes the file.

    Returns None if this exceeds the limits of a walk: `MOST_MATCHED`, or `MOST_SECONDS` by `clock`.
    """
    steps = path.split("/")
    folders = ["".join(f"{step}/" for step in steps[:count]) for count in range(len(steps))]
    starts = [each for each in folders if not each or os.path.lexists(root / each / ".git")]
    rules: _Rules = ()
    known: _Known = None
    left, end = MOST_MATCHED, clock() + MOST_SECONDS
    for folder, step in zip(folders, steps, strict=True):
        if folder in starts:
            _, *deeper = starts[starts.index(folder) :]
            inside = (deeper or [path])[0][len(folder) :].rstrip("/")
            known = _not_ignored_by_git(root / folder, inside)
            if known is not None and inside not in known:
                return True
        before = len(rules)
        rules = _with_rules(_listed(root / folder), folder, rules, known)
        left -= _A_RULE * _count(rules[before:]) + len(folder + step) * _count(rules)
        if left < 0 or clock() > end:
            return None
        if _is_ignored(path if folder + step == path else f"{folder}{step}/", rules):
            return True
    return False


def _not_ignored_by_git(folder: Path, path: str = "") -> _Known:
    """Return the files in `folder`, or only `path`, that git does not ignore, and their folders.

    Returns None outside of a repository. If git is not installed, fails or takes too long, the
    files that it has not listed count as ignored.
    """
    if (git := shutil.which("git")) is None:
        place = folder.resolve()
        if not any(os.path.lexists(each / ".git") for each in (place, *place.parents)):
            return None
        _log.warning("git is not installed, so no file of the repository at %s is offered", folder)
        return frozenset()
    # Nothing that the repository configures is run, nothing is written and nothing is fetched.
    settings = ("-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "--no-optional-locks")
    command = [git, "-C", str(folder), *settings, "--literal-pathspecs", "ls-files", "-z"]
    # The user's settings count, but not variables that lead to another repository, as in a hook.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 - the program is git, and the paths are no options of it
            [*command, "--cached", "--others", "--exclude-standard", "--", *filter(None, [path])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**kept, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"},
        ) as running,
    ):
        assert running.stdout is not None
        timer = Timer(MOST_SECONDS, running.kill)
        timer.start()
        data = running.stdout.read(_MOST_LISTED)
        if len(data) == _MOST_LISTED:
            running.kill()
        failed = running.wait()
        timer.cancel()
        said.seek(0)
        error = said.read(1_000).decode(errors="replace")
    if "not a git repository (or any" in error:
        return None
    if failed:
        _log.warning("git has not listed all files of %s: %s", folder, error or "it took too long")
    # The last name ends with a NUL unless it was cut.
    found = {os.fsdecode(name).rstrip("/") for name in data.split(b"\0")[:-1]}
    folders = {str(each) for name in found for each in PurePosixPath(name).parents}
    return frozenset(found | folders)


def _count(rules: _Rules) -> int:
    return sum(len(spec.patterns) for _, spec in rules)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _with_rules(
    entries: list[os.DirEntry[str]], folder: str, rules: _Rules, known: _Known
) -> _Rules:
    """Return `rules` extended by the ignore files among `entries` that git has not applied."""
    present = {
        entry.name: entry
        for entry in entries
        if entry.name in IGNORE_FILES[known is not None :] and entry.is_file(follow_symlinks=False)
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
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    if len(data) > _MOST_READ or len(lines) > _MOST_RULES:
        _log.warning("an ignore file is too long to be matched: %s", path)
        return ["*"]
    return lines


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    """Return the rules of `lines`, skipping invalid patterns as git does."""
    require_extra("pathspec", extra="cli", purpose="reading ignore files")
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - slow import, only for completion
    from pathspec.patterns.gitignore import GitIgnorePatternError, spec  # noqa: PLC0415 - as above

    patterns: list[spec.GitIgnoreSpecPattern] = []
    for line in lines:
        stars = sum(1 if step in ("**", "!**") else step.count("*") for step in line.split("/"))
        # pathspec reads classes such as [[:alpha:]] otherwise than git.
        is_unknown = stars > _MOST_STARS or "[:" in line
        if is_unknown and not line.startswith("#"):
            _log.warning("an ignore rule cannot be judged: %s", line[:100])
            line = "" if line.startswith("!") else "*"  # noqa: PLW2901
        with suppress(GitIgnorePatternError):
            patterns.append(spec.GitIgnoreSpecPattern(line))
    return GitIgnoreSpec(patterns)


def _is_ignored(path: str, rules: _Rules) -> bool:
    for start, spec in reversed(rules):
        ignored = spec.check_file(path[start:]).include
        if ignored is not None:
            return ignored
    return False


def kept_back(root: Path, path: str) -> str | None:
    """Return why the file at `path` in `root` is withheld, or None if it is not."""
    steps = path.split("/")
    folders = [root, *(root / "/".join(steps[:count]) for count in range(1, len(steps)))]
    if not VERSION_CONTROL.isdisjoint(steps[:-1]) or any(map(_is_bare, folders)):
        return "is version control's own"
    if holds_secrets(path):
        return "may hold keys or passwords, by its name"
    ignored = is_ignored(root, path)
    if ignored is None:
        return "has more ignore rules above it than can be matched"
    return "is ignored by version control, or git could not list it" if ignored else None


def _is_bare(folder: Path) -> bool:
    return all(os.path.lexists(folder / name) for name in _BARE)
