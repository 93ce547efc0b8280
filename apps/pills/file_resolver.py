"""Files as context: access limited to given folders, even if the tree changes meanwhile.

If the system supports opening files relative to a folder, every path step is opened from the folder
before it and never through a symbolic link. A relative link is followed by taking its steps the
same way; ``..`` in it returns to an earlier folder, at most to the root.
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
from .secret_files import holds_secrets
from .tree import kept_back, walk_files

# Non-blocking, because opening a FIFO would wait for its writer.
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
"""Whether this system can open files relative to an open folder."""


def open_beneath(root: Path, name: str) -> tuple[int, str]:
    """Return a descriptor of the regular file `name` in `root`, and its path with links resolved.

    Raises:
        CannotAttachError: A link leads outside the root, or `name` is not a regular file.
        OSError: The system cannot open the file.
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
    """A walk from a root to a file, with the folders and steps passed and the steps left."""

    def __init__(self, stack: ExitStack, root: Path, name: str) -> None:
        self.stack, self.name = stack, name
        self.folders = [self._kept(os.open(root, _FOLDER))]
        self.passed: list[str] = []
        self.steps = deque(_steps(name))
        self.links = 0

    def step(self) -> tuple[int, str] | None:
        """Take one step, and return the file once it is reached."""
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
    """Open by whole path, on systems that support nothing better.

    A link that is created between the check and the opening would be followed.
    """
    base = root.resolve(strict=True)
    try:
        path = base.joinpath(name).resolve()
    except RuntimeError:  # a loop of links, before Python 3.13
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
"""The most bytes of a file to read; a larger file is rejected unread."""

# The UTF-32 little-endian mark begins with the UTF-16 one, so it comes first.
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
    """Return one root or several roots as paths."""
    return tuple(map(Path, [roots] if isinstance(roots, str | os.PathLike) else roots))


@frozen
class FileResolver:
    """Resolves file names: paths with ``/`` relative to the first of `roots` that has the file.

    No name, link or race condition gives access to anything outside the roots. `limit` is in
    characters, `most_bytes` in bytes. `encoding` is tried for a file that is neither UTF-8 nor
    marked with a byte order mark. By default, the resolver neither offers nor reads files of
    version control, ignored files, files whose names suggest secrets, and hard links, which may
    lead outside the roots. `everything` disables this.

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
        """Return the current text of the file, cut at a line end if it exceeds the limit.

        Raises:
            InvalidPillNameError: The name is not a path from a root.
            CannotAttachError: No root has the file, or it is not available; see `reason`.
        """
        text, path = self.read(name)
        return clipped(name, self.type, text, self.limit, path=path)

    def entries(self) -> Iterator[Candidate]:
        """Yield every file in the roots that is not ignored and whose path is valid in a pill.

        This walks the folders.
        """
        paths = dict.fromkeys(path for root in self.roots for path in walk_files(root))
        offered = (path for path in paths if self.everything or not holds_secrets(path))
        return (Candidate(path, self.type) for path in offered if is_name(path) and is_path(path))

    def read(self, name: str) -> tuple[str, str]:
        """Return the whole text of the file, and its path from its root with links resolved.

        Raises the errors of `resolve`.
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
        """Return the contents of the file, if nobody wrote to it during the read."""
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
        # A concurrent write would produce a text that never existed.
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise CannotAttachError(
                name, "was written while it was read", "sending again", Reason.CHANGED
            )
        return bytes(data)


def _check_open(root: Path, name: str, path: str, links: int) -> None:
    """Raise `CannotAttachError` if the file is withheld or has several hard links.

    `path` is `name` with links resolved.
    """
    why = kept_back(root, name) or (kept_back(root, path) if path != name else None)
    if why is None and links > 1:
        why = f"has {links} names on this disk, perhaps outside of the roots"
    if why is not None:
        raise CannotAttachError(name, why, "another file", Reason.KEPT_BACK)


def _absent(name: str) -> CannotAttachError:
    legal = "the path of a file from a root, such as src/agent.py"
    return CannotAttachError(name, "is not beneath the roots", legal, Reason.FILE_NOT_FOUND)


def decoded_text(data: bytes, name: str, fallback: str | None = None) -> str:
    """Return `data` decoded by its byte order mark, as UTF-8, or with `fallback`.

    The encoding is never guessed.

    Raises:
        CannotAttachError: The data contain NUL, or are not text in any of these encodings.
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
