"""Inside a git repository, git says which files may be offered and read."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from polycontext.pills import FileResolver, tree
from polycontext.pills.errors import CannotAttachError
from tests.house import NEEDS_GIT
from tests.pills.trees import planted

pytestmark = NEEDS_GIT


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, with the settings of nobody."""
    subprocess.run(
        [
            str(shutil.which("git")),
            "-C",
            str(folder),
            "-c",
            "protocol.file.allow=always",
            *arguments,
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    )


@pytest.fixture(name="root")
def repository(tmp_path: Path) -> Path:
    """Return a repository with nothing in it."""
    git(tmp_path, "init", "-q", "repository")
    return tmp_path / "repository"


def offered(root: Path) -> set[str]:
    """Return the files that are offered; exactly these can be read."""
    resolver = FileResolver([root])
    names = {each.name for each in resolver.entries()}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not path.is_symlink() and name.isprintable():
            try:
                resolver.resolve(name)
            except CannotAttachError:
                assert name not in names
            else:
                assert name in names
    return names


def test_what_git_ignores_is_withheld(root: Path) -> None:
    """All rules of git count, and a file that is tracked is not ignored."""
    planted(
        root,
        {
            ".gitignore": "*.log\nbuild/\n*a*b*c*d*e*\n",
            ".git/info/exclude": "mine.txt\n",
            "a.py": "",
            "sub/.gitignore": "!b.log\n",
            "sub/b.log": "",
            "sub/c.log": "",
            "build/out.py": "",
            "mine.txt": "",
            "abcde": "",
            "tracked.log": "",
        },
    )
    git(root, "add", "--force", "tracked.log")
    (root / "deleted.txt").touch()
    git(root, "add", "deleted.txt")
    (root / "deleted.txt").unlink()
    assert offered(root) == {".gitignore", "a.py", "sub/.gitignore", "sub/b.log", "tracked.log"}
    assert {each.name for each in FileResolver([root / "sub"]).entries()} == {".gitignore", "b.log"}


def test_other_ignore_files_exclude_more(root: Path) -> None:
    """A `.ignore` file excludes files that git does not ignore, and opens none that it does."""
    planted(root, {".gitignore": "a.txt\n", ".ignore": "!a.txt\nb.txt\n", "a.txt": "", "b.txt": ""})
    assert offered(root) == {".gitignore", ".ignore"}


def test_repositories_in_a_repository_have_their_own_rules(root: Path) -> None:
    """They are asked in turn; one that the outer repository ignores is withheld."""
    for name in ("inner", "inner/deep", "ignored"):
        git(root, "init", "-q", name)
    planted(
        root,
        {
            ".gitignore": "ignored/\n",
            "inner/.gitignore": "*.txt\n",
            "inner/a.txt": "",
            "inner/a.py": "",
            "inner/deep/b.txt": "",
            "ignored/a.py": "",
        },
    )
    assert offered(root) == {".gitignore", "inner/.gitignore", "inner/a.py", "inner/deep/b.txt"}


def test_no_name_breaks_the_list(root: Path) -> None:
    """Quotes, blanks, options, patterns and bytes in names are only names."""
    names = ["a b", '"c"', "-d", "[e].py", "日本.md", ":(top)f"]
    planted(
        root, {".gitignore": "ignored*\n", "ignored\n-d": "", "a\nb": ""} | dict.fromkeys(names, "")
    )
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).touch()
    assert offered(root) == {*names, ".gitignore"}


def test_a_link_in_place_of_a_folder_is_not_followed(root: Path, tmp_path: Path) -> None:
    """The index may list files below it, which are elsewhere now."""
    planted(root, {"sub/a.txt": "", "b.txt": ""})
    git(root, "add", ".")
    shutil.rmtree(root / "sub")
    planted(tmp_path / "outside", {"a.txt": "secret"})
    (root / "sub").symlink_to(tmp_path / "outside")
    assert offered(root) == {"b.txt"}


def test_nothing_that_a_repository_configures_is_run(root: Path, tmp_path: Path) -> None:
    """A repository may come from anybody: its monitor and its hooks are not called."""
    planted(root, {"a.txt": "", ".gitignore": "b.txt\n", "b.txt": ""})
    git(root, "add", ".")
    planted(tmp_path, {"run": f"#!/bin/sh\ntouch {tmp_path}/was-run\n"})
    (tmp_path / "run").chmod(0o755)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        planted(root, {f".git/hooks/{hook}": ""})
        shutil.copy(tmp_path / "run", root / ".git/hooks" / hook)
    git(root, "config", "core.fsmonitor", str(tmp_path / "run"))
    assert offered(root) == {"a.txt", ".gitignore"}
    assert not (tmp_path / "was-run").exists()


def test_a_repository_that_git_cannot_read_is_withheld(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules that cannot be judged open nothing, and a warning repeats what git says."""
    planted(root, {"a.txt": "", ".git/config": "[core\n"})
    assert offered(root) == set()
    assert "git has not listed all files" in caplog.text
    assert "bad config" in caplog.text
    assert "git could not list it" in (tree.kept_back(root, "a.txt") or "")


def test_a_list_that_takes_too_long_is_cut(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What git has not listed in time is withheld."""
    planted(
        root, {"a.txt": "", "git": "#!/bin/sh\nprintf 'a.txt\\0b'; exec sleep 60\n", "b.txt": ""}
    )
    (root / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(root), prepend=os.pathsep)
    monkeypatch.setattr(tree, "MOST_SECONDS", 0.5)
    assert {each.name for each in FileResolver([root]).entries()} == {"a.txt"}
    assert "it took too long" in caplog.text


def test_variables_that_lead_git_elsewhere_are_ignored(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a hook of another repository; the settings of the user count."""
    git(tmp_path, "init", "-q", "other")
    planted(tmp_path, {"config": f"[core]\nexcludesFile = {tmp_path}/mine\n", "mine": "c.txt\n"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    planted(root, {".gitignore": "b.txt\n", "a.txt": "", "b.txt": "", "c.txt": ""})
    assert offered(root) == {".gitignore", "a.txt"}


def test_without_git_nothing_of_a_repository_is_offered(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules above the root and in `.git/info/exclude` cannot be judged; the log says why."""
    planted(root, {".gitignore": "b.txt\n", "a.txt": "", "b.txt": "", "sub/c.txt": ""})
    monkeypatch.setenv("PATH", "")
    assert offered(root) == offered(root / "sub") == set()
    assert "git is not installed" in caplog.text
    with pytest.raises(CannotAttachError, match="ignored by version control"):
        FileResolver([root]).resolve("a.txt")
    assert FileResolver([root], everything=True).resolve("a.txt").content == ""
