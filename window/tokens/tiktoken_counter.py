"""The counter that is used unless another is given: a published vocabulary, by its name or that of a model that has it."""

from functools import cache

from attrs import field, frozen

from polycontext.linearity import UnknownNameError

from .counter import CalibratedCounter, calibrate
from .vocabulary import SHA256, Vocabulary


def _encoding(name: str) -> str:
    """Return the name of an encoding, or the encoding of a model whose name it is."""
    given: object = name
    if not isinstance(given, str):
        raise UnknownNameError("encoding", str(given), tuple(SHA256))
    if given in SHA256:
        return given
    from ..model_profiles import encoding_of  # noqa: PLC0415 - the table of models is for those who name one

    return encoding_of(given)


@frozen
class TiktokenCounter(Vocabulary):
    """Count tokens with the vocabulary of gpt-4o and later (`o200k_base`) or gpt-4 (`cl100k_base`), by its name or that of a model that has it.

    Cheap to make and to pickle: the vocabulary is loaded when the first text is
    counted (about 0.3 seconds, once in a process) and shared by all counters.
    Where it cannot be had, a warning says so, counts are estimates, and `exact`
    is False; `allow_download` lets it be fetched over the network instead.

    Raises:
        UnknownNameError: a name of neither an encoding nor a model, when it is made.
        InvalidOptionError: a model whose tokenizer is not published, as Claude's.

    >>> TiktokenCounter("o200k_base").count("hello, how are you today?"), TiktokenCounter("gpt-5").encoding
    (7, 'o200k_base')
    >>> TiktokenCounter("esperanto")
    Traceback (most recent call last):
    polycontext.linearity.errors.UnknownNameError: unknown encoding 'esperanto'. Use o200k_base,
    cl100k_base, the name of a model.
    """

    encoding: str = field(default="o200k_base", converter=_encoding)

    def calibrate(self, provider_reported_tokens: float, counted: float) -> CalibratedCounter:
        """Return this counter corrected by one request: what the provider reported, and what this counter had counted.

        Raises:
            InvalidOptionError: a number that is not finite and above 0.
        """
        return calibrate(self, counted, provider_reported_tokens)


@cache
def default_counter() -> TiktokenCounter:
    """Return the counter that is used where none is given: `o200k_base`, one for the whole process."""
    return TiktokenCounter("o200k_base")
