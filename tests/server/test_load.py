"""A small load: `just bench server_load` is the great one."""

import asyncio
from pathlib import Path

import pytest

from tests.server_load import run, serving


@pytest.mark.gate
@pytest.mark.no_cover
def test_no_listener_misses_an_event(tmp_path: Path) -> None:
    """Every listener receives every event, beside one that has stopped reading."""
    with serving(str(tmp_path / "chats.db")) as (port, process):
        load = asyncio.run(
            run(port, process, seconds=2, clients=20, sessions=4, a_second=2, stopped=1)
        )
    assert all(talk.turns for talk in load.talks)
    assert (load.received, load.missed) == (load.expected, 0)
    assert len(load.listeners) == 20
    assert not any(listener.numbers for talk in load.talks for listener in talk.stopped)
