"""A Ray cluster gives the bytes that the pool gives, also when workers die and runs stop.

`just ray` runs this in an environment of its own.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from polycontext.base import is_installed
from polycontext.bulk import Engine, Pool, RayEngine, RowCompressor, compress_file, lines
from polycontext.bulk.pieces import Done, Piece, Work
from tests.bulk.data_sets import BUDGET, as_lines, rows, saved

pytestmark = [
    pytest.mark.gate,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not is_installed("ray"), reason="Ray is not installed: see `just ray`"),
]
SMALL = RowCompressor(max_tokens=BUDGET)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Return the engine of a cluster of two nodes on this machine."""
    import ray  # noqa: PLC0415 - an extra
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    size = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=size)
    cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
    ray.init(address=cluster.address, log_to_driver=False)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    yield RayEngine()
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data set with a bad row."""
    place = tmp_path_factory.mktemp("ray") / "in.jsonl"
    return saved(place, as_lines([*rows(150), {"text": "bad"}, *rows(150)]))


@pytest.fixture(scope="module")
def whole(source: Path) -> Path:
    """Return what the pool makes of it."""
    output = source.with_name("whole.jsonl.gz")
    compress_file(source, output, SMALL, engine=Pool(1))
    return output


@pytest.fixture(scope="module", autouse=True)
def small_for_all() -> Iterator[None]:
    """Let the pool cut the same pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", 8_000)
        yield


def assert_same(output: Path, whole: Path) -> None:
    """Compare the rows and the rejected rows with those of the pool."""
    assert output.read_bytes() == whole.read_bytes()
    ends = (path.with_name(f"{path.name}.rejected.jsonl") for path in (output, whole))
    assert len({path.read_bytes() for path in ends}) == 1


def test_two_nodes_give_the_bytes_of_the_pool(
    engine: Engine, source: Path, whole: Path, tmp_path: Path
) -> None:
    """The engine changes nothing but where the work runs."""
    output = tmp_path / "out.jsonl.gz"
    report = compress_file(source, output, SMALL, engine=engine)
    assert_same(output, whole)
    assert report.figures.rows == 301


@frozen
class Deadly:
    """Does the work of another engine's run, but its process is killed in the middle, once."""

    engine: Engine
    mark: Path

    def map(self, work: Work, pieces: Iterator[Piece]) -> Iterator[Done]:
        """Run the work, with the kill in it."""
        yield from self.engine.map(DeadlyWork(work, self.mark), pieces)


@frozen
class DeadlyWork:
    """Kills its process at the piece with row 151, unless it has done so."""

    work: Any
    mark: Path

    def __call__(self, piece: Piece) -> Done:
        """Return the shortened piece."""
        if b'"bad"' in piece.data and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(piece)  # type: ignore[no-any-return]

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the rows."""
        yield from self.work.split(piece)


def test_a_worker_that_is_killed_changes_nothing(
    engine: Engine, source: Path, whole: Path, tmp_path: Path
) -> None:
    """Ray starts another worker, which does the piece again."""
    output = tmp_path / "out.jsonl.gz"
    compress_file(source, output, SMALL, engine=Deadly(engine, tmp_path / "killed"))
    assert (tmp_path / "killed").exists()
    assert_same(output, whole)
