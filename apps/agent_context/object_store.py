"""Stores of artifacts: a folder, or S3 and compatible stores by URL.

A folder has one file per object, written atomically, and needs no extra. This is the only module
that uses obstore, which only URLs need.
"""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import url2pathname

from polycontext.base import InvalidOptionError, require_extra

from .artifacts import check_sha256, check_size, decode_content, encode_content
from .errors import ArtifactError, ArtifactFault
from .records import ExternalContent

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class FolderObjects:
    """Objects by name in a folder, with the methods of a store of obstore that are used here.

    The folder is created if needed. Failures raise `OSError`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, name: str, raw: bytes) -> None:
        """Store an object under a name, replacing any object of that name.

        A reader sees either the old or the new one, also after a crash.
        """
        descriptor, part = mkstemp(dir=self._folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
                file.flush()
                # A stub is about to replace these bytes, so they must survive a power failure.
                os.fsync(file.fileno())
            Path(part).replace(self._folder / name)
        except BaseException:
            with suppress(OSError):
                Path(part).unlink()
            raise

    def head(self, name: str) -> dict[str, int]:
        """Return the size of an object in bytes.

        Raises:
            FileNotFoundError: there is none of that name.
            ArtifactError: it is not a file; reading a pipe would never end.
        """
        found = (self._folder / name).stat()
        if not S_ISREG(found.st_mode):
            what = f"{name} is not a file"
            raise ArtifactError(ArtifactFault.DAMAGED, self._folder.as_uri(), what)
        return {"size": found.st_size}

    def get_range(self, name: str, *, start: int, length: int) -> bytes:
        """Return some bytes of an object."""
        with (self._folder / name).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def delete(self, name: str) -> None:
        """Delete an object, or raise `FileNotFoundError` if there is none."""
        (self._folder / name).unlink()


class ObjectStoreExternalizer:
    """Store the content of artifacts in a folder or an object store.

    Each content is one object, named by its SHA-256, written atomically and checked when it is
    read. A stub's `uri` is informational: content is looked up by its SHA-256 in this store only,
    so that a document cannot make anybody read another place.

    >>> from tempfile import mkdtemp
    >>> externalizer = ObjectStoreExternalizer.open(mkdtemp())
    >>> stub = externalizer.externalize({"rows": [1, 2, 3]})
    >>> stub.size, externalizer.retrieve(stub)
    (16, {'rows': (1, 2, 3)})
    """

    def __init__(self, objects: "FolderObjects | ObjectStore", place: str) -> None:
        """Use `objects` as the storage; `place` names it in stubs and errors."""
        self._objects = objects
        self.place = place.rstrip("/")

    @classmethod
    def open(
        cls, place: str | Path, *, config: Mapping[str, Any] | None = None, **options: Any
    ) -> Self:
        """Open a folder, which is created if needed, or a URL such as ``s3://bucket/prefix``.

        A folder needs no extra. Other URLs use obstore, which receives `config` and `options`:
        credentials, region, endpoint, `client_options`, `retry_config`. Without them, S3 uses the
        usual environment variables.

        Raises:
            MissingExtraError: the URL needs obstore, which is not installed.
            InvalidOptionError: the URL has a password or a query, which every stub would show.
            ArtifactError: the place cannot be used.
        """
        if isinstance(place, Path) or "://" not in place:
            return cls._folder(Path(place).absolute(), str(place))
        parts = urlsplit(place)
        if parts.password is not None or parts.query:
            # Do not show the URL: its password or query would be in the message.
            raise InvalidOptionError(
                "place",
                f"{parts.scheme}: URL with a password or a query",
                "a URL without; `config` takes credentials",
            )
        if parts.scheme == "file":
            return cls._folder(Path(url2pathname(parts.path)), place)
        require_extra("obstore", extra="artifacts", purpose=f"storing artifacts in {parts.scheme}:")
        from obstore.store import from_url  # noqa: PLC0415  an extra

        with _translate_errors(place):
            made: Any = {**options, "config": dict(config or {})}
            return cls(from_url(place, **made), place)

    @classmethod
    def _folder(cls, folder: Path, place: str) -> Self:
        with _translate_errors(place):
            return cls(FolderObjects(folder), folder.as_uri())

    def externalize(self, content: Any) -> ExternalContent:
        """Store JSON data and return its stub.

        Existing content is written again, which repairs damaged bytes.

        Raises:
            InvalidDataError: not JSON data.
            ArtifactError: the store failed.
        """
        digest, raw = encode_content(content)
        with _translate_errors(self.place):
            self._objects.put(_name(digest), raw)
        return ExternalContent(f"{self.place}/{_name(digest)}", digest, len(raw))

    def retrieve(self, external: ExternalContent) -> Any:
        """Return the content of a stub, immutable.

        Raises:
            InvalidDataError: the stub has no SHA-256.
            ArtifactError: the store failed, has no such content, or has other bytes under its name.
                Bytes of another size than the stub's are not read.
        """
        digest = check_sha256(external.sha256)
        name, size = _name(digest), external.size
        with _translate_errors(self.place, digest):
            check_size(self._objects.head(name)["size"], size, self.place, digest)
            raw = bytes(self._objects.get_range(name, start=0, length=size))
        return decode_content(raw, external, self.place)

    def discard(self, sha256: str) -> None:
        """Delete content, if it exists.

        Raises:
            InvalidDataError: not a SHA-256.
            ArtifactError: the store failed.
        """
        name = _name(check_sha256(sha256))
        with _translate_errors(self.place), suppress(FileNotFoundError):
            self._objects.delete(name)


def _name(digest: str) -> str:
    return f"{digest}.json"


@contextmanager
def _translate_errors(place: str, digest: str = "") -> Generator[None]:
    """Translate a store's exceptions into `ArtifactError`."""
    try:
        yield
    except ArtifactError:
        raise
    except _failures() as error:
        if digest and isinstance(error, FileNotFoundError):
            raise ArtifactError(ArtifactFault.MISSING, place, "is not there", digest) from error
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ArtifactError(ArtifactFault.UNREACHABLE, place, first_line) from error


def _failures() -> tuple[type[Exception], ...]:
    # Loaded together with a store of obstore; without one, its errors cannot occur.
    foreign = sys.modules.get("obstore.exceptions")
    return (OSError, foreign.BaseError) if foreign else (OSError,)
