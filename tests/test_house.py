"""The house is measured: every limit can be exceeded, and who exceeds it is named."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.house import APPLICATIONS, FRONT, ROOMS, script

house = script("house")
BODY = "".join(f"NUMBER_{number} = {number}\n" for number in range(25))


def written(root: Path, files: dict[str, str]) -> Path:
    """Return a small house: an empty front door, empty rooms and applications, and these files."""
    empty = {f"{room}/__init__.py": "" for room in (*house.ROOMS, *house.APPLICATIONS)}
    for name, source in {**empty, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    return root


def failing(
    root: Path, loaded: list[str] | None = None, cycles: Sequence[Sequence[str]] = ()
) -> dict[str, tuple[int, list[str]]]:
    """Return what is exceeded, with the count and those to blame, the worst first."""
    found = house.checks(root, loaded or [], cycles)
    return {each.what: (each.now, house._blamed(each).split(", ")) for each in found if not each.ok}


def test_the_rooms_are_those_of_the_house() -> None:
    """The front door, every room and every application are measured."""
    assert (FRONT, *ROOMS, *APPLICATIONS) == (*house.ROOMS, *house.APPLICATIONS)


def test_a_house_within_its_limits_passes(tmp_path: Path) -> None:
    """Short `__init__` and `__main__` are no fault, nor is a folder beside the rooms."""
    files = {
        "window/turn.py": BODY,
        "front/__main__.py": "",
        "tests/test_short.py": "x = 1\n",
        "window/__pycache__/old.py": "x = 1\n",
    }
    assert failing(written(tmp_path, files)) == {}


@pytest.mark.parametrize(
    ("files", "what", "now", "worst"),
    [
        (
            {f"apps/cli/part{n}.py": BODY for n in range(house.MOST_FILES - 10)},
            "Python files",
            house.MOST_FILES + 1,
            f"apps/cli {house.MOST_FILES - 9}",
        ),
        (
            {f"nodes/part{n}.py": BODY for n in range(house.MOST_CORE_FILES - 5)},
            "Python files of the core",
            house.MOST_CORE_FILES + 1,
            f"nodes {house.MOST_CORE_FILES - 4}",
        ),
        (
            {
                "window/long.py": '"""Say why."""\n'
                + BODY
                + f"X = '{'x' * (house.MOST_CHARACTERS - len(BODY) + 25 - 5)}'\n"
            },
            "characters of code: core",
            house.MOST_CHARACTERS + 1,
            f"window/long.py {house.MOST_CHARACTERS + 1}",
        ),
        (
            {
                "apps/cli/long.py": '"""Say why."""\n'
                + BODY
                + f"X = '{'x' * (house.MOST_APPLIED - len(BODY) + 25 - 5)}'\n"
            },
            "characters of code: applications",
            house.MOST_APPLIED + 1,
            f"apps/cli/long.py {house.MOST_APPLIED + 1}",
        ),
        (
            {"window/tiny.py": "x = 1\n", "window/small.py": "x = 1\n" * 24},
            "files under 25 lines",
            2,
            "window/tiny.py 1",
        ),
        (
            {"nodes/long.py": "x = 1\n" * 321},
            "files over 320 lines of code",
            1,
            "nodes/long.py 321",
        ),
        ({"nodes/high.py": "\n" * 401}, "files over 400 lines", 1, "nodes/high.py 401"),
        (
            {
                "window/errors.py": BODY
                + "class A(ValueError): ...\n"
                + "".join(f"class B{n}(A): ...\n" for n in range(house.MOST_ERRORS))
            },
            "error and warning classes",
            house.MOST_ERRORS + 1,
            f"window/errors.py {house.MOST_ERRORS + 1}",
        ),
        (
            {"window/__init__.py": "from a import " + ", ".join(f"b{n}" for n in range(41))},
            "public APIs with over 40 names",
            1,
            "window 41",
        ),
        (
            {
                "apps/cli/deep.py": BODY + "from polycontext.window.turn import Turn\n",
                "window/turn.py": BODY,
            },
            "deep imports from applications",
            1,
            "apps/cli/deep.py 1",
        ),
        (
            {"apps/cli/deep.py": BODY + "import polycontext.window\n"},
            "deep imports from applications",
            1,
            "apps/cli/deep.py 1",
        ),
        (
            {
                "nodes/deep.py": BODY
                + "".join(
                    f"from polycontext.window.a{n} import b\n"
                    for n in range(house.MOST_DEEP_IN_CORE + 1)
                )
            },
            "deep imports across rooms",
            house.MOST_DEEP_IN_CORE + 1,
            f"nodes/deep.py {house.MOST_DEEP_IN_CORE + 1}",
        ),
        (
            {"nodes/told.py": BODY, "apps/cli/told.py": BODY},
            "modules named by participles",
            2,
            "apps/cli/told.py 1",
        ),
        (
            {"nodes/part.py": BODY + "# noqa\n" * (house.MOST_SILENCED + 1)},
            "rules of lint that are silenced (noqa)",
            house.MOST_SILENCED + 1,
            f"nodes/part.py {house.MOST_SILENCED + 1}",
        ),
        (
            {
                "pyproject.toml": (
                    "[project]\ndependencies = "
                    f"{[f'a{n}>=1' for n in range(house.MOST_PACKAGES + 1)]}\n"
                )
            },
            "packages that a base install names",
            house.MOST_PACKAGES + 1,
            "a0 1",
        ),
        (
            {
                "window/part.py": BODY
                + "class A:\n"
                + "".join(
                    f"    def b{n}(self): ...\n    async def ab{n}(self): ...\n"
                    for n in range(house.MOST_TWINS + 1)
                )
            },
            "twins written by hand",
            house.MOST_TWINS + 1,
            f"window/part.py {house.MOST_TWINS + 1}",
        ),
        (
            {
                "polynomial/session/part.py": BODY
                + "class A:\n"
                + "".join(
                    f"    def b{n}(self): ...\n    async def ab{n}(self): ...\n"
                    for n in range(house.MOST_TWINS_IN_SESSION + 1)
                )
            },
            "twins in session and machine",
            house.MOST_TWINS_IN_SESSION + 1,
            f"polynomial/session/part.py {house.MOST_TWINS_IN_SESSION + 1}",
        ),
        (
            {
                "polynomial/machine/late.py": BODY
                + "def f():\n"
                + "    import a\n" * (house.MOST_LATE_IN_SESSION + 1)
            },
            "imports in functions of session and machine",
            house.MOST_LATE_IN_SESSION + 1,
            f"polynomial/machine/late.py {house.MOST_LATE_IN_SESSION + 1}",
        ),
        (
            dict.fromkeys(
                ("polynomial/late.py", "apps/cli/late.py"),
                BODY + "def f():\n" + "    import a\n" * (house.MOST_LATE_IMPORTS + 1),
            ),
            "imports in functions, without the command line",
            house.MOST_LATE_IMPORTS + 1,
            f"polynomial/late.py {house.MOST_LATE_IMPORTS + 1}",
        ),
        (
            {"nodes/props/__init__.py": f"__all__ = {[f'a{n}' for n in range(41)]}"},
            "public APIs with over 40 names",
            1,
            "nodes/props 41",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_each_limit_can_be_exceeded(
    files: dict[str, str], what: str, now: int, worst: str, tmp_path: Path
) -> None:
    """One limit is exceeded by one, and no other; the worst offender is named first."""
    found = failing(written(tmp_path, files))
    assert list(found) == [what]
    assert (found[what][0], found[what][1][0]) == (now, worst)


def test_modules_that_come_along_are_counted(tmp_path: Path) -> None:
    """Modules loaded by an import are counted, and the largest package is named."""
    loaded = [f"polycontext.nodes.part{n}" for n in range(house.MOST_LOADED + 1)]
    assert failing(written(tmp_path, {}), loaded) == {
        "modules loaded after three turns": (
            house.MOST_LOADED + 1,
            [f"polycontext.nodes {house.MOST_LOADED + 1}"],
        )
    }
    assert {"polycontext", "polycontext.polynomial"} <= set(house.loaded_modules())


def test_modules_that_import_each_other_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cycles count imports in functions, but not imports for type checkers."""
    package = tmp_path / "ring"
    package.mkdir()
    sources = {
        "__init__": "",
        "one": "from ring import two\n",
        "two": "def later():\n    from ring import three\n",
        "three": "from ring import one, typed\n",
        "typed": (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ring import three\n"
        ),
    }
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    cycles = house.import_cycles("ring")
    assert cycles == [("ring.one", "ring.three", "ring.two")]
    more = cycles * (house.MOST_CYCLES + 1)
    assert failing(written(tmp_path, {}), cycles=more) == {
        "import cycles": (len(more), ["ring.one <-> ring.three <-> ring.two 3"])
    }


def test_text_is_no_code(tmp_path: Path) -> None:
    """Docstrings, comments and blank lines do not count as code, while strings in code do."""
    text = '"""Say\nwhy."""\n\n# note\nX = """a\nb"""\n"""Explain\nX."""\n'
    assert sorted(house.code_lines(text)) == [5, 6]
    assert house.code_characters(text) == len('X = """a') + len('b"""')


def test_errors_are_told_by_their_bases(tmp_path: Path) -> None:
    """However far above them an exception stands, in whichever module."""
    sources = {
        "a.py": "class Root(Exception): ...\nclass Plain: ...\nclass Note(UserWarning): ...\n",
        "b.py": (
            "class Leaf(a.Root, Plain): ...\nclass Other(Generic[T], list[int]): ...\n"
            "class Deep(Leaf): ...\n"
        ),
    }
    assert dict(house.error_classes(sources)) == {"a.py": 2, "b.py": 2}
