"""The structure of the code is measured: circles and deep imports are named, rooms are counted."""

from pathlib import Path
from typing import Any

import pytest

from tests.house import script

house = script("house")
SMALL = {
    "pyproject.toml": (
        '[tool.setuptools.package-dir]\npolycontext = "front"\n"polycontext.low" = "low"\n'
        '"polycontext.high" = "high"\n"polycontext.guest" = "apps/guest"\n'
    ),
    "front/__init__.py": "",
    "low/__init__.py": "",
    "low/__init__.pyi": "from . import shared\nfrom .part import Part\n",
    "low/part.py": "class Part: ...\nclass Inner: ...\n",
    "low/shared.py": "ONE = 1\n",
    "high/__init__.py": "",
    "apps/guest/__init__.py": "",
    "apps/guest/main.py": (
        "from polycontext import low\nfrom polycontext.low import Part, shared\n"
        "from polycontext.low.shared import ONE\nprint(low.Part, __name__)\n"
    ),
}


def build(root: Path, files: dict[str, str]) -> Any:
    """Write a small house with two rooms, a guest and these files, and return it."""
    for name, source in {**SMALL, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    return house.House(root)


def offenders(root: Path, files: dict[str, str]) -> dict[str, list[str]]:
    """Return what a small house with these files must not have, by the first word of its kind."""
    found = build(root, files).offenders()
    return {what.split(" ")[0]: those for what, those in found.items() if those}


def test_a_house_that_uses_public_names_has_no_offenders(tmp_path: Path) -> None:
    """Public names, modules and a room as a namespace may be imported from anywhere."""
    assert offenders(tmp_path, {}) == {}


@pytest.mark.parametrize(
    ("files", "what", "offender"),
    [
        (
            {"high/one.py": "from polycontext.low.part import Part\n"},
            "deep",
            "polycontext.high.one: polycontext.low.part.Part",
        ),
        (
            {"high/one.py": "from ..low.part import Part\n"},
            "deep",
            "polycontext.high.one: polycontext.low.part.Part",
        ),
        (
            {"high/one.py": "def late():\n    import polycontext.low.part\n"},
            "deep",
            "polycontext.high.one: polycontext.low.part.",
        ),
        (
            {"high/one.py": "from polycontext import low\nprint(low.part)\n"},
            "deep",
            "polycontext.high.one: polycontext.low.part",
        ),
        (
            {"high/one.py": "from polycontext.low.shared import _TWO\n"},
            "deep",
            "polycontext.high.one: polycontext.low.shared._TWO",
        ),
        (
            {"high/one.py": "from polycontext.guest.main import low\n"},
            "deep",
            "polycontext.high.one: polycontext.guest.main.low",
        ),
        (
            {
                "high/one.py": "from .two import b\n",
                "high/two.py": "if TYPE_CHECKING:\n    from .one import a\n",
            },
            "groups",
            (
                "polycontext.high.one -> polycontext.high.two, "
                "polycontext.high.two -> polycontext.high.one"
            ),
        ),
        (
            {
                "high/__init__.pyi": "from .two import b\n",
                "high/one.py": "from .. import high as own\nown.b\n",
                "high/two.py": "def late():\n    from . import one\n",
            },
            "groups",
            (
                "polycontext.high.one -> polycontext.high.two, "
                "polycontext.high.two -> polycontext.high.one"
            ),
        ),
    ],
)
def test_what_must_not_be_is_named(
    files: dict[str, str], what: str, offender: str, tmp_path: Path
) -> None:
    """One offender is of one kind and no other, and is named."""
    assert offenders(tmp_path, files) == {what: [offender]}


def test_the_characters_of_a_room_are_those_of_its_code(tmp_path: Path) -> None:
    """Docstrings, comments and indentation do not count, and the largest room comes first."""
    source = '"""What it is.\n\nMore.\n"""\n# why\nif 1:\n    one = 2\n'
    counted = build(tmp_path, {"high/one.py": source, "low/part.py": ""}).characters()
    assert list(counted.items())[:1] == [("guest", counted["guest"])]
    assert (counted["high"], counted["low"], counted["front"]) == (12, 7, 0)


def test_the_house_has_no_circles_and_no_deep_imports(capsys: pytest.CaptureFixture[str]) -> None:
    """The code is sound, and the characters of each room and of the whole are printed."""
    assert house.main() == 0, capsys.readouterr().out
    printed = capsys.readouterr().out
    assert "polynomial\n" in printed
    assert "in all\n" in printed


def test_the_code_grows_by_one_percent_or_by_a_decision(tmp_path: Path) -> None:
    """The limit is 1 % over the last release, or the largest figure that a decision allows."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / house.RELEASED).write_text("200000\n", encoding="utf-8")
    assert house.most_characters(tmp_path) == 202_000
    page = tmp_path / "docs" / "decisions" / "2026-11-30-size.md"
    page.parent.mkdir(parents=True)
    page.write_text("Wide tables. The code may have 210,000\ncharacters, because ...\n", "utf-8")
    assert house.most_characters(tmp_path) == 210_000
