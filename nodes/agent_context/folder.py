"""Artifacts in a folder of this machine: one file each, which appears whole or not at all. It needs no extra."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG

from .errors import ArtifactError, ArtifactFault

FoundObject = tuple[str, int, float]
"""The name of a stored object, its size in bytes, and when it was last stored, in seconds since 1970."""


class FolderObjects:
    """Keep objects by name in a folder, which is made if need be; what fails raises `OSError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, name: str, raw: bytes) -> None:
        """Store an object under a name, in place of what is there; a reader sees the one or the other, also after a crash."""
        part = self._folder / f".{token_hex(8)}.part"
        try:
            with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
                file.write(raw)
                file.flush()
                # A stub is about to take the place of these bytes: they must outlive a power cut.
                os.fsync(file.fileno())
            part.replace(self._folder / name)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise

    def get(self, name: str, size: int) -> bytes:
        """Return an object of `size` bytes.

        Raises:
            FileNotFoundError: there is none of that name.
            ArtifactError: it is no file, or of another size; nothing is read.
        """
        path = self._folder / name
        found = path.stat()
        if not S_ISREG(found.st_mode):
            raise ArtifactError(ArtifactFault.DAMAGED, self._folder.as_uri(), f"{name} is no file")
        check_size(found.st_size, size, self._folder.as_uri(), name)
        with path.open("rb") as file:
            # One byte more than was promised tells that the file has grown meanwhile.
            return file.read(size + 1)

    def list(self) -> Iterator[FoundObject]:
        """Yield what is there, in any order."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                yield entry.name, found.st_size, found.st_mtime

    def delete(self, name: str) -> None:
        """Delete an object; `FileNotFoundError` if there is none."""
        (self._folder / name).unlink()


def check_size(found: int, promised: int, place: str, name: str) -> None:
    """Raise `ArtifactError` for an object of another size than its stub promised, before it is read."""
    if found != promised:
        digest = name.partition(".")[0]
        raise ArtifactError(ArtifactFault.DAMAGED, place, f"has {found:,} bytes, the stub promises {promised:,}", digest)
