"""The same externaliser over S3, against a server on loopback that speaks it."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest

from polycontext.agent_context import ArtifactFault, ObjectStoreExternalizer, externalize_artifacts
from polycontext.agent_context.errors import ArtifactError
from polycontext.agent_context.json_text import is_same
from tests.agent_context.test_artifacts import CONTEXT, SMALL, restored

server = pytest.importorskip("moto.server", reason="moto[server] is not installed")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Run a server on a free port of loopback, and stop it afterwards."""
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(endpoint: str) -> ObjectStoreExternalizer:
    """Return an externaliser over a prefix of a new bucket."""
    for method, path in (("POST", "moto-api/reset"), ("PUT", "shelf")):
        with urlopen(Request(f"{endpoint}/{path}", method=method)) as answer:  # noqa: S310  local
            assert answer.status == 200
    return opened("s3://shelf/agents/artifacts", endpoint)


def opened(place: str, endpoint: str) -> ObjectStoreExternalizer:
    """Open a place on the server."""
    config = {
        "endpoint": endpoint,
        "access_key_id": "any",
        "secret_access_key": "any",
        "region": "us-east-1",
    }
    return ObjectStoreExternalizer.open(
        place,
        config=config,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=5)},
    )


def test_artifacts_live_in_a_bucket(bucket: ObjectStoreExternalizer) -> None:
    """Content stored in a bucket can be read, discarded and stored again."""
    moved = externalize_artifacts(CONTEXT, bucket, SMALL)
    assert is_same(restored(moved, bucket), CONTEXT)
    stub = moved.retrieval.artifacts[0].external
    assert stub is not None
    assert stub.uri == f"s3://shelf/agents/artifacts/{stub.sha256}.json"
    bucket.discard(stub.sha256)
    bucket.discard(stub.sha256)
    with pytest.raises(ArtifactError) as caught:
        bucket.retrieve(stub)
    assert caught.value.reason is ArtifactFault.MISSING
    assert bucket.externalize("0" * 30) == stub == bucket.externalize("0" * 30)


def test_a_bucket_that_is_not_there_is_said(bucket: ObjectStoreExternalizer, endpoint: str) -> None:
    """Storing into no bucket, and asking a server that is gone, are typed errors with the place."""
    with pytest.raises(ArtifactError, match="s3://nowhere/x: ") as caught:
        opened("s3://nowhere/x", endpoint).externalize("text")
    assert caught.value.reason is ArtifactFault.UNREACHABLE
    gone = opened("s3://shelf/x", "http://127.0.0.1:9")
    for use in (lambda: gone.externalize("text"), lambda: gone.discard("0" * 64)):
        with pytest.raises(ArtifactError, match="s3://shelf/x: ") as caught:
            use()
        assert caught.value.reason is ArtifactFault.UNREACHABLE
