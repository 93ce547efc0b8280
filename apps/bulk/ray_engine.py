"""A Ray cluster as the engine of a run: the same work, as tasks of Ray Data on its nodes."""

import logging
import os
import pickle
from collections.abc import Iterator
from itertools import islice
from typing import Any

from attrs import frozen

from polycontext.base import require_extra

from .pieces import Done, Piece, Work

_FOR_EACH_CPU = 16
"""The pieces that are held for each CPU of the cluster: about 10 seconds of work."""


@frozen
class RayEngine:
    """Runs work on a Ray cluster; `address` is that of a running one, by default a local one.

    Results come in the order of the pieces. The process that calls it reads the input and writes
    the output; the nodes need polycontext, but no shared disk. If a worker dies, Ray runs its piece
    again.
    """

    address: str | None = None

    def __attrs_post_init__(self) -> None:
        require_extra("ray", extra="ray", purpose="the engine ray")

    def map(self, work: Work, pieces: Iterator[Piece]) -> Iterator[Done]:
        """Yield what `work` makes of each piece, in order."""
        # No statistics are sent unless the environment asks for it.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray  # noqa: PLC0415 - an extra
        import ray.data  # noqa: PLC0415

        if not ray.is_initialized():
            ray.init(self.address, log_to_driver=False, logging_level="ERROR")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        held = _FOR_EACH_CPU * int(ray.cluster_resources().get("CPU", 1))
        while window := [*islice(pieces, held)]:
            items = [{"index": n, "data": pickle.dumps(each)} for n, each in enumerate(window)]
            tasks = ray.data.from_items(items, override_num_blocks=len(items))
            rows = tasks.map_batches(_Batch(work), batch_size=None, batch_format="pyarrow")
            found: dict[int, bytes] = {row["index"]: row["data"] for row in rows.iter_rows()}
            for index in range(len(window)):
                yield pickle.loads(found[index])  # noqa: S301 - written by our own worker


@frozen
class _Batch:
    """Does the work of the pieces in a batch."""

    work: Work

    def __call__(self, batch: Any) -> Any:
        """Return the batch with what became of its pieces."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        pieces = map(pickle.loads, batch["data"].to_pylist())
        done = [pickle.dumps(self.work(piece)) for piece in pieces]
        return pa.table({"index": batch["index"], "data": pa.array(done, pa.large_binary())})
