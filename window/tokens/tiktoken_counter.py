"""The default counter: a published vocabulary, chosen by its name or that of a model."""

from functools import cache

from attrs import field, frozen

from polycontext.base import UnknownNameError

from .counter import CalibratedCounter, calibrate
from .tokenizer import SHA256, Vocabulary


def _encoding(name: str) -> str:
    """Return the encoding called `name`, or the encoding of the model of that name."""
    given: object = name
    if not isinstance(given, str):
        raise UnknownNameError("encoding", str(given), tuple(SHA256))
    if given in SHA256:
        return given
    from ..model_profiles import encoding_of  # noqa: PLC0415 - only needed for model names

    return encoding_of(given)


@frozen
class TiktokenCounter(Vocabulary):
    """A token counter with the vocabulary of an encoding or of the model that `encoding` names.

    The encodings are `o200k_base` (gpt-4o and later) and `cl100k_base` (gpt-4). Counters are cheap
    to create and to pickle: the vocabulary is loaded when the first text is counted (about 0.3
    seconds, once in a process) and shared by all counters. If it is not available, a warning is
    issued, counts are estimates, and `exact` is False; `allow_download` permits fetching it over
    the network instead.

    Raises:
        UnknownNameError: `encoding` is neither an encoding nor a model.
        InvalidOptionError: The tokenizer of the model, such as Claude, is not published.

    >>> counter = TiktokenCounter("o200k_base")
    >>> counter.count("hello, how are you today?"), TiktokenCounter("gpt-5").encoding
    (7, 'o200k_base')
    >>> TiktokenCounter("esperanto")
    Traceback (most recent call last):
    polycontext.errors.UnknownNameError: unknown encoding 'esperanto'. Use o200k_base, \
cl100k_base, the name of a model.
    """

    encoding: str = field(default="o200k_base", converter=_encoding)

    def calibrate(self, provider_reported_tokens: float, counted: float) -> CalibratedCounter:
        """Return this counter calibrated with the tokens reported and counted for one request.

        Raises:
            InvalidOptionError: A number is not finite or not above 0.
        """
        return calibrate(self, counted, provider_reported_tokens)


@cache
def default_counter() -> TiktokenCounter:
    """Return the default counter, an `o200k_base` counter shared by the whole process."""
    return TiktokenCounter("o200k_base")
