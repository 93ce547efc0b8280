"""The functions suit `datasets.Dataset.map`; `just ray` runs this in its own environment."""

from functools import partial
from typing import Any

import pytest

from polycontext.bulk import RowCompressor, compress_table
from tests.bulk.data_sets import BUDGET
from tests.bulk.test_arrow import chats

pytestmark = [pytest.mark.gate, pytest.mark.filterwarnings("default")]
MASKED = RowCompressor(max_tokens=BUDGET, keep=("mask",))


@pytest.mark.parametrize("how", ["rows", "rows in two processes", "tables"])
def test_a_data_set_is_mapped(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are those of the compressor, row by row or in batches, with the same features."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets: Any = pytest.importorskip("datasets", reason="datasets is not installed")
    given = datasets.Dataset.from_list(chats(30))
    if how == "tables":
        table = given.with_format("arrow")
        shorten = partial(compress_table, compressor=MASKED)
        found = table.map(shorten, batched=True, batch_size=7).with_format(None)
    else:
        found = given.map(MASKED, num_proc=2 if "two" in how else None)
    assert found.to_list() == [*map(MASKED, chats(30))]
    assert found.features == given.features
