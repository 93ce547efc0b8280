"""Locks on a file between threads, processes and machines.

The system holds them, so a lock ends with its process, and queues those that wait: a writer that
looked again from time to time would hardly ever find the lock free.
"""

import ctypes
import os
import platform
from contextlib import suppress
from pathlib import Path
from struct import pack
from threading import Event, Thread
from time import sleep

if os.name == "posix":
    import fcntl

POSIX = os.name == "posix"

PRIVATE = 0o600
"""The mode of files with conversations: only the owner can read and write them."""

_LOCKED = 33
"""The number of Windows' error for a lock that another handle has."""

_FAR = 1 << 30
"""The byte that is locked on Windows, where nobody can read what is locked."""


class FileLock:
    """One locking of a file, through a handle of its own; every other one waits meanwhile.

    Raises:
        OSError: the file cannot be opened and written.
    """

    def __init__(self, place: Path) -> None:
        self._handle = os.open(place, os.O_RDWR | os.O_CREAT, PRIVATE)
        self._users = ["the last one"]

    def acquire(self, timeout: float) -> bool:
        """Lock the file, and return whether that succeeded within `timeout` seconds.

        A thread waits for it: no other way of waiting in the system's queue can be given up.
        """
        if _lock(self._handle):
            return True
        if not timeout:
            return False
        ended = Event()
        self._users.append("")
        try:
            Thread(target=self._wait, args=(ended,), daemon=True).start()
        except RuntimeError:  # the interpreter ends, and starts no threads
            self._users.pop()
            sleep(timeout)
            return _lock(self._handle)
        return ended.wait(timeout)

    def _wait(self, ended: Event) -> None:
        _lock(self._handle, wait=True)
        ended.set()
        self.release()

    def release(self) -> None:
        """Unlock the file, once its thread waits no more."""
        if self._users.pop():
            # Closing alone does not unlock it while a process that was forked has a copy.
            _unlock(self._handle)
            os.close(self._handle)


class MachineLock:
    """A lock for all processes of one machine, for as long as one of them keeps it.

    `other` is the name of another machine that has the lock, empty if it is this one's.

    Raises:
        OSError: the file cannot be opened and written.
    """

    def __init__(self, place: Path) -> None:
        self._handle = os.open(place, os.O_RDWR | os.O_CREAT, PRIVATE)
        name, system = this_machine()
        if _lock(self._handle):
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


def _lock(handle: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock a file through a handle, and return whether that succeeded."""
    if not POSIX:
        return _on_windows("LockFileEx", handle, 2 * (not shared) + (not wait), 0, 1, 0)
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(handle: int) -> None:
    if not POSIX:
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
