"""Large values stored outside a context (docs/agent-context.md, "Artifacts").

Content is stored under its own SHA-256. An artifact keeps a stub of its content in `external`. Any
other JSON value, such as the results of a query, is replaced by ``{"$external": {"uri": …,
"sha256": …, "size": …}}``.

Content is stored before a stub replaces it. A failure in between leaves the context unchanged, and
at most leaves content that no context mentions, which `collect_garbage` finds.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from operator import is_
from re import compile as pattern
from typing import Any, Protocol, TypeAlias

from attrs import evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import FrozenDict, freeze

from .codec import serialize
from .errors import ArtifactError, ArtifactFault, at_path
from .json_text import canonical, dumps, loads, plain
from .kinds import Kind, Shape, kind_of
from .limits import DEFAULT_LIMITS, ContextLimits, large_artifacts
from .record_base import Record, layout, with_changes
from .records import AgentContext, Artifact, AuditContext, ExternalContent

is_sha256 = pattern(r"[0-9a-f]{64}").fullmatch
"""Match text that is a SHA-256 in hex."""
STUB = "$external"
"""The only key of an object that replaces a value stored outside."""
# A lookahead consumes nothing, so it finds every 64 digits in a longer run of them.
_MENTIONED = pattern(rb"(?=([0-9a-f]{64}))")


@frozen
class StoredContent:
    """Content in a store: its SHA-256 in hex, its size in bytes, and when it was last stored."""

    sha256: str
    size: int
    stored_at: datetime


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

    def stored(self) -> Iterable[StoredContent]:
        """Return all stored content, in any order."""
        ...

    def discard(self, sha256: str) -> None:
        """Delete content, if it exists."""
        ...


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
    check_size(len(raw), external.size, place, external.sha256)
    found = sha256(raw).hexdigest()
    if found != external.sha256:
        raise ArtifactError(
            ArtifactFault.DAMAGED, place, f"has the SHA-256 {found}", external.sha256
        )
    return freeze(loads(raw))


def check_size(found: int, promised: int, place: str, name: str) -> None:
    """Raise `ArtifactError` for an object whose size differs from its stub's, before it is read."""
    if found != promised:
        digest = name.partition(".")[0]
        raise ArtifactError(
            ArtifactFault.DAMAGED,
            place,
            f"has {found:,} bytes, the stub promises {promised:,}",
            digest,
        )


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
    contents = [artifact.content for artifact in large_artifacts(context, limits)]
    return with_stubs(context, store_contents(contents, externalizer))


def retrieve_artifact(artifact: Artifact, externalizer: ArtifactExternalizer) -> Artifact:
    """Return the artifact with its content inline.

    Law: ``retrieve_artifact(a, e)`` is the artifact that was externalised.

    Raises:
        ArtifactError: the content cannot be retrieved.
    """
    if artifact.external is None:
        return artifact
    return evolve(artifact, content=externalizer.retrieve(artifact.external), external=None)


def retrieve_value(value: Any, externalizer: ArtifactExternalizer) -> Any:
    """Return the JSON value that a stub replaces, or the value itself if it is not a stub.

    Raises:
        ArtifactError: the content cannot be retrieved.
    """
    if not is_stub(value):
        return value
    return externalizer.retrieve(at_path(STUB, ExternalContent.from_json, value[STUB]))


def is_stub(value: Any) -> bool:
    """Return whether a JSON value is a stub."""
    return isinstance(value, Mapping) and len(value) == 1 and STUB in value


def large_values(limits: ContextLimits) -> tuple[list[Any], "Swap"]:
    """Return an empty list, and a `Swap` that adds every value over the inline limit to it."""
    found: list[Any] = []

    def look(value: Any) -> None:
        if len(dumps(value)) > limits.max_inline_artifact_size:
            found.append(value)

    return found, look


def store_contents(
    contents: Iterable[Any], externalizer: ArtifactExternalizer
) -> dict[str, ExternalContent]:
    """Store contents and return their stubs by SHA-256.

    Raises:
        ArtifactError: content cannot be stored, or the store returns a stub of other bytes.
    """
    stubs: dict[str, ExternalContent] = {}
    for content in contents:
        digest, raw = encode_content(content)
        stub = externalizer.externalize(content)
        if (stub.sha256, stub.size) != (digest, len(raw)):
            raise ArtifactError(
                ArtifactFault.DAMAGED, stub.uri, "the stub is of other bytes", digest
            )
        stubs[digest] = stub
    return stubs


def with_stubs(context: AgentContext, stubs: Mapping[str, ExternalContent]) -> AgentContext:
    """Return the context with stubs in place of all values that have one."""
    return swap_values(stub_finder(stubs), kind_of(AgentContext), context) if stubs else context


Swap: TypeAlias = Callable[[Any], ExternalContent | None]
"""Returns the stub that replaces a JSON value, or None to keep the value."""


def stub_finder(stubs: Mapping[str, ExternalContent]) -> Swap:
    """Return a `Swap` that finds stubs by the SHA-256 of a value."""
    sizes = {stub.size for stub in stubs.values()}

    def find(value: Any) -> ExternalContent | None:
        raw = canonical(value)
        return stubs.get(sha256(raw).hexdigest()) if len(raw) in sizes else None

    return find


def swap_values(swap: Swap, kind: Kind, value: Any) -> Any:
    """Return a value of a kind, with its JSON values replaced by the stubs that `swap` returns.

    Unchanged parts are shared.
    """
    if value is None or is_stub(value) or not _holds_json(kind):
        return value
    if kind.shape is Shape.JSON:
        stub = swap(value)
        return value if stub is None else freeze({STUB: plain(stub)})
    if kind.shape is Shape.OBJECT:
        return _swap_fields(value, swap)
    assert kind.item is not None
    if kind.shape is Shape.MAP:
        entries = {key: swap_values(swap, kind.item, item) for key, item in value.items()}
        return value if all(map(is_, entries.values(), value.values())) else FrozenDict(entries)
    items = tuple(swap_values(swap, kind.item, item) for item in value)
    return value if all(map(is_, items, value)) else items


def _swap_fields(record: Record, swap: Swap) -> Record:
    if isinstance(record, Artifact):
        stub = None if record.content is None else swap(record.content)
        return record if stub is None else with_changes(record, content=None, external=stub)
    shape = layout(type(record))
    fields = {
        name: (value, swap_values(swap, kind, value))
        for (name, kind), value in zip(shape.kinds.items(), shape.get(record), strict=False)
    }
    others = {name: new for name, (old, new) in fields.items() if new is not old}
    return with_changes(record, **others) if others else record


@cache
def _holds_json(kind: Kind) -> bool:
    """Return whether a value of a kind may contain JSON values.

    Those of the trail are handled separately.
    """
    if kind.record is AuditContext:
        return False
    if kind.record is not None:
        return any(map(_holds_json, layout(kind.record).kinds.values()))
    return kind.shape is Shape.JSON or (kind.item is not None and _holds_json(kind.item))


@frozen
class GarbageReport:
    """The content that was collected, or would be, and the number of contents that are kept."""

    collected: tuple[StoredContent, ...]
    kept: int
    dry_run: bool

    @property
    def freed(self) -> int:
        """Return the size of the collected content in bytes."""
        return sum(content.size for content in self.collected)


def collect_garbage(
    externalizer: ArtifactExternalizer,
    contexts: Iterable[AgentContext],
    *,
    older_than: datetime,
    dry_run: bool = False,
) -> GarbageReport:
    """Discard content that no context mentions and that was stored before `older_than`.

    Pass every context in use; mentions in their trails count as well. Younger content may belong to
    a context that is about to be saved. With `dry_run`, nothing is discarded.

    Raises:
        ArtifactError: the store failed; the content discarded until then is gone.
    """
    # Any 64 hex digits count as a mention: results and provenance may contain stubs, too.
    mentioned = {
        found.decode() for context in contexts for found in _MENTIONED.findall(serialize(context))
    }
    stored = sorted(externalizer.stored(), key=lambda content: content.sha256)
    garbage = tuple(
        content
        for content in stored
        if content.sha256 not in mentioned and content.stored_at < older_than
    )
    for content in () if dry_run else garbage:
        externalizer.discard(content.sha256)
    return GarbageReport(garbage, len(stored) - len(garbage), dry_run)
