"""Python symbols as context: found and read without running a line of them."""

from pathlib import Path

import pytest

from polycontext.pills import SymbolResolver
from polycontext.pills.errors import CannotAttachError, InvalidPillNameError
from polycontext.window.items.attachment import Definition, definitions
from tests.pills.trees import planted

AGENT = '''"""An agent."""

raise SystemExit("nobody imports this")

LIMIT: int = 3
first = second = 1


@decorated
class Agent:
    """Act."""

    name = "a"

    @property
    async def run(self):
        return 1

    class Inner:
        def deep(self): ...


if LIMIT:
    def conditional(): ...
else:
    try:
        import x
    except ImportError:
        def fallback(): ...

match LIMIT:
    case 3:
        def matched(): ...


def again(): return 1


def again(): return 2
'''

NAMES = [
    "LIMIT", "first", "second", "Agent", "Agent.name", "Agent.run", "Agent.Inner",
    "Agent.Inner.deep", "conditional", "fallback", "matched", "again",
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small source tree."""
    return planted(
        tmp_path,
        {
            "src/agent.py": AGENT,
            "src/pkg/__init__.py": "def made(): ...\n",
            "src/broken.py": "def broken(:\n",
            "src/binary.py": b"\0\0",
            "src/escape.py": 'pattern = "\\d"\n',
            "src/deep.py": "x = " + "(" * 5000 + ")" * 5000,
            "other/agent.py": "def made(): ...\nclass Agent: ...\n",
            "v1.2/mod.py": "def dotted(): ...\n",
            "__init__.py": "def top(): ...\n",
            "ignored/a.py": "def ignored(): ...\n",
            ".gitignore": "ignored/\n",
        },
    )


def test_every_kind_of_definition_is_found() -> None:
    """Functions, classes, methods and variables are found, also in branches; locals are not."""
    assert [each.name for each in definitions(AGENT) or ()] == [*NAMES, "again"]
    assert definitions("def f():\n    def local(): ...\n    x = 1\n") == (
        Definition("f", "def", 1, 3),
    )
    assert definitions("def broken(:") is None


def test_a_full_name_is_found_at_its_path(root: Path) -> None:
    """The content are the lines of the definition, as they stand in the file."""
    lines = AGENT.splitlines(keepends=True)
    for name in NAMES:
        found = SymbolResolver([root]).resolve(f"src.agent.{name}")
        assert "".join(lines[(found.start_line or 0) - 1 : found.end_line]) == found.content
        assert (found.path, found.source) == ("src/agent.py", f"symbol src.agent.{name}")


def test_a_definition_comes_with_its_decorators(root: Path) -> None:
    """Defined again, the last one counts, as it does when Python runs."""
    resolver = SymbolResolver([root])
    assert (
        resolver.resolve("src.agent.Agent.run").content
        == "    @property\n    async def run(self):\n        return 1\n"
    )
    assert resolver.resolve("src.agent.again").content == "def again(): return 2\n"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Agent.run", "symbol src.agent.Agent.run"),
        ("agent.LIMIT", "symbol src.agent.LIMIT"),
        ("pkg.made", "symbol src.pkg.made"),
        ("src.pkg.made", "symbol src.pkg.made"),
        ("v1.2.mod.dotted", "symbol v1.2.mod.dotted"),
        ("top", "symbol top"),
        ("pattern", "symbol src.escape.pattern"),
    ],
)
def test_an_end_of_a_name_will_do(root: Path, name: str, source: str) -> None:
    """An unambiguous suffix of a name is enough; names of a package omit `__init__`."""
    assert SymbolResolver([root]).resolve(name).source == source


def test_several_definitions_are_not_chosen_from(root: Path) -> None:
    """The error names them."""
    with pytest.raises(CannotAttachError, match="symbol is ambiguous") as caught:
        SymbolResolver([root]).resolve("Agent")
    assert str(caught.value) == "Cannot attach context: symbol is ambiguous"
    assert caught.value.legal == "other.agent.Agent, src.agent.Agent"


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "src.agent.nothing",
        "src.agent.Agent.nothing",
        "ignored",
        "gent",
        "src.broken.broken",
        "src.nowhere.x",
        "x y",
    ],
)
def test_what_is_not_defined_is_not_found(root: Path, name: str) -> None:
    """Nor is what an ignore file hides from an unqualified name, or a file that is no Python."""
    with pytest.raises(CannotAttachError, match="symbol not found") as caught:
        SymbolResolver([root]).resolve(name)
    assert str(caught.value) == "Cannot attach context: symbol not found"
    assert caught.value.legal.startswith("the name of a class or function, such as")


@pytest.mark.parametrize("name", ["", ".", "a..b", ".a", "a."])
def test_what_is_no_dotted_name_is_refused(root: Path, name: str) -> None:
    """With the message that a user is shown."""
    with pytest.raises(InvalidPillNameError) as caught:
        SymbolResolver([root]).resolve(name)
    assert str(caught.value) == "Invalid context name"


def test_every_symbol_is_offered_with_its_place(root: Path) -> None:
    """By its full name; a definition that was cut short by a fault in its file is not there."""
    offered = {each.name: each.detail for each in SymbolResolver([root]).entries()}
    assert offered["src.agent.Agent.run"] == "src/agent.py:15"
    assert {name for name in offered if not name.startswith("src.agent")} == {
        "src.pkg.made", "src.escape.pattern", "other.agent.made", "other.agent.Agent",
        "v1.2.mod.dotted", "top",
    }  # fmt: skip


def test_lines_are_those_that_python_counts(tmp_path: Path) -> None:
    """Lines end where Python ends them: at carriage returns, but not at form feeds."""
    planted(
        tmp_path,
        {
            "m.py": "x = '\u2028\x1c'\r\n\x0c\r\ndef f():\r\n    return 1\r\ny = 2\r\n",
            "mac.py": "x = 1\rdef g(): ...\ry = 2\r",
        },
    )
    resolver = SymbolResolver([tmp_path])
    found = resolver.resolve("m.f")
    assert (found.content, found.start_line, found.end_line) == (
        "def f():\r\n    return 1\r\n",
        3,
        4,
    )
    assert resolver.resolve("mac.g").content == "def g(): ...\r"
