"""How large artifacts leave the context, and come back: content is stored under its own SHA-256 (seed 002, Size Management).

Content is stored before a stub takes its place. Whatever fails in between leaves the context as it was,
and at most content that no context mentions, which `collect_garbage` finds.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from re import compile as pattern
from typing import Any, Protocol

from attrs import evolve, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import freeze
from polycontext.nodes.agent_context.codec import serialize
from polycontext.nodes.agent_context.context import AgentContext
from polycontext.nodes.agent_context.errors import ArtifactError, ArtifactFault
from polycontext.nodes.agent_context.folder import check_size
from polycontext.nodes.agent_context.json_text import canonical, loads
from polycontext.nodes.agent_context.limits import DEFAULT_LIMITS, ContextLimits, is_oversized
from polycontext.nodes.agent_context.record_base import changed
from polycontext.nodes.agent_context.records import Artifact, ExternalContent
from polycontext.nodes.agent_context.sizes import measure

is_sha256 = pattern(r"[0-9a-f]{64}").fullmatch
"""Find out whether text is a SHA-256 in hex."""
# Looks ahead and takes nothing, so that it finds every 64 digits in a longer run of them.
_MENTIONED = pattern(rb"(?=([0-9a-f]{64}))")


@frozen
class StoredContent:
    """Describe content in a store: its SHA-256 in hex, its size in bytes, and when it was last stored."""

    sha256: str
    size: int
    stored_at: datetime


class ArtifactExternalizer(Protocol):
    """Store content under its SHA-256, and find it again. All methods raise `ArtifactError` where the store fails."""

    def externalize(self, content: Any) -> ExternalContent:
        """Store JSON data and return the stub for it; storing the same again changes nothing but its age."""
        ...

    def retrieve(self, external: ExternalContent) -> Any:
        """Return the content that a stub stands for; raise `ArtifactError` if it is missing or damaged."""
        ...

    def stored(self) -> Iterable[StoredContent]:
        """Return what is stored, in any order."""
        ...

    def discard(self, sha256: str) -> None:
        """Forget content; what is not there is forgotten already."""
        ...


def encode_content(content: Any) -> tuple[str, bytes]:
    """Return the SHA-256 in hex of JSON data, and the bytes it is of: JSON with sorted keys.

    Raises:
        InvalidDataError: not JSON data; bytes are none, encode them as text first.

    >>> encode_content({"b": 1, "a": 2})[1]
    b'{"a":2,"b":1}'
    """
    raw = canonical(freeze(content, "content"))
    return sha256(raw).hexdigest(), raw


def decode_content(raw: bytes, external: ExternalContent, place: str) -> Any:
    """Return the JSON data that was stored, immutable.

    Raises:
        ArtifactError: the bytes are not those that the stub stands for.
    """
    check_size(len(raw), external.size, place, external.sha256)
    found = sha256(raw).hexdigest()
    if found != external.sha256:
        raise ArtifactError(ArtifactFault.DAMAGED, place, f"has the SHA-256 {found}", external.sha256)
    return freeze(loads(raw))


def check_sha256(text: str) -> str:
    """Return `text` if it is a SHA-256 in hex; raise `InvalidDataError` otherwise: it is about to name a file."""
    if not is_sha256(text):
        raise InvalidDataError("external.sha256", f"{text[:70]!a} is no SHA-256", "64 characters of 0-9 and a-f")
    return text


def externalize_artifacts(
    context: AgentContext, externalizer: ArtifactExternalizer, limits: ContextLimits = DEFAULT_LIMITS
) -> AgentContext:
    """Return the context with stubs for the content of large artifacts, which is stored first.

    Content beyond `max_inline_artifact_size` goes, and then the largest until all that is inline keeps to
    `artifact_externalization_threshold`.

    Law: ``not ContextSizeChecker(limits).should_externalize_artifacts(externalize_artifacts(c, e, limits))``.

    Raises:
        ArtifactError: content could not be stored.
    """
    return with_stubs(context, stored_stubs(large_artifacts(context, limits), externalizer))


def retrieve_artifact(artifact: Artifact, externalizer: ArtifactExternalizer) -> Artifact:
    """Return the artifact with its content inline, wherever it was.

    Law: ``retrieve_artifact(a, e)`` is the artifact that was externalised.

    Raises:
        ArtifactError: the content cannot be had.
    """
    if artifact.external is None:
        return artifact
    return evolve(artifact, content=externalizer.retrieve(artifact.external), external=None)


def large_artifacts(context: AgentContext, limits: ContextLimits) -> list[Artifact]:
    """Return the artifacts whose content should go, the largest first."""
    inline = [(measure(artifact).size, artifact) for artifact in context.retrieval.artifacts if artifact.content is not None]
    total = sum(size for size, _ in inline)
    large: list[Artifact] = []
    for size, artifact in sorted(inline, key=itemgetter(0), reverse=True):
        if total > limits.artifact_externalization_threshold or is_oversized(artifact, limits):
            large.append(artifact)
            total -= size
    return large


def stored_stubs(artifacts: Iterable[Artifact], externalizer: ArtifactExternalizer) -> dict[str, ExternalContent]:
    """Store the content of artifacts, and return its stubs by SHA-256."""
    stubs = (externalizer.externalize(artifact.content) for artifact in artifacts)
    return {stub.sha256: stub for stub in stubs}


def with_stubs(context: AgentContext, stubs: Mapping[str, ExternalContent]) -> AgentContext:
    """Return the context with stubs for all content that has one."""
    artifacts = tuple(stubbed(artifact, stubs) for artifact in context.retrieval.artifacts)
    if not stubs or artifacts == context.retrieval.artifacts:
        return context
    return changed(context, retrieval=changed(context.retrieval, artifacts=artifacts))


def stubbed(artifact: Artifact, stubs: Mapping[str, ExternalContent]) -> Artifact:
    """Return the artifact with a stub for its content, if there is one."""
    stub = None if artifact.content is None else stubs.get(encode_content(artifact.content)[0])
    return artifact if stub is None else changed(artifact, content=None, external=stub)


@frozen
class GarbageReport:
    """Hold what was collected, or would be, and how much is kept; sizes are bytes."""

    collected: tuple[StoredContent, ...]
    kept: int
    dry_run: bool

    @property
    def freed(self) -> int:
        """Return the bytes of what was collected."""
        return sum(content.size for content in self.collected)


def collect_garbage(
    externalizer: ArtifactExternalizer, contexts: Iterable[AgentContext], *, older_than: datetime, dry_run: bool = False
) -> GarbageReport:
    """Discard content that none of the contexts mentions anywhere, their trails included, and that was stored before `older_than`.

    Give it every context that is in use. What is younger may belong to a context that is about to be saved.

    Raises:
        ArtifactError: the store failed; what was discarded until then is gone.
    """
    # Whatever may be a SHA-256 counts: a stub may stand in results and provenance, too.
    mentioned = {found.decode() for context in contexts for found in _MENTIONED.findall(serialize(context))}
    stored = sorted(externalizer.stored(), key=lambda content: content.sha256)
    garbage = tuple(content for content in stored if content.sha256 not in mentioned and content.stored_at < older_than)
    for content in () if dry_run else garbage:
        externalizer.discard(content.sha256)
    return GarbageReport(garbage, len(stored) - len(garbage), dry_run)
