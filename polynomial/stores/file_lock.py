"""Locks on a file between threads, processes and machines.

The system holds them, so a lock ends with its process.
"""

import ctypes
import os
import platform
from contextlib import suppress
from pathlib import Path
from random import uniform
from struct import pack
from time import monotonic, sleep

if os.name == "posix":
    import fcntl

POSIX = os.name == "posix"

PRIVATE = 0o600
"""The mode of files with conversations: only the owner can read and write them."""

_PAUSE, _SHORT = 0.002, 0.0002
"""The longest pauses in seconds before a waiter asks again to be the next, and for the lock."""

_LOCKED = 33
"""The number of Windows' error for a lock that another handle has."""

_FAR = 1 << 30
"""The byte that is locked on Windows, where nobody can read what is locked."""


class FileLock:
    """One locking of a file, through a handle of its own; every other one waits meanwhile.

    Waiting in the system's queue can only be given up by a thread that stays there, so a waiter
    asks again and again. Only the one that has the file `next` beside it may ask for the lock:
    whoever releases it cannot take it again before those that wait.

    Raises:
        OSError: the files cannot be opened and written.
    """

    def __init__(self, place: Path) -> None:
        self._next = _opened(place.with_suffix(".next"))
        try:
            self._handle = _opened(place)
        except BaseException:
            os.close(self._next)
            raise

    def acquire(self, timeout: float) -> bool:
        """Lock the file, and return whether that succeeded within `timeout` seconds."""
        until = monotonic() + timeout
        is_locked = _wait(self._next, until, _PAUSE) and _wait(self._handle, until, _SHORT)
        _unlock(self._next)
        return is_locked

    def release(self) -> None:
        """Unlock and close the file."""
        # Closing alone does not unlock it while a process that was forked has a copy.
        for handle in (self._next, self._handle):
            _unlock(handle)
            os.close(handle)


class MachineLock:
    """A lock for all processes of one machine, for as long as one of them keeps it.

    `other` is the name of another machine that has the lock, empty if it is this one's. `is_first`
    is whether no other process had it.

    Raises:
        OSError: the file cannot be opened and written.
    """

    def __init__(self, place: Path) -> None:
        self._handle = _opened(place)
        name, system = this_machine()
        self.is_first = _lock(self._handle)
        if self.is_first:
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f"{system} {name}".encode())
            _unlock(self._handle)
            found = system
        else:
            found, _, name = os.read(self._handle, 1_000).decode().partition(" ")
        self.other = "" if found == system else name
        _lock(self._handle, shared=True)

    def release(self) -> None:
        """Release the lock; forked processes keep their copies."""
        os.close(self._handle)


def this_machine() -> tuple[str, str]:
    """Return the name of this machine, and what tells its running system from all others.

    Containers of one system have names of their own, and may share a file.
    """
    name = platform.node() or "of an unknown name"
    with suppress(OSError):
        return name, Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return name, name


def _opened(place: Path) -> int:
    return os.open(place, os.O_RDWR | os.O_CREAT, PRIVATE)


def _wait(handle: int, until: float, pause: float) -> bool:
    """Lock a file through a handle, and return whether that succeeded in time."""
    while not (is_locked := _lock(handle)) and monotonic() < until:
        sleep(uniform(0, pause))
    return is_locked


def _lock(handle: int, *, shared: bool = False) -> bool:
    """Lock a file through a handle if it is free, and return whether that succeeded."""
    if not POSIX:
        return _on_windows("LockFileEx", handle, 2 * (not shared) + 1, 0, 1, 0)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(handle: int) -> None:
    if not POSIX:
        with suppress(OSError):  # it was not locked
            _on_windows("UnlockFileEx", handle, 0, 1, 0)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _on_windows(function: str, handle: int, *arguments: int) -> bool:
    """Call a function on a file; return False if another handle has the lock."""
    import msvcrt  # noqa: PLC0415 - it is there on Windows alone

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    file = ctypes.c_void_p(msvcrt.get_osfhandle(handle))  # type: ignore[attr-defined]
    place = ctypes.create_string_buffer(pack("PPIIP", 0, 0, _FAR, 0, 0))
    if getattr(kernel, function)(file, *arguments, place):
        return True
    if (error := ctypes.get_last_error()) == _LOCKED:  # type: ignore[attr-defined]
        return False
    raise ctypes.WinError(error)  # type: ignore[attr-defined]
