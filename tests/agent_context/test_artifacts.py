"""Large artifacts leave the context and come back the same, whatever fails on the way."""

import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import LocalStore

from polycontext.agent_context import (
    AgentContext,
    ArtifactExternalizer,
    ArtifactFault,
    ContextLimits,
    ContextSizeChecker,
    ObjectStoreExternalizer,
    deserialize,
    externalize_artifacts,
    get_stats,
    retrieve_artifact,
    serialize,
)
from polycontext.agent_context.artifacts import encode_content
from polycontext.agent_context.errors import ArtifactError
from polycontext.agent_context.json_text import is_same
from polycontext.agent_context.object_store import FolderObjects
from polycontext.agent_context.records import Artifact, ExternalContent
from polycontext.base import InvalidDataError, InvalidOptionError, MissingExtraError
from tests.agent_context.changes import START, write
from tests.agent_context.strategies import JSON

SMALL = ContextLimits(max_inline_artifact_size=20, artifact_externalization_threshold=200)
LONG = tuple(Artifact(f"a{number}", "text", f"{number}" * 30, "wiki") for number in range(3))
SHORT = Artifact("short", "text", "short")
CONTEXT = write(START, retrieval__artifacts=(*LONG, SHORT))


@pytest.fixture
def folder(tmp_path: Path) -> ObjectStoreExternalizer:
    """Return an externaliser over an empty folder, which it makes."""
    return ObjectStoreExternalizer.open(tmp_path / "artifacts")


def restored(context: AgentContext, externalizer: ArtifactExternalizer) -> AgentContext:
    """Return the context with all content inline."""
    return write(
        context,
        retrieval__artifacts=[
            retrieve_artifact(artifact, externalizer) for artifact in context.retrieval.artifacts
        ],
    )


MEMORY = ObjectStoreExternalizer.open("memory:///")


@given(st.lists(JSON, max_size=5), st.integers(0, 60), st.integers(0, 200))
def test_a_context_comes_back_as_it_was(contents: list[Any], most: int, threshold: int) -> None:
    """Externalising respects the limits, survives JSON, is idempotent and can be undone."""
    limits = ContextLimits(
        max_inline_artifact_size=most, artifact_externalization_threshold=threshold
    )
    context = write(
        START,
        retrieval__artifacts=[
            Artifact(f"a{index}", content=content) for index, content in enumerate(contents)
        ],
    )
    moved = externalize_artifacts(context, MEMORY, limits)
    assert not ContextSizeChecker(limits).should_externalize_artifacts(moved)
    assert externalize_artifacts(moved, MEMORY, limits) is moved
    assert is_same(restored(deserialize(serialize(moved)), MEMORY), context)


def test_what_is_large_goes_and_the_rest_stays(
    folder: ObjectStoreExternalizer, tmp_path: Path
) -> None:
    """Content over the inline limit becomes a stub; the artifact keeps name, type and source."""
    moved = externalize_artifacts(CONTEXT, folder, SMALL)
    assert [artifact.external is None for artifact in moved.retrieval.artifacts] == [
        False,
        False,
        False,
        True,
    ]
    first = moved.retrieval.artifacts[0]
    assert first.external is not None
    assert (first.id, first.type, first.source, first.content) == ("a0", "text", "wiki", None)
    assert first.external.uri == f"{(tmp_path / 'artifacts').as_uri()}/{first.external.sha256}.json"
    assert (
        tmp_path / "artifacts" / f"{first.external.sha256}.json"
    ).read_bytes() == b'"' + b"0" * 30 + b'"'
    assert get_stats(moved).externalized_count == 3
    assert CONTEXT.retrieval.artifacts[0].content == "0" * 30


def test_the_largest_go_until_all_together_fit(folder: ObjectStoreExternalizer) -> None:
    """If only the total is too large, the largest artifacts leave first, and only those needed."""
    large = Artifact("large", content="x" * 80)
    context = write(START, retrieval__artifacts=(*LONG, large))
    moved = externalize_artifacts(
        context,
        folder,
        ContextLimits(max_inline_artifact_size=100, artifact_externalization_threshold=260),
    )
    assert [artifact.id for artifact in moved.retrieval.artifacts if artifact.external] == ["large"]


def test_damaged_content_is_noticed_and_mended(
    folder: ObjectStoreExternalizer, tmp_path: Path
) -> None:
    """Retrieving checks the SHA-256 and tells both; storing the content again puts it right."""
    stub = folder.externalize("precious")
    (tmp_path / "artifacts" / f"{stub.sha256}.json").write_bytes(b'"preciosu"')
    with pytest.raises(ArtifactError) as caught:
        folder.retrieve(stub)
    assert (caught.value.reason, caught.value.sha256) == (ArtifactFault.DAMAGED, stub.sha256)
    assert str(caught.value).startswith("file://")
    assert (
        f"content {stub.sha256}: has the SHA-256 {encode_content('preciosu')[0]}. Use the bytes"
        in str(caught.value)
    )
    folder.externalize("precious")
    assert folder.retrieve(stub) == "precious"


@pytest.mark.parametrize("sha256", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_stub_names_no_other_file(folder: ObjectStoreExternalizer, sha256: str) -> None:
    """An invalid SHA-256 is refused, and the URI of a stub is never followed."""
    with pytest.raises(InvalidDataError, match="is not an SHA-256"):
        folder.retrieve(ExternalContent("file:///etc/passwd", sha256, 1))
    with pytest.raises(InvalidDataError):
        folder.discard(sha256)


def test_a_place_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """A file for a folder, a URL of an unknown kind: a typed error with the place."""
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file" / "below", "nowhere://bucket"):
        with pytest.raises(ArtifactError, match="Use a store that can be reached") as caught:
            ObjectStoreExternalizer.open(place)
        assert (caught.value.reason, caught.value.place) == (ArtifactFault.UNREACHABLE, str(place))


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:pass@bucket/prefix",
        "s3://bucket?token=pass",
        "https://acc.blob.core.windows.net/c?sig=pass",
        "az://:pass@a/b",
    ],
)
def test_a_url_with_a_secret_is_refused(url: str) -> None:
    """Every stub would show it, and so would the errors: this one does not."""
    with pytest.raises(
        InvalidOptionError, match=r"URL with a password or a query'. Use a URL without"
    ) as caught:
        ObjectStoreExternalizer.open(url)
    assert "pass@" not in str(caught.value)
    assert "=pass" not in str(caught.value)


def test_a_symlink_leads_nowhere(folder: ObjectStoreExternalizer, tmp_path: Path) -> None:
    """A symlink is read only if it leads to the right content; its target is never changed."""
    stub = folder.externalize("content")
    stored, outside = tmp_path / "artifacts" / f"{stub.sha256}.json", tmp_path / "outside"
    outside.write_text("secret")
    stored.unlink()
    stored.symlink_to(outside)
    with pytest.raises(ArtifactError) as caught:
        folder.retrieve(stub)
    assert caught.value.reason is ArtifactFault.DAMAGED
    folder.externalize("content")
    assert (stored.is_symlink(), folder.retrieve(stub), outside.read_text()) == (
        False,
        "content",
        "secret",
    )
    stored.unlink()
    stored.symlink_to(outside)
    folder.discard(stub.sha256)
    assert (stored.is_symlink(), outside.read_text()) == (False, "secret")


def test_a_folder_needs_no_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A local folder works without obstore, and says what is missing; a bucket names the extra."""
    monkeypatch.setattr("polycontext.base.errors.find_spec", lambda _: None)
    for name in ("obstore", "obstore.store", "obstore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    for place in (tmp_path / "path", str(tmp_path / "text"), (tmp_path / "url").as_uri()):
        folder = ObjectStoreExternalizer.open(place)
        stub = folder.externalize({"rows": [1, 2]})
        assert folder.retrieve(stub) == {"rows": (1, 2)}
        folder.discard(stub.sha256)
        folder.discard(stub.sha256)
        missing = f"{folder.place}: content {stub.sha256}: is not there"
        with pytest.raises(ArtifactError, match=missing) as caught:
            folder.retrieve(stub)
        assert caught.value.reason is ArtifactFault.MISSING
    with pytest.raises(
        MissingExtraError,
        match=r"storing artifacts in s3: needs obstore. Run pip install .\.\[artifacts\].",
    ):
        ObjectStoreExternalizer.open("s3://bucket/prefix")


@pytest.mark.parametrize("length", [2 * 1024**3, 5, 0])
@pytest.mark.parametrize("opener", [FolderObjects, LocalStore])
def test_no_more_is_read_than_the_stub_promised(
    opener: Callable[[Path], FolderObjects | LocalStore], tmp_path: Path, length: int
) -> None:
    """Stored content of another size than the stub's is refused without loading it."""
    externalizer = ObjectStoreExternalizer(opener(tmp_path), tmp_path.as_uri())
    stub = externalizer.externalize("small")
    os.truncate(tmp_path / f"{stub.sha256}.json", length)
    tracemalloc.start()
    with pytest.raises(ArtifactError, match=f"has {length:,} bytes, the stub promises 7") as caught:
        externalizer.retrieve(stub)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (caught.value.reason, caught.value.sha256) == (ArtifactFault.DAMAGED, stub.sha256)
    assert peak < 1_000_000
    with pytest.raises(ArtifactError, match="the stub promises"):
        externalizer.retrieve(evolve(stub, size=2**63 - 1))


class Failing:
    """Fail at one step of storing: before it, or after storing but before returning."""

    def __init__(self, inner: ObjectStoreExternalizer, step: int, *, stored: bool) -> None:
        self.inner, self.step, self.after = inner, step, stored

    def externalize(self, content: Any) -> ExternalContent:
        """Store, or fail when it is time."""
        self.step -= 1
        if self.step < 0 and not self.after:
            raise ArtifactError(ArtifactFault.UNREACHABLE, "somewhere", "the line went dead")
        stub = self.inner.externalize(content)
        if self.step < 0:
            raise ArtifactError(ArtifactFault.UNREACHABLE, "somewhere", "the line went dead")
        return stub

    def retrieve(self, external: ExternalContent) -> Any:
        """Retrieve."""
        return self.inner.retrieve(external)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("step", range(3))
def test_a_failure_at_any_step_leaves_content_inline(
    folder: ObjectStoreExternalizer, tmp_path: Path, step: int, *, stored: bool
) -> None:
    """If storing fails at any step the context is unchanged, and a retry completes the move."""
    failing = Failing(folder, step, stored=stored)
    with pytest.raises(ArtifactError, match="the line went dead"):
        externalize_artifacts(CONTEXT, failing, SMALL)
    assert len(list((tmp_path / "artifacts").iterdir())) == step + stored
    failing.step = 99
    assert is_same(restored(externalize_artifacts(CONTEXT, failing, SMALL), folder), CONTEXT)
