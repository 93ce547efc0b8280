"""Files as context: current content, stated limits, encodings and every error."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pills import FileResolver
from polycontext.pills.errors import CannotAttachError
from polycontext.pills.pill import PillType
from polycontext.pills.resolver import clipped
from tests.pills.trees import planted

TEXTS = st.text(st.sampled_from("ab \n"), max_size=40)


def test_a_file_is_resolved_as_it_is_now(tmp_path: Path) -> None:
    """A file is read anew at each request, and a short file has no notice."""
    resolver = FileResolver(roots=[planted(tmp_path, {"src/agent.py": "one\n"})])
    resolved = resolver.resolve("src/agent.py")
    assert (resolved.name, resolved.type, resolved.path, resolved.content) == (
        "src/agent.py",
        PillType.FILE,
        "src/agent.py",
        "one\n",
    )
    assert (
        resolved.truncated,
        resolved.total_characters,
        resolved.start_line,
        resolved.end_line,
    ) == (False, 4, None, None)
    planted(tmp_path, {"src/agent.py": "two\n"})
    assert (
        resolver.resolve("src/agent.py").content
        == resolver.resolve("src/agent.py").attached_text
        == "two\n"
    )


def test_a_long_file_is_cut_at_a_line_end_and_says_so(tmp_path: Path) -> None:
    """A file over 50,000 characters is cut at a line end, with a notice of the limit and size."""
    text = "".join(f"line {number:05}\n" for number in range(10_000))
    resolved = FileResolver(roots=[planted(tmp_path, {"a.txt": text})]).resolve("a.txt")
    assert text.startswith(resolved.content)
    assert resolved.content.endswith("\n")
    assert 50_000 - len("line 00000\n") < len(resolved.content) <= 50_000
    assert resolved.notice == (
        "[truncated at the limit of 50,000 characters: "
        "49,995 of 110,000 characters, lines 1-4545 of 10000]"
    )
    assert (
        resolved.truncated,
        resolved.total_characters,
        resolved.start_line,
        resolved.end_line,
    ) == (True, 110_000, 1, 4545)
    assert resolved.attached_text == resolved.content + resolved.notice


@given(TEXTS, st.integers(1, 40), st.none() | st.integers(1, 9))
def test_what_is_cut_is_a_prefix_within_the_limit(
    text: str, limit: int, first_line: int | None
) -> None:
    """Content over the limit is cut to a prefix that ends at a line end or is a single line."""
    resolved = clipped("a", PillType.FILE, text, limit, first_line=first_line)
    assert text.startswith(resolved.content)
    assert len(resolved.content) <= limit
    assert resolved.truncated == (len(text) > limit) == (resolved.content != text)
    assert resolved.total_characters == len(text)
    if resolved.truncated:
        assert resolved.content.endswith("\n") or "\n" not in resolved.content
        assert f"limit of {limit} characters" in str(resolved.notice)
    if resolved.start_line is not None and resolved.content and resolved.end_line is not None:
        assert resolved.end_line - resolved.start_line + 1 == len(resolved.content.splitlines())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_an_encoding_with_a_mark_is_detected(tmp_path: Path, encoding: str) -> None:
    """UTF-8 needs none; the mark itself is not part of the text, and line ends stay as they are."""
    resolver = FileResolver([planted(tmp_path, {"a.txt": "grüße, 世界 🐍\r\n".encode(encoding)})])
    assert resolver.resolve("a.txt").content == "grüße, 世界 🐍\r\n"


def test_an_unknown_encoding_is_refused_not_guessed(tmp_path: Path) -> None:
    """Unless the caller names it; a mark that lies is refused as well."""
    root = planted(tmp_path, {"a.txt": "grüße".encode("latin-1"), "b.txt": b"\xff\xfea"})
    for name in ("a.txt", "b.txt"):
        with pytest.raises(CannotAttachError, match="Cannot attach context: unknown encoding"):
            FileResolver([root]).resolve(name)
    assert FileResolver([root], encoding="latin-1").resolve("a.txt").content == "grüße"


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"text\0text",
        "a\0b".encode("utf-16"),
        "no mark".encode("utf-16-le"),
    ],
)
def test_binary_is_refused(tmp_path: Path, data: bytes) -> None:
    """Content with a NUL is refused as binary, whatever encoding is allowed."""
    for encoding in (None, "latin-1"):
        with pytest.raises(CannotAttachError, match="Cannot attach context: binary file"):
            FileResolver([planted(tmp_path, {"a": data})], encoding=encoding).resolve("a")


def test_a_giant_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the cap is refused without being read; the cap itself is allowed."""
    giant = tmp_path / "giant"
    with giant.open("wb") as file:
        file.truncate(1 << 40)
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", lambda *_: pytest.fail("it was read"))
        with pytest.raises(CannotAttachError, match="Cannot attach context: file too large"):
            FileResolver([tmp_path], everything=True).resolve("giant")
    planted(tmp_path, {"a": "x" * 11, "b": "x" * 10})
    with pytest.raises(CannotAttachError, match="file too large"):
        FileResolver([tmp_path], most_bytes=10).resolve("a")
    assert FileResolver([tmp_path], most_bytes=10).resolve("b").total_characters == 10


def test_a_file_that_grows_past_the_cap_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading stops at the cap even if the file grows meanwhile."""
    planted(tmp_path, {"a": "x" * 10})
    plain_read = os.read

    def growing(descriptor: int, count: int) -> bytes:
        with (tmp_path / "a").open("ab") as file:
            file.write(b"x" * 10)
        return plain_read(descriptor, count)

    def growing_once(descriptor: int, count: int) -> bytes:
        monkeypatch.setattr(os, "read", plain_read)
        return growing(descriptor, count)

    monkeypatch.setattr(os, "read", growing)
    with pytest.raises(CannotAttachError, match="file too large"):
        FileResolver([tmp_path], most_bytes=15, everything=True).resolve("a")
    monkeypatch.setattr(os, "read", growing_once)
    with pytest.raises(
        CannotAttachError, match="Cannot attach context: file changed while it was read"
    ):
        FileResolver([tmp_path], everything=True).resolve("a")


def test_a_file_that_is_not_there_gives_the_seed_s_message(tmp_path: Path) -> None:
    """A missing file, folder or root gives the same "file not found" error."""
    planted(tmp_path, {"a": "x"})
    resolver = FileResolver([tmp_path, tmp_path / "nowhere"])
    resolver.resolve("a")
    (tmp_path / "a").unlink()
    planted(tmp_path, {"b": "x"})
    for name in ("a", "b/c", "c/d", "x" * 300):
        with pytest.raises(CannotAttachError, match="file not found") as caught:
            resolver.resolve(name)
        assert str(caught.value) == "Cannot attach context: file not found"
        assert isinstance(caught.value, LookupError)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_file_that_may_not_be_read_says_so(open_folder: Path) -> None:
    """An unreadable file raises the system's reason, and the next root is not tried."""
    path = planted(open_folder, {"1/a": "x", "2/a": "y"}) / "1/a"
    path.chmod(0)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(65534)
    try:
        with pytest.raises(CannotAttachError) as caught:
            FileResolver([open_folder / "1", open_folder / "2"]).resolve("a")
    finally:
        if as_root:
            os.seteuid(0)
    assert "file cannot be read" in str(caught.value)
    assert str(caught.value) == "Cannot attach context: file cannot be read"
    assert caught.value.problem == "permission denied"


def test_links_in_a_circle_cannot_be_read(tmp_path: Path) -> None:
    """They lead nowhere, which is not the same as out."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("./a")
    with pytest.raises(CannotAttachError, match="file cannot be read") as caught:
        FileResolver([tmp_path]).resolve("a")
    assert caught.value.problem == "too many levels of symbolic links"
