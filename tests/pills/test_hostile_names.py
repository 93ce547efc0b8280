"""No name reaches what is outside of the roots."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from polycontext.pills import (
    FileResolver,
    SymbolResolver,
    file_resolver,
)
from polycontext.pills.errors import CannotAttachError, PillError
from tests.pills.hostile_names import SECRET, hostile_names
from tests.pills.trees import SECRET_TEXT, besieged


@pytest.fixture(params=["by steps", "by path"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a besieged root, for either way to open; whoever opens the secret fails the test."""
    monkeypatch.setattr(file_resolver, "BY_STEPS", request.param == "by steps")
    root = besieged(tmp_path)
    secrets = {path.stat().st_ino for path in tmp_path.rglob(SECRET)}
    plain_open = os.open

    def watched(path: Any, *arguments: Any, **options: Any) -> int:
        descriptor = plain_open(path, *arguments, **options)
        assert os.fstat(descriptor).st_ino not in secrets, path
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    return root


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_every_hostile_name_is_refused(root: Path) -> None:
    """At least 200 hostile names are each refused by a typed error, and no descriptor leaks."""
    names = hostile_names(root.parent)
    assert len(names) >= 200
    assert len(set(names)) == len(names)
    descriptors = _open_descriptors()
    resolver = FileResolver(roots=[root])
    for name in names:
        with pytest.raises(PillError):
            pytest.fail(f"{name!r} gave {resolver.resolve(name)}")
    assert _open_descriptors() == descriptors


def test_the_corpus_has_teeth(tmp_path: Path) -> None:
    """A naive resolver that only joins paths would expose the secret for at least 25 names."""
    root = besieged(tmp_path)
    found = 0
    for name in hostile_names(tmp_path):
        with suppress(OSError, ValueError):
            path = root / name
            found += path.is_file() and SECRET_TEXT in path.read_text(
                encoding="utf-8", errors="replace"
            )
    assert found >= 25


def test_no_symbol_leads_out_either(root: Path) -> None:
    """A dotted name is a path too: hostile ones are refused."""
    (root.parent / "secret.py").write_text("key = 1\n", encoding="utf-8")
    (root / "link_out.py").symlink_to("../secret.py")
    resolver = SymbolResolver(roots=[root])
    for name in [
        *hostile_names(root.parent),
        "link_out.key",
        "secret.key",
        "key",
        "../secret.key",
        "..secret.key",
    ]:
        with pytest.raises(PillError):
            pytest.fail(f"{name!r} gave {resolver.resolve(name)}")


@pytest.mark.parametrize(
    "name", ["link-out", "link-absolute", "link-chain", "src/link-up/secret.txt", "link-dangling"]
)
def test_a_link_that_leads_out_says_so(root: Path, name: str) -> None:
    """Whether there is something outside or not."""
    with pytest.raises(CannotAttachError, match="outside of the roots"):
        FileResolver(roots=[root]).resolve(name)


def test_a_link_inside_of_the_root_is_followed(root: Path) -> None:
    """A link to a file inside the root is attached under its target's path."""
    resolver = FileResolver(roots=[root])
    for name in ("link-in", "link-src/agent.py", "src/link-root/link-in", "./src//agent.py"):
        resolved = resolver.resolve(name)
        assert (resolved.path, resolved.content) == ("src/agent.py", "def run():\n    return 1\n")


def test_a_link_put_in_while_looking_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or folder replaced by an outward link between check and opening is not followed."""
    root = besieged(tmp_path)
    (tmp_path / "agent.py").write_text(SECRET_TEXT, encoding="utf-8")
    plain_stat = os.stat

    def replaced(step: str, **options: Any) -> os.stat_result:
        found = plain_stat(step, **options)
        if step == victim:
            (root / place).rename(root / "moved")
            (root / place).symlink_to(
                tmp_path / Path(victim).name if victim.endswith(".py") else tmp_path
            )
        return found

    monkeypatch.setattr(os, "stat", replaced)
    for victim, place in (("agent.py", "src/agent.py"), ("src", "src")):  # noqa: B007 - read above
        with pytest.raises(PillError):
            FileResolver(roots=[root]).resolve("src/agent.py")
        (root / place).unlink()
        (root / "moved").rename(root / place)


def test_a_file_that_turns_into_a_fifo_while_looking_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file replaced by a FIFO between check and opening is refused without blocking."""
    root = besieged(tmp_path)
    plain_stat = os.stat

    def replaced(step: str, **options: Any) -> os.stat_result:
        found = plain_stat(step, **options)
        if step == "agent.py":
            (root / "src/agent.py").unlink()
            os.mkfifo(root / "src/agent.py")
        return found

    monkeypatch.setattr(os, "stat", replaced)
    descriptors = _open_descriptors()
    with pytest.raises(PillError, match="not a regular file"):
        FileResolver(roots=[root]).resolve("src/agent.py")
    assert _open_descriptors() == descriptors
