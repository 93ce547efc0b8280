"""Large artifacts stored outside a context (docs/agent-context.md, "Artifacts").

Content is stored under its own SHA-256. An artifact keeps a stub of its content in `external`.
Content is stored before a stub replaces it. A failure in between leaves the context unchanged, and
at most leaves content that no context mentions.
"""

from hashlib import sha256
from re import compile as pattern
from typing import Any, Protocol

from attrs import evolve

from polycontext.base import InvalidDataError
from polycontext.base.codec import json_value
from polycontext.base.json_data import freeze

from .errors import ArtifactError, ArtifactFault
from .json_text import canonical
from .limits import DEFAULT_LIMITS, ContextLimits, large_artifacts
from .record_base import with_changes
from .records import AgentContext, Artifact, ExternalContent

is_sha256 = pattern(r"[0-9a-f]{64}").fullmatch
"""Match text that is a SHA-256 in hex."""


class ArtifactExternalizer(Protocol):
    """A store of content under its SHA-256.

    All methods raise `ArtifactError` if the store fails.
    """

    def externalize(self, content: Any) -> ExternalContent:
        """Store JSON data and return its stub.

        Storing the same data again only renews its time.
        """
        ...

    def retrieve(self, external: ExternalContent) -> Any:
        """Return the content of a stub.

        Raises:
            ArtifactError: it is missing or damaged.
        """
        ...


class HeldArtifacts(dict[str, Any]):
    """The content of artifacts by SHA-256, held in memory.

    >>> held = HeldArtifacts()
    >>> held.retrieve(held.externalize([1, 2]))
    (1, 2)
    """

    def externalize(self, content: Any) -> ExternalContent:
        """Hold JSON data and return its stub."""
        digest, raw = encode_content(content)
        self[digest] = freeze(content)
        return ExternalContent(f"held:{digest}", digest, len(raw))

    def retrieve(self, external: ExternalContent) -> Any:
        """Return the content of a stub.

        Raises:
            ArtifactError: it is not held.
        """
        if external.sha256 in self:
            return self[external.sha256]
        raise ArtifactError(ArtifactFault.MISSING, external.uri, "is not held", external.sha256)

    def of(self, context: AgentContext) -> "HeldArtifacts":
        """Return the content that artifacts of a context have a stub of."""
        named = {each.external.sha256 for each in context.retrieval.artifacts if each.external}
        return HeldArtifacts({name: self[name] for name in named & self.keys()})


def encode_content(content: Any) -> tuple[str, bytes]:
    """Return the SHA-256 in hex of JSON data, and the hashed bytes: JSON with sorted keys.

    Raises:
        InvalidDataError: not JSON data. Bytes are not; encode them as text first.

    >>> encode_content({"b": 1, "a": 2})[1]
    b'{"a":2,"b":1}'
    """
    raw = canonical(freeze(content, "content"))
    return sha256(raw).hexdigest(), raw


def decode_content(raw: bytes, external: ExternalContent, place: str) -> Any:
    """Return stored JSON data, immutable.

    Raises:
        ArtifactError: the bytes are not those of the stub.
    """
    found = sha256(raw).hexdigest()
    if found != external.sha256:
        what = f"has the SHA-256 {found}"
        raise ArtifactError(ArtifactFault.DAMAGED, place, what, external.sha256)
    return freeze(json_value(raw))


def check_size(found: int, promised: int, place: str, digest: str) -> None:
    """Raise `ArtifactError` for content whose size differs from its stub's, before it is read."""
    if found != promised:
        what = f"has {found:,} bytes, the stub promises {promised:,}"
        raise ArtifactError(ArtifactFault.DAMAGED, place, what, digest)


def check_sha256(text: str) -> str:
    """Return `text` if it is a SHA-256 in hex, since it is about to name a file.

    Raises:
        InvalidDataError: it is not.
    """
    if not is_sha256(text):
        raise InvalidDataError(
            "external.sha256", f"{text[:70]!a} is not an SHA-256", "64 characters of 0-9 and a-f"
        )
    return text


def externalize_artifacts(
    context: AgentContext,
    externalizer: ArtifactExternalizer,
    limits: ContextLimits = DEFAULT_LIMITS,
) -> AgentContext:
    """Store the content of large artifacts, and return the context with stubs for it.

    Content larger than `max_inline_artifact_size` is moved out, and then the largest until all
    inline content is within `artifact_externalization_threshold`.

    Law: ``not ContextSizeChecker(limits).should_externalize_artifacts(externalize_artifacts(c, e,
    limits))``.

    Raises:
        ArtifactError: content could not be stored.
    """
    large = {id(artifact) for artifact in large_artifacts(context, limits)}
    if not large:
        return context
    artifacts = [
        _moved(each, externalizer) if id(each) in large else each
        for each in context.retrieval.artifacts
    ]
    return with_changes(context, retrieval=with_changes(context.retrieval, artifacts=artifacts))


def _moved(artifact: Artifact, externalizer: ArtifactExternalizer) -> Artifact:
    digest, raw = encode_content(artifact.content)
    stub = externalizer.externalize(artifact.content)
    if (stub.sha256, stub.size) != (digest, len(raw)):
        what = "the stub is of other bytes"
        raise ArtifactError(ArtifactFault.DAMAGED, stub.uri, what, digest)
    return with_changes(artifact, content=None, external=stub)


def retrieve_artifact(artifact: Artifact, externalizer: ArtifactExternalizer) -> Artifact:
    """Return the artifact with its content inline.

    Law: ``retrieve_artifact(a, e)`` is the artifact that was externalised.

    Raises:
        ArtifactError: the content cannot be retrieved.
    """
    if artifact.external is None:
        return artifact
    return evolve(artifact, content=externalizer.retrieve(artifact.external), external=None)
