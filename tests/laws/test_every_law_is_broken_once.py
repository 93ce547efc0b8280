"""Every law of every room is tested on what should obey it, and has been seen to fail on what does not."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

from polycontext.linearity.law import Law, laws_of
from tests.laws.breaking import breaking_tests

ROOMS = [room for room in ("linearity", "window", "pressure", "polynomial", "nodes") if find_spec(f"polycontext.{room}.laws")]
LAWS = [law for room in ROOMS for law in laws_of(import_module(f"polycontext.{room}.laws"))]


def _test_module(name: str) -> ModuleType:
    return import_module(f"tests.laws.{name}")


def _named(laws: list[Law]) -> list[object]:
    return [pytest.param(law, id=f"{law.room}.{law.name}") for law in laws]


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_with_laws_states_some(room: str) -> None:
    """A room's laws are found by `laws_of`, each with a statement of its own and a source."""
    laws = [law for law in LAWS if law.room == room]
    assert laws
    assert all(law.source and law.statement.endswith(".") for law in laws)
    assert len({law.statement for law in laws}) == len(laws)


@pytest.mark.parametrize("law", _named(LAWS))
def test_every_law_is_tested_under_its_name(law: Law) -> None:
    """``tests/laws/test_<room>.py`` has a property test ``test_<law>``."""
    test = getattr(_test_module(f"test_{law.room}"), f"test_{law.name}", None)
    assert test is not None, f"tests/laws/test_{law.room}.py has no test_{law.name}"
    assert getattr(test, "is_hypothesis_test", False), f"test_{law.name} is no property test"


@pytest.mark.parametrize("law", _named(LAWS))
def test_every_law_rejects_a_broken_instance(law: Law) -> None:
    """``tests/laws/test_broken_<room>.py`` has a test marked ``@breaks`` with the law."""
    _test_module(f"test_broken_{law.room}")
    assert breaking_tests(law.check), f"nothing in tests/laws/test_broken_{law.room}.py breaks {law.name}"
