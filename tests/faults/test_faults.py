"""No acknowledged turn is lost, doubled or torn, and every error has a hint; see `just faults`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.faults.__main__ import row
from tests.faults.machines import FAULTS as MACHINE_FAULTS
from tests.faults.numbered_commands import COUNTED, Tally, judge, opened, say
from tests.faults.postgresql import FAULTS as SERVER_FAULTS
from tests.faults.postgresql import MISSING, Act, done
from tests.faults.postgresql import killed as killed_there
from tests.faults.sqlite import FAULTS
from tests.postgresql.server import Server, running

FEW = 0.05
FEWER = 0.02
"""On a server, which takes longer to be stopped and started again."""

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked"),
]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("act", "rounds"),
    [*FAULTS, *MACHINE_FAULTS],
    ids=[act.__name__ for act, _ in (*FAULTS, *MACHINE_FAULTS)],
)
def test_nothing_is_lost(
    act: Callable[[Path, int, Random], Tally], rounds: int, tmp_path: Path
) -> None:
    """After every fault, each acknowledged command is in the log, once and whole."""
    tally = act(tmp_path, max(2, round(rounds * FEW)), Random(act.__name__))  # noqa: S311
    assert tally.ok, f"{COUNTED}\n{row(tally)}"
    assert tally.rounds > 0
    assert tally.acknowledged > 0
    if act.__name__ in ("filled", "erased_beside"):
        assert tally.told


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Return a server that may be harmed."""
    if MISSING is not None:
        pytest.skip(MISSING)
    with running() as server:
        yield server


@pytest.mark.gate
@pytest.mark.parametrize(
    ("act", "rounds"), SERVER_FAULTS, ids=[act.__name__ for act, _ in SERVER_FAULTS]
)
def test_nothing_is_lost_on_a_server(act: Act, rounds: int, server: Server) -> None:
    """Nor where the server is killed, or there are many writers."""
    tally = done(act, server, max(1, round(rounds * FEWER)), Random(act.__name__))  # noqa: S311
    assert tally.ok, f"{COUNTED}\n{row(tally)}"
    assert tally.acknowledged > 0 or act is killed_there, "only who is killed may have said nothing"
    assert tally.told or act.__name__ != "gone"


def test_the_judge_sees_what_is_lost_doubled_or_half(tmp_path: Path) -> None:
    """The judge reports a missing, a doubled and a torn command."""
    tally = Tally("")
    with opened(tmp_path / "s.db") as session:
        for number in (0, 1, 1, 2, 4):
            say(session, number)
        assert judge(session, 2, tally) == 4
        assert (tally.lost, tally.duplicated, tally.half) == (0, 0, 1), "4 is there though 3 is not"
        session.add_user_turn("<2.0> is said")
        session.add_user_turn("<3.1> is said")
        judge(session, 5, tally := Tally(""))
        assert (tally.lost, tally.duplicated, tally.half) == (1, 1, 1)
        assert not tally.ok
