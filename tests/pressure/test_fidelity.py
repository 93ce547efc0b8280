"""Fidelity: three levels, and how low each class may go."""

import subprocess
import sys

from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, Fidelity, Reach, floor_of
from polycontext.pressure.laws.projectors import fidelities_only_fall
from polycontext.testing.strategies import Head
from tests.pressure.samples import calls, extended, opened, result, words


def test_fidelities_are_ordered() -> None:
    """Nothing is less than a gist, a gist is less than every word."""
    assert sorted(Fidelity) == [Fidelity.DROPPED, Fidelity.GIST, Fidelity.VERBATIM]


def test_every_class_has_its_floor() -> None:
    """DROPPABLE may go, REQUIRED must leave a gist, PRESERVED stays word for word."""
    assert {c.name: floor_of(c).name for c in ResourceClass} == {
        "DROPPABLE": "DROPPED",
        "REQUIRED": "GIST",
        "PRESERVED": "VERBATIM",
    }


def test_the_room_opens_without_the_extractive_summariser() -> None:
    """Importing the room does not load the summariser; asking for the summariser does."""
    code = (
        "import sys, polycontext.pressure as room\n"
        "from polycontext.pressure import ContextProjector, check_floors, threshold\n"
        "mine = {name for name in sys.modules if name.startswith('polycontext.pressure')}\n"
        "assert len(mine) <= 15 and 'polycontext.pressure.notes.summariser' not in mine, mine\n"
        "assert room.ContextProjector().summariser == room.ExtractiveSummariser()\n"
        "assert 'polycontext.pressure.notes.summariser' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_result_that_is_truncated_again_breaks_no_law() -> None:
    """What is left of it stands for the result, and not for what was left before."""
    projector = ContextProjector(Head(), Reach(keep_recent=0, recent_share=0.0, newest_share=0.0))
    window = extended(opened(600), [calls("look"), result(0, words(1, 150))])
    once = projector.compress(window, 0.7).window
    assert [turn.is_gist for turn in once.all_turns()][-1]
    for target in (0.6, 0.5, 0.4):
        fidelities_only_fall(projector, once, target, 0.0)
