"""Fidelity: three levels, and how low each class may go."""

import subprocess
import sys
from itertools import pairwise

from polycontext.linearity import ResourceClass
from polycontext.pressure import Fidelity, floor_of


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


def test_floors_rise_with_the_class() -> None:
    """The floor is monotone in the class, so promoting never lets a turn go lower."""
    assert all(floor_of(low) < floor_of(high) for low, high in pairwise(ResourceClass))


def test_the_room_opens_without_the_extractive_summariser() -> None:
    """Importing the room does not load the summariser; asking for the summariser does."""
    code = (
        "import sys, polycontext.pressure as room\n"
        "from polycontext.pressure import ContextProjector, check_floors, threshold\n"
        "mine = {name for name in sys.modules if name.startswith('polycontext.pressure')}\n"
        "assert len(mine) <= 13 and 'polycontext.pressure.notes.summariser' not in mine, mine\n"
        "assert room.ContextProjector().summariser == room.ExtractiveSummariser()\n"
        "assert 'polycontext.pressure.notes.summariser' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
