"""Open a file beneath a root so that nothing outside of it can be reached, whatever happens to the tree meanwhile.

Where the system can open relative to a folder, every step is taken from the open
folder before it and never through a symbolic link; a relative link is followed by
taking its steps the same way, and ``..`` in it goes back to a folder that was
passed, at most to the root. Names with ``..`` never come here.
"""

import errno
import os
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from .errors import CannotAttachError, Reason

# Not blocking: opening a FIFO would wait for its writer.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_STAY = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_MOST_LINKS = 40

BY_STEPS = {os.open, os.stat, os.readlink} <= os.supports_dir_fd and bool(_STAY)
"""Whether this system can open relative to an open folder."""


def open_beneath(root: Path, name: str) -> tuple[int, str]:
    """Return a descriptor of the regular file `name` beneath `root`, and its path from there with all links followed.

    Raises:
        CannotAttachError: a link leads out, or it is no regular file. OSError: what the system says.
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
    """Walk from a root to a file; hold the folders passed, the steps passed and the steps to come."""

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
            return os.open(step, _FILE | _STAY, dir_fd=self.folders[-1]), "/".join([*self.passed, step])
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
    return CannotAttachError(name, "goes through a symbolic link that leads out of its root", "a file beneath the root", Reason.OUTSIDE)


def _no_file(name: str) -> CannotAttachError:
    return CannotAttachError(name, "is a folder, device, FIFO or socket", "a regular file", Reason.NOT_A_FILE)
