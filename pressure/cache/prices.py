"""What tokens cost: by the million, read from a cache, written into one, and said by the model.

The table holds the list prices that were read in November 2026, each with its page. Vendors change them: who needs today's
gives their own `Prices`. A model that is not in the table has no price here, rather than a guessed one.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from attrs import Factory, field, frozen

from polycontext.linearity import InvalidOptionError, UnknownNameError
from polycontext.pressure.cache.prefix_cache import HOUR

READ_ON = "2026-11-23"
_MILLION = 1_000_000


def _check(_: object, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InvalidOptionError(attribute.name, value, "a price for a million tokens, 0 or more")


@frozen
class Prices:
    """Hold what a million tokens cost, in one currency.

    Args:
        input, output: of the request, of the answer.
        read: found in the cache; `input` unless said.
        write, write_long: put into the cache, for less than an hour or for longer; `input` unless said, `write` unless said.
        above: tokens of a request above which all of it is dearer, by `dearer_input` and `dearer_output`.
        source: where they were read.

    Raises:
        InvalidOptionError: a price that cannot be.

    >>> Prices(3, 15, read=0.3, write=3.75).money(plain=1_000_000, read=1_000_000, written={300.0: 1_000_000}, output=0)
    7.05
    """

    input: float = field(validator=_check)
    output: float = field(default=0.0, validator=_check)
    read: float = field(default=Factory(lambda own: own.input, takes_self=True), kw_only=True, validator=_check)
    write: float = field(default=Factory(lambda own: own.input, takes_self=True), kw_only=True, validator=_check)
    write_long: float = field(default=Factory(lambda own: own.write, takes_self=True), kw_only=True, validator=_check)
    above: int | None = field(default=None, kw_only=True)
    dearer_input: float = field(default=1.0, kw_only=True)
    dearer_output: float = field(default=1.0, kw_only=True)
    source: str = field(default="", kw_only=True)

    def money(self, *, plain: int, read: int, written: Mapping[float, int], output: int) -> float:
        """Return what one request cost: tokens at the input price, read, written by the seconds that they are kept, and answered."""
        is_long = self.above is not None and plain + read + sum(written.values()) > self.above
        asked = plain * self.input + read * self.read
        asked += sum(tokens * (self.write_long if seconds >= HOUR else self.write) for seconds, tokens in written.items())
        said = output * self.output
        return (asked * (self.dearer_input if is_long else 1.0) + said * (self.dearer_output if is_long else 1.0)) / _MILLION

    def units(self, *, plain: int, read: int, written: Mapping[float, int]) -> float:
        """Return what the input of one request cost, in tokens at the input price."""
        if not self.input:
            return 0.0
        kept = sum(tokens * (self.write_long if seconds >= HOUR else self.write) for seconds, tokens in written.items())
        return plain + (read * self.read + kept) / self.input


MARKED = Prices(1.0, read=0.1, write=1.25, write_long=2.0)
"""The usual ratios of Anthropic's prices, for whoever counts in units of the input price."""

BY_ITSELF = Prices(1.0, read=0.1)
"""The usual ratios of OpenAI's."""


def prices_of(model: str) -> Prices:
    """Return the list prices of a model, in US dollars.

    Raises:
        UnknownNameError: the table does not have it.

    >>> prices_of("claude-sonnet-4-5").read
    0.3
    """
    if model not in TABLE:
        near = tuple(get_close_matches(model, TABLE, 2))
        raise UnknownNameError("model with a price", model, ("Prices of your own", "a model of polycontext.pressure.cache.prices"), near)
    return TABLE[model]


# --- the table --------------------------------------------------------------------

_CLAUDE = "platform.claude.com, about-claude/pricing"
_LISTED = "github.com/anomalyco/models.dev, providers/openai/models/{}.toml"
_PAGE = "developers.openai.com, api/docs/models/{}"
_RESOLD = "docs.apiyi.com, models"
_CRATE = "docs.rs, openai-models"
_LONG = 272_000


def _claude(price: float, output: float, read: float, *, above: int | None = None, dearer: float = 1.0) -> Prices:
    return Prices(
        price,
        output,
        read=read,
        write=1.25 * price,
        write_long=2 * price,
        above=above,
        dearer_input=dearer,
        dearer_output=dearer,
        source=_CLAUDE,
    )


def _gpt(name: str, price: float, output: float, read: float, source: str = _LISTED, *, write: float = 1.0, long: bool = False) -> Prices:
    return Prices(
        price,
        output,
        read=read,
        write=write * price,
        above=_LONG if long else None,
        dearer_input=2.0 if long else 1.0,
        dearer_output=1.5 if long else 1.0,
        source=source.format(name),
    )


TABLE: Mapping[str, Prices] = {
    "claude-haiku-4-5": _claude(1, 5, 0.1),
    "claude-sonnet-4-5": _claude(3, 15, 0.3),
    "claude-sonnet-4-6": _claude(3, 15, 0.3),
    "claude-opus-4-5": _claude(5, 25, 0.5),
    "claude-opus-4-6": _claude(5, 25, 0.5),
    "claude-opus-4-7": _claude(5, 25, 0.5),
    "claude-opus-4-8": _claude(5, 25, 0.5),
    "claude-sonnet-5": _claude(2, 10, 0.2),
    "claude-opus-5": _claude(5, 25, 0.5),
    "claude-haiku-5-5": _claude(0.1, 0.5, 0.01, above=100_000, dearer=5.0),
    "claude-sonnet-5-5": _claude(2, 10, 0.1),
    "claude-opus-5-5": _claude(4, 20, 0.2),
    "claude-fable-5-1": _claude(10, 50, 0.25),
    "gpt-4o": _gpt("gpt-4o", 2.5, 10, 1.25, _CRATE),
    "o1": _gpt("o1", 15, 60, 7.5),
    "o3": _gpt("o3", 2, 8, 0.5),
    "o3-mini": _gpt("o3-mini", 1.1, 4.4, 0.55),
    "o4-mini": _gpt("o4-mini", 1.1, 4.4, 0.275),
    "gpt-5": _gpt("gpt-5", 1.25, 10, 0.125),
    "gpt-5-mini": _gpt("gpt-5-mini", 0.25, 2, 0.025),
    "gpt-5-nano": _gpt("gpt-5-nano", 0.05, 0.4, 0.005),
    "gpt-5.1": _gpt("gpt-5.1", 1.25, 10, 0.125),
    "gpt-5.2": _gpt("gpt-5.2", 1.75, 14, 0.175),
    "gpt-5.4": _gpt("gpt-5.4", 2.5, 15, 0.25),
    "gpt-5.5": _gpt("gpt-5.5", 5, 30, 0.5, long=True),
    "gpt-5.6-terra": _gpt("gpt-5.6-terra", 2, 12, 0.2, _RESOLD, write=1.25, long=True),
    "gpt-5.6-luna": _gpt("gpt-5.6-luna", 0.2, 1.2, 0.02, _RESOLD, write=1.25, long=True),
    "gpt-6-sol": _gpt("gpt-6-sol", 2, 10, 0.2, "github.com/merefield/codexometer, release 0.18.4", write=1.25, long=True),
    "gpt-6.2-sol": _gpt("gpt-6.2-sol", 2, 10, 0.1, _PAGE, write=1.25, long=True),
}
"""US dollars a million tokens. Of GPT-5.6 Sol the pages that were read disagree, of older models none was: they are not in here."""
