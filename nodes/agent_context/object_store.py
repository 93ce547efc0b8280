"""Artifacts in an object store: a folder by default, S3 and its like by URL. The one module that knows obstore."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from polycontext.linearity import InvalidOptionError
from polycontext.nodes.agent_context.artifacts import StoredContent, check_sha256, decode_content, encode_content, is_sha256
from polycontext.nodes.agent_context.errors import ArtifactError, ArtifactFault
from polycontext.nodes.agent_context.records import ExternalContent
from polycontext.nodes.extras import require

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SUFFIX = ".json"


class ObjectStoreExternalizer:
    """Store the content of artifacts in an object store, one object each, named by its SHA-256.

    Objects appear whole or not at all, and are checked when they are read. A stub's `uri` is for people:
    content is looked for by its SHA-256 in this store and nowhere else, so that a document cannot make anybody
    read another place.

    >>> externalizer = ObjectStoreExternalizer.open("memory:///")
    >>> stub = externalizer.externalize({"rows": [1, 2, 3]})
    >>> stub.size, externalizer.retrieve(stub)
    (16, {'rows': (1, 2, 3)})
    """

    def __init__(self, store: "ObjectStore", place: str) -> None:
        """Use an obstore store; `place` names it in stubs and errors."""
        self._store = store
        self.place = place.rstrip("/")

    @classmethod
    def open(cls, place: str | Path, *, config: Mapping[str, Any] | None = None, **options: Any) -> Self:
        """Open a folder, which is made if need be, or a URL such as ``s3://bucket/prefix``.

        `config` and `options` go to obstore: credentials, region, endpoint, `client_options`, `retry_config`. Without them S3 takes
        the usual environment variables.

        Raises:
            MissingExtraError: obstore is not installed.
            InvalidOptionError: a URL with a password or a query, which every stub would show.
            ArtifactError: the place cannot be used.
        """
        require("obstore", extra="artifacts", purpose="storing artifacts")
        from obstore import store  # noqa: PLC0415  an extra

        with _reported(str(place)):
            if isinstance(place, Path) or "://" not in place:
                folder = Path(place).absolute()
                return cls(store.LocalStore(folder, mkdir=True), folder.as_uri())
            parts = urlsplit(place)
            if parts.password is not None or parts.query:
                # The URL itself is not shown: what it must not hold would stand in the message.
                what = f"{parts.scheme}: URL with a password or a query"
                raise InvalidOptionError("place", what, "a URL without; `config` takes credentials")
            made = {"mkdir": True} if place.startswith("file:") else {"config": dict(config or {})}
            return cls(store.from_url(place, **made, **options), place)

    def externalize(self, content: Any) -> ExternalContent:
        """Store JSON data and return the stub for it.

        It is written even if it is there: that mends damaged bytes, and makes it young, so that
        `collect_garbage` leaves it alone.

        Raises:
            InvalidDataError: not JSON data.
            ArtifactError: the store failed.
        """
        digest, raw = encode_content(content)
        with _reported(self.place):
            self._store.put(_name(digest), raw)
        return ExternalContent(f"{self.place}/{_name(digest)}", digest, len(raw))

    def retrieve(self, external: ExternalContent) -> Any:
        """Return the content that a stub stands for, immutable.

        Raises:
            InvalidDataError: the stub has no SHA-256.
            ArtifactError: the store failed, has no such content, or other bytes under its name.
        """
        digest = check_sha256(external.sha256)
        with _reported(self.place, digest):
            raw = bytes(self._store.get(_name(digest)).bytes())
        return decode_content(raw, external, self.place)

    def stored(self) -> Iterator[StoredContent]:
        """Yield what is stored; other files in the place are none of ours.

        Raises:
            ArtifactError: the store failed.
        """
        with _reported(self.place):
            # Listed as a whole: what fails between two `yield`s would fail outside of this block.
            found = [meta for batch in self._store.list() for meta in batch]
        for meta in found:
            digest = meta["path"].removesuffix(_SUFFIX)
            if meta["path"] == _name(digest) and is_sha256(digest):
                yield StoredContent(digest, meta["size"], meta["last_modified"])

    def discard(self, sha256: str) -> None:
        """Delete content, if it is there.

        Raises:
            InvalidDataError: no SHA-256.
            ArtifactError: the store failed.
        """
        name = _name(check_sha256(sha256))
        with _reported(self.place), suppress(FileNotFoundError):
            self._store.delete(name)


def _name(digest: str) -> str:
    return f"{digest}{_SUFFIX}"


@contextmanager
def _reported(place: str, digest: str = "") -> Generator[None]:
    """Turn what a store raises into our errors."""
    from obstore.exceptions import BaseError  # noqa: PLC0415  an extra

    try:
        yield
    except (BaseError, OSError) as error:
        if digest and isinstance(error, FileNotFoundError):
            raise ArtifactError(ArtifactFault.MISSING, place, "is not there", digest) from error
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ArtifactError(ArtifactFault.UNREACHABLE, place, first_line) from error
