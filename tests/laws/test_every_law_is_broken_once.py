"""Every law of every room is tested on what should obey it, and has been seen to fail on what does not."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from polycontext.linearity.law import Law, LawViolation, agree, laws_of
from tests.laws.breaking import breaking_tests, breaks

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
    """A file ``tests/laws/test_broken_<room>*.py`` has a test marked ``@breaks`` with the law."""
    for path in Path(__file__).parent.glob(f"test_broken_{law.room}*.py"):
        _test_module(path.stem)
    assert breaking_tests(law.check), f"nothing in tests/laws/test_broken_{law.room}*.py breaks {law.name}"


def test_a_law_that_was_not_broken_fails_the_test_that_should() -> None:
    """A test marked ``@breaks`` passes only if the law that it names, and no other, objects."""

    def some_law(*, obeyed_by: str = "nobody") -> None:
        agree(obeyed_by, "everybody")

    @breaks(some_law)
    def broken() -> None:
        some_law()

    @breaks(some_law)
    def obedient() -> None:
        some_law(obeyed_by="everybody")

    @breaks(some_law)
    def another() -> None:
        raise LawViolation("some_other_law", 1, 2, {})

    broken()
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        obedient()
    with pytest.raises(AssertionError, match="some_other_law"):
        another()
