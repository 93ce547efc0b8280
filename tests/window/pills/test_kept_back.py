"""What is kept back unless it is asked for: version control's own, ignored files, secrets, names from elsewhere."""

import os
from pathlib import Path

import pytest

from polycontext.window.pills.errors import CannotAttachError, Reason
from polycontext.window.pills.file_resolver import FileResolver
from polycontext.window.pills.symbol_resolver import SymbolResolver

FILES = {
    ".git/config": "[remote]\n",
    ".gitignore": "build/\n*.log\n!kept.log\n",
    "build/out.py": "def made(): ...\n",
    "run.log": "started\n",
    "kept.log": "kept\n",
    "sub/.gitignore": "private.txt\n",
    "sub/private.txt": "mine\n",
    "sub/open.txt": "ours\n",
    ".env": "TOKEN=1\n",
    ".env.example": "TOKEN=\n",
    "keys/server.pem": "----\n",
    ".ssh/config": "Host x\n",
    "main.py": "def main(): ...\n",
}
OPEN = [".env.example", ".gitignore", "kept.log", "main.py", "sub/.gitignore", "sub/open.txt"]


@pytest.fixture(name="root")
def planted(tmp_path: Path) -> Path:
    """Return a folder with all of it."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_only_what_is_open_is_read(root: Path, name: str) -> None:
    """The rest says why, and is read by a resolver that was told to."""
    if name in OPEN:
        assert FileResolver([root]).resolve(name).content == FILES[name]
    else:
        with pytest.raises(CannotAttachError) as caught:
            FileResolver([root]).resolve(name)
        assert caught.value.reason is Reason.KEPT_BACK
    assert FileResolver([root], everything=True).resolve(name).content == FILES[name]


def test_only_what_is_open_is_offered(root: Path) -> None:
    """A completion shows no secret and nothing that is ignored; a symbol of an ignored file is not found."""
    assert sorted(each.name for each in FileResolver([root]).entries()) == OPEN
    assert [each.name for each in SymbolResolver([root]).entries()] == ["main.main"]
    with pytest.raises(CannotAttachError):
        SymbolResolver([root]).resolve("build.out.made")


def test_a_link_to_what_is_kept_back_is_kept_back(root: Path) -> None:
    """Another name does not open it."""
    (root / "notes.txt").symlink_to(".env")
    with pytest.raises(CannotAttachError) as caught:
        FileResolver([root]).resolve("notes.txt")
    assert caught.value.reason is Reason.KEPT_BACK


def test_a_file_with_other_names_is_kept_back(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A hard link may lead to what is outside; nobody can tell where the other name stands."""
    outside = tmp_path_factory.mktemp("outside") / "secret.txt"
    outside.write_text("secret\n", encoding="utf-8")
    os.link(outside, root / "linked.txt")
    with pytest.raises(CannotAttachError) as caught:
        FileResolver([root]).resolve("linked.txt")
    assert "2 names" in "".join(caught.value.__notes__)
    assert FileResolver([root], everything=True).resolve("linked.txt").content == "secret\n"
