"""Completion: which candidates a prefix gets, in which order, and which files are left out."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pills import BufferResolver, Completer, FileResolver, SymbolResolver, tree
from polycontext.pills.errors import InvalidPillNameError
from polycontext.pills.pill import Pill, PillType
from polycontext.pills.resolver import Candidate
from tests.house import NEEDS_GIT
from tests.pills.trees import planted

NAMES = st.from_regex(r"[abA/._]{1,8}", fullmatch=True)


def names(completer: Completer, prefix: str, limit: int = 20) -> list[str]:
    """Return the names offered for `prefix`."""
    return [each.name for each in completer.candidates(prefix, limit=limit)]


def buffers(*known: str) -> Completer:
    """Return a completer of buffers with these names."""
    return Completer([BufferResolver(dict.fromkeys(known, ""))])


@pytest.mark.parametrize(
    "prefix",
    [
        "@src/ag",
        "src/ag",
        "[@src/ag",
        "ag",
        "sag",
        "s/a",
        "SRC/AG",
        "agent.py",
        "src/agent.py",
        "scagpy",
    ],
)
def test_what_is_typed_finds_the_file(tmp_path: Path, prefix: str) -> None:
    """A file is found by segment, subsequence or base name, in any case, with or without ``@``."""
    root = planted(tmp_path, {"src/agent.py": "", "docs/index.md": "", "README.md": ""})
    assert names(Completer([FileResolver([root])]), prefix) == ["src/agent.py"]


def test_the_best_comes_first() -> None:
    """Candidates are ranked from exact matches and prefixes down to subsequences."""
    ranked = ["ag", "agenda", "x/agent", "z/agx/y", "x/bag", "x/axg", "a/xxg"]
    assert names(buffers(*reversed(ranked)), "ag") == ranked


def test_parts_may_be_left_out() -> None:
    """Each part of the prefix begins a part of the path, in order."""
    assert names(buffers("src/core/agent.py", "arc/sgent.py"), "src/ag") == ["src/core/agent.py"]
    assert names(buffers("src/core/agent.py", "src_x/coreag/x"), "s/ag")[0] == "src/core/agent.py"
    deep = "/".join("a" * 200)
    assert names(buffers(f"{deep}/b", deep), "/".join("a" * 100 + "c")) == []
    assert names(buffers(f"x{deep}/bc", f"{deep}/b/d"), "/".join("a" * 99 + "b")) == [
        f"{deep}/b/d",
        f"x{deep}/bc",
    ]


def test_candidates_say_their_type_and_are_filtered_by_it(tmp_path: Path) -> None:
    """Candidates carry their type; a filter on types skips the other sources."""
    root = planted(tmp_path, {"agent.py": "def agent(): ...\n"})
    completer = Completer(
        [FileResolver([root]), SymbolResolver([root]), BufferResolver({"*agent*": "x"})]
    )
    assert {each.type: (each.name, each.detail) for each in completer.candidates("agent")} == {
        PillType.FILE: ("agent.py", ""),
        PillType.SYMBOL: ("agent.agent", "agent.py:1"),
        PillType.BUFFER: ("*agent*", ""),
    }
    assert [
        each.name for each in completer.candidates("agent", types=["symbol", PillType.BUFFER])
    ] == ["agent.agent", "*agent*"]
    assert completer.candidates("agent", types="buffer") == completer.candidates(
        "agent", types=["buffer"]
    )
    assert completer.candidates("agent", types=[]) == ()
    with pytest.raises(InvalidPillNameError):
        completer.candidates("agent", types=["poem"])


def test_sources_are_asked_once_until_refreshed(tmp_path: Path) -> None:
    """A file made since is offered after `refresh`."""
    completer = Completer([FileResolver([planted(tmp_path, {"a1": ""})])])
    assert names(completer, "a") == ["a1"]
    planted(tmp_path, {"a2": ""})
    assert names(completer, "a") == ["a1"]
    completer.refresh()
    assert names(completer, "a") == ["a1", "a2"]


@given(st.lists(NAMES, max_size=12), NAMES)
def test_every_candidate_has_the_characters_in_order(known: list[str], prefix: str) -> None:
    """And every name that has them is a candidate, each once, whatever it is made of."""
    offered = names(buffers(*known), prefix)

    def has_in_order(name: str) -> bool:
        left = iter(name.lower())
        return all(char in left for char in prefix.lower())

    assert sorted(offered) == sorted({name for name in known if has_in_order(name)})


# --- the scan ---------------------------------------------------------------


def test_ignore_files_are_honoured(tmp_path: Path) -> None:
    """Nested ignore files are honoured: the deeper one wins, and invalid lines are skipped."""
    root = planted(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n!\n/only-here\n",
            "a.log": "",
            "a.py": "",
            "only-here": "",
            "sub/only-here": "",
            "build/out.py": "",
            "build/.gitignore": "!*\n",
            "sub/.gitignore": "!keep.log\n*.py\n/local\n",
            "sub/local": "",
            "sub/deep/local": "",
            "sub/keep.log": "",
            "sub/other.log": "",
            "sub/b.py": "",
            "sub/deep/.ignore": "*.txt\n!b.py\n",
            "sub/deep/b.py": "",
            "sub/deep/c.txt": "",
            "sub/deep/.gitignore": "!c.txt\n",
        },
    )
    offered = {each.name for each in FileResolver([root]).entries()}
    assert {name for name in offered if "ignore" not in name} == {
        "a.py",
        "sub/only-here",
        "sub/keep.log",
        "sub/deep/b.py",
        "sub/deep/local",
    }


@pytest.mark.parametrize(
    "line",
    [
        "*a" * 40 + "b",
        "**/a/**/a/**/a/**/b",
    ],
)
def test_a_rule_that_cannot_be_matched_withholds_what_it_may_ignore(
    tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A rule with too many stars costs no time: its folder is withheld, with a warning."""
    root = planted(
        tmp_path,
        {
            "sub/.gitignore": f"{line}\n!*.py\n!{line}\n",
            "sub/deeper/file.py": "",
            "sub/file.py": "",
            "a/" * 100 + "a" * 250: "",
        },
    )
    assert {each.name for each in FileResolver([root]).entries()} == {
        "a/" * 100 + "a" * 250,
        "sub/file.py",
    }
    assert "an ignore rule cannot be judged" in caplog.text


def test_a_walk_ends_where_its_time_is_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A walk that exceeds its time offers what it found and warns that files are missing."""
    root = planted(tmp_path, {f"{number}.py": "" for number in range(10)})
    found = [
        *tree.walk_files(
            root, clock=iter(range(0, 10 * tree.MOST_SECONDS, tree.MOST_SECONDS // 4)).__next__
        )
    ]
    assert found == ["0.py", "1.py", "2.py", "3.py", "4.py"]
    assert "not all files" in caplog.text


@NEEDS_GIT
def test_links_special_files_and_version_control_are_passed_over(tmp_path: Path) -> None:
    """The scan offers nothing outside the root or twice, and a FIFO does not block it."""
    planted(tmp_path, {"secret/key.txt": ""})
    root = planted(
        tmp_path / "root",
        {
            "a.txt": "",
            ".git/config": "",
            ".hg/x": "",
            "sub/.git": "gitdir: elsewhere",
            "sub/b.txt": "",
        },
    )
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "key").symlink_to(tmp_path / "secret/key.txt")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / ".gitignore")
    assert [each.name for each in FileResolver([root, root]).entries()] == ["a.txt"]


def test_a_name_that_cannot_be_attached_is_not_offered(tmp_path: Path) -> None:
    """Whatever is offered can be resolved."""
    good, bad = (
        ["a b.txt", "[id].tsx", "日本.md"],
        ["a]b", "a\nb", "end.", "back\\slash", " blank", "[@x]"],
    )
    root = planted(tmp_path, dict.fromkeys([*good, *bad], "x"))
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).touch()
    resolver = FileResolver([root])
    offered = [each.name for each in resolver.entries()]
    assert sorted(offered) == sorted(good)
    assert {resolver.resolve(name).content for name in offered} == {"x"}


def test_a_folder_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """As is a root that is not there, and an ignore file that vanishes."""
    assert list(FileResolver([tmp_path / "nowhere"]).entries()) == []
    with tempfile.TemporaryDirectory() as folder:
        root = planted(Path(folder), {"a": "", "shut/b": "", ".gitignore": "a\n"})
        root.chmod(0o755)
        (root / "shut").chmod(0)
        (root / ".gitignore").chmod(0)
        as_root = os.geteuid() == 0
        if as_root:
            os.seteuid(65534)
        try:
            offered = [each.name for each in FileResolver([root]).entries()]
        finally:
            if as_root:
                os.seteuid(0)
            (root / "shut").chmod(0o755)
    assert offered == [".gitignore", "a"]


def test_namesakes_are_the_places_that_a_reference_may_have_moved_to(tmp_path: Path) -> None:
    """Namesakes share the pill's type and last part; the longest common suffix comes first."""
    sources = {
        "lib/core/agent.py": "",
        "agent.py": "",
        "other/AGENT.py": "",
        "src/agent.pyi": "",
        "src/sub/my_agent.py": "",
    }
    completer = Completer(
        [FileResolver([planted(tmp_path, sources)]), BufferResolver({"agent.py": ""})]
    )
    moved = Pill("src/core/agent.py")
    assert [each.name for each in completer.namesakes(moved)] == [
        "lib/core/agent.py",
        "agent.py",
        "other/AGENT.py",
    ]
    assert [len(completer.namesakes(moved, limit)) for limit in (-1, 0, 1, 9)] == [0, 0, 1, 3]
    assert completer.namesakes(Pill("agent.py", "buffer")) == (
        Candidate("agent.py", PillType.BUFFER),
    )
    assert (
        completer.namesakes(Pill("gone.py")) == completer.namesakes(Pill("agent", "symbol")) == ()
    )
