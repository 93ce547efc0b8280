"""Files as context: what lies beneath given folders, and nothing else, whatever happens to the tree meanwhile.

Where the system can open relative to a folder, every step is taken from the open folder before it
and never through a symbolic link; a relative link is followed by taking its steps the same way, and
``..`` in it goes back to a folder that was passed, at most to the root.
"""

import codecs
import errno
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from attrs import field, frozen

from .errors import CannotAttachError, Reason
from .pill import PillType, check_name, check_path, is_name, is_path
from .resolver import DEFAULT_LIMIT, Candidate, Resolved, clipped
from .tree import holds_secrets, kept_back, walk_files

# Not blocking: opening a FIFO would wait for its writer.
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_STAY = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
)
_MOST_LINKS = 40

BY_STEPS = {os.open, os.stat, os.readlink} <= os.supports_dir_fd and bool(_STAY)
"""Whether this system can open relative to an open folder."""


def open_beneath(root: Path, name: str) -> tuple[int, str]:
    """Return a descriptor of the regular file `name` beneath `root`, and its path from there with all links followed.

    Raises:
        CannotAttachError: a link leads out, or it is no regular file. OSError: what the system
            says.
    """
    descriptor, path = _by_steps(root, name) if BY_STEPS else _by_path(root, name)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(name)
    return descriptor, path


def _by_steps(root: Path, name: str) -> tuple[int, str]:
    with ExitStack() as stack:
        walk = _Walk(stack, root, name)
        while walk.steps:
            found = walk.step()
            if found is not None:
                return found
    raise _no_file(name)


class _Walk:
    """Walk from a root to a file.

    Hold the folders passed, the steps passed and the steps to come.
    """

    def __init__(self, stack: ExitStack, root: Path, name: str) -> None:
        self.stack, self.name = stack, name
        self.folders = [self._kept(os.open(root, _FOLDER))]
        self.passed: list[str] = []
        self.steps = deque(_steps(name))
        self.links = 0

    def step(self) -> tuple[int, str] | None:
        """Take one step; return the file where it is reached."""
        step = self.steps.popleft()
        if step == "..":
            if not self.passed:
                raise _outside(self.name)
            self.folders.pop()
            self.passed.pop()
            return None
        mode = os.stat(step, dir_fd=self.folders[-1], follow_symlinks=False).st_mode
        if S_ISLNK(mode):
            self._follow(os.readlink(step, dir_fd=self.folders[-1]))
        elif S_ISDIR(mode):
            self.folders.append(self._kept(os.open(step, _FOLDER | _STAY, dir_fd=self.folders[-1])))
            self.passed.append(step)
        elif S_ISREG(mode):
            if self.steps:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            return os.open(step, _FILE | _STAY, dir_fd=self.folders[-1]), "/".join(
                [*self.passed, step]
            )
        else:
            raise _no_file(self.name)
        return None

    def _follow(self, target: str) -> None:
        self.links += 1
        if self.links > _MOST_LINKS:
            raise _circle()
        if target.startswith("/"):
            raise _outside(self.name)
        self.steps.extendleft(reversed(_steps(target)))

    def _kept(self, descriptor: int) -> int:
        self.stack.callback(os.close, descriptor)
        return descriptor


def _by_path(root: Path, name: str) -> tuple[int, str]:
    """Open by whole paths, where the system knows nothing better: a link put in between check and opening would be followed."""
    base = root.resolve(strict=True)
    try:
        path = base.joinpath(name).resolve()
    except RuntimeError:  # links in a circle, before Python 3.13
        raise _circle() from None
    if not path.is_relative_to(base):
        raise _outside(name)
    if not S_ISREG(path.stat().st_mode):
        raise _no_file(name)
    return os.open(path, _FILE), path.relative_to(base).as_posix()


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _circle() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _outside(name: str) -> CannotAttachError:
    return CannotAttachError(
        name,
        "goes through a symbolic link that leads out of its root",
        "a file beneath the root",
        Reason.OUTSIDE,
    )


def _no_file(name: str) -> CannotAttachError:
    return CannotAttachError(
        name, "is a folder, device, FIFO or socket", "a regular file", Reason.NOT_A_FILE
    )


MOST_BYTES = 10_000_000
"""Bytes of a file that are read at most; a larger one is refused unread."""

# UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


_Root = str | os.PathLike[str]


def as_paths(roots: Iterable[_Root] | _Root) -> tuple[Path, ...]:
    """Return roots, or the one root, as paths."""
    return tuple(map(Path, [roots] if isinstance(roots, str | os.PathLike) else roots))


@frozen
class FileResolver:
    """Resolve names of files: paths with ``/`` from one of `roots`, the first that has the file.

    No name, link or race reaches what is outside of the roots. `limit` is in
    characters, `most_bytes` in bytes. `encoding` is tried where a file is not
    UTF-8 and has no byte order mark. What version control keeps for itself or ignores, what holds
    secrets by its name, and what has other names (hard links, perhaps from outside) is neither
    offered nor read, but with `everything`.

    >>> FileResolver(roots=["."], limit=30).resolve("README.md").truncated
    True
    """

    type = PillType.FILE
    roots: tuple[Path, ...] = field(converter=as_paths)
    limit: int = DEFAULT_LIMIT
    most_bytes: int = field(default=MOST_BYTES, kw_only=True)
    encoding: str | None = field(default=None, kw_only=True)
    everything: bool = field(default=False, kw_only=True)

    def resolve(self, name: str) -> Resolved:
        """Return the text of the file as it is now, cut at a line end where it is longer than the limit.

        Raises:
            InvalidPillNameError: the name is no path from a root.
            CannotAttachError: no root has it, or it cannot be had: its `reason` says why.
        """
        text, path = self.read(name)
        return clipped(name, self.type, text, self.limit, path=path)

    def entries(self) -> Iterator[Candidate]:
        """Yield every file beneath the roots that no ignore file names and a pill can.

        This walks the folders.
        """
        paths = dict.fromkeys(path for root in self.roots for path in walk_files(root))
        offered = (path for path in paths if self.everything or not holds_secrets(path))
        return (Candidate(path, self.type) for path in offered if is_name(path) and is_path(path))

    def read(self, name: str) -> tuple[str, str]:
        """Return the whole text of the file, and its path from its root with links followed.

        Raise as `resolve`.
        """
        check_path(check_name(name))
        for root in self.roots:
            try:
                data, path = self._bytes(root, name)
            except CannotAttachError as error:
                if not error.is_missing:
                    raise
            else:
                return decoded_text(data, name, self.encoding), path
        raise _absent(name)

    def _bytes(self, root: Path, name: str) -> tuple[bytes, str]:
        try:
            descriptor, path = open_beneath(root, name)
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                if not self.everything:
                    _check_open(root, name, path, os.fstat(descriptor).st_nlink)
                return self._whole(file.fileno(), name), path
        except OSError as error:
            if error.errno in _ABSENT:
                raise _absent(name) from None
            problem = (error.strerror or str(error)).lower()
            raise CannotAttachError(
                name, problem, "a file that may be read", Reason.UNREADABLE
            ) from None

    def _whole(self, descriptor: int, name: str) -> bytes:
        """Return what the file holds, if nobody wrote it meanwhile."""
        before = os.fstat(descriptor)
        data = bytearray()
        while len(data) <= self.most_bytes and before.st_size <= self.most_bytes:
            piece = os.read(descriptor, min(1 << 20, self.most_bytes + 1 - len(data)))
            if not piece:
                break
            data += piece
        else:
            bound = f"{self.most_bytes:,} bytes"
            raise CannotAttachError(
                name, f"has more than {bound}", f"at most {bound}", Reason.TOO_LARGE
            )
        # Whoever writes meanwhile leaves a text that never was.
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise CannotAttachError(
                name, "was written while it was read", "sending again", Reason.CHANGED
            )
        return bytes(data)


def _check_open(root: Path, name: str, path: str, links: int) -> None:
    """Raise where the file called `name`, at `path` once links are followed, is kept back, or has other names on the disk."""
    why = kept_back(root, name) or (kept_back(root, path) if path != name else None)
    if why is None and links > 1:
        why = f"has {links} names on this disk, perhaps outside of the roots"
    if why is not None:
        raise CannotAttachError(
            name, why, "another file, or a resolver made with everything=True", Reason.KEPT_BACK
        )


def _absent(name: str) -> CannotAttachError:
    legal = "a file beneath them, or removing or updating the pill"
    return CannotAttachError(name, "is not beneath the roots", legal, Reason.FILE_NOT_FOUND)


def decoded_text(data: bytes, name: str, fallback: str | None = None) -> str:
    """Return `data` as text: byte order marks are believed, UTF-8 is checked, then `fallback`.

    Nothing is guessed.

    Raises:
        CannotAttachError: NUL in it, or no text in any of these encodings.
    """
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    if marked is None and b"\0" in data:
        raise CannotAttachError(name, "has NUL bytes", "a text file", Reason.BINARY)
    encodings = [marked] if marked else ["utf-8", fallback] if fallback else ["utf-8"]
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            if "\0" in text:
                raise CannotAttachError(name, "has NUL characters", "a text file", Reason.BINARY)
            return text
    legal = "UTF-8, UTF-16 or UTF-32 with a byte order mark, or the `encoding` you name"
    raise CannotAttachError(name, f"is not {', '.join(encodings)}", legal, Reason.UNKNOWN_ENCODING)
