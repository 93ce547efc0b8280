"""The structure of the code is measured: each limit can be exceeded, and offenders are named."""

from pathlib import Path

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


def offenders(root: Path, files: dict[str, str], *loaded: str) -> dict[str, list[str]]:
    """Return what exceeds a limit in a small house with two rooms, a guest and these files."""
    for name, source in {**SMALL, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    found = house.House(root).offenders(loaded)
    return {what.split(" ")[0]: [*those] for what, those in found.items() if those}


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
        (
            {"low/__init__.pyi": "from .part import " + ", ".join(f"a{n}" for n in range(41))}
            | {"apps/guest/main.py": ""},
            "public",
            "polycontext.low",
        ),
        ({"low/part.py": "\n" * 401}, "files", "polycontext.low.part"),
    ],
)
def test_each_limit_can_be_exceeded(
    files: dict[str, str], what: str, offender: str, tmp_path: Path
) -> None:
    """One offender exceeds one limit and no other, and is named."""
    assert offenders(tmp_path, files) == {what: [offender]}


def test_what_three_turns_load_is_counted(tmp_path: Path) -> None:
    """The modules of the project that a session loads are listed."""
    assert offenders(tmp_path, {}, "b", "a") == {"modules": ["a", "b"]}


def test_the_house_is_within_its_limits(capsys: pytest.CaptureFixture[str]) -> None:
    """The code meets every limit, and each count is printed beside its limit."""
    assert house.main() == 0, capsys.readouterr().out
    assert len(capsys.readouterr().out.splitlines()) == len(house.LIMITS)
