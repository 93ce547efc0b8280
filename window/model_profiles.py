"""Model profiles: the context window, longest reply, wire format and tokenizer of a model.

Every row of the table here names the page that its numbers come from; docs/models.md shows them
all. The larger table of `model_table` is searched next. A name in neither raises an error, because
a window that is assumed too large fails in the middle of a conversation. `register_model` adds or
replaces a profile.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, cached_property

from attrs import field, frozen

from polycontext.base import InvalidOptionError, UnknownNameError

from .model_table import Listed, find_listed, listed_models
from .providers.wire import Provider, as_provider
from .tokens.counter import CalibratedCounter, TokenCounter, calibrate, is_exact
from .tokens.media_rules import ImageRule, Patches, Tiles
from .tokens.vocabulary import SHA256, Vocabulary

_ROUTE = re.compile(r"^(?:.*[/:])?(?:[a-z-]+\.)?(?:anthropic\.|openai\.)?(?=claude|gpt|o\d)")
"""The prefixes of a model's name at other services: `anthropic/`, `anthropic:`, `us.anthropic.`."""

_DATED = re.compile(r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest))?(?:-v\d+(?::\d+)?)?$")
"""The suffixes of a model's name: a snapshot date, `-latest`, a service version (`-v1:0`)."""


def _whole(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOptionError(option, value, "a whole number of tokens, at least 1")


def _check_encoding(value: object) -> None:
    if value not in tuple(SHA256):
        raise UnknownNameError("encoding", str(value), tuple(SHA256))


def _check_factor(value: object) -> None:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 < value < float("inf")
    ):
        raise InvalidOptionError("factor", value, "a finite number above 0")


@frozen
class ModelProfile:
    """The properties that a session derives from a model's name.

    Args:
        name: The provider's name for the model; `find_model` accepts its dated snapshots too.
        provider: The provider whose message format the model uses.
        window: The most tokens of request and reply together.
        output: The most tokens of a reply, including reasoning.
        encoding: The published vocabulary used to count its texts.
        factor: Tokens of the model per token of that vocabulary; 1 if the vocabulary is the model's
            own or the factor is unknown.
        exact: Whether the encoding is the model's own, so that counts are exact.
        image: The price of an image; without a rule, the highest price of any provider is used.
        source: The page that the numbers come from.

    Raises:
        InvalidOptionError: An invalid name or number, or a factor other than 1 with `exact`.
        UnknownNameError: An unknown provider or encoding.

    >>> mine = ModelProfile("my-model", "openai", window=32_000, output=4_000, factor=1.1)
    >>> mine.reserve(), mine.counter().count("hello, how are you today?")
    (4000, 8)
    """

    name: str = field()
    provider: Provider = field(converter=as_provider)
    window: int = field(validator=lambda _, a, v: _whole(a.name, v))
    output: int = field(validator=lambda _, a, v: _whole(a.name, v))
    encoding: str = field(default="o200k_base", validator=lambda _, a, v: _check_encoding(v))
    factor: float = field(default=1.0, validator=lambda _, a, v: _check_factor(v))
    exact: bool = field(default=False, kw_only=True)
    image: ImageRule | None = field(default=None, kw_only=True)
    source: str = field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name in SHA256:
            raise InvalidOptionError("name", self.name, "the provider's name for the model")
        if self.exact and self.factor != 1:
            raise InvalidOptionError(
                "factor", self.factor, "1, where the encoding is the model's own (exact=True)"
            )

    def reserve(self, max_tokens: int | None = None) -> int:
        """Return the tokens to reserve for the longest reply, at most half of `max_tokens`.

        `max_tokens` is the budget of request and reserve together; it defaults to the whole window.
        A smaller budget that leaves room for the reply within the window needs no reserve.
        """
        budget = self.window if max_tokens is None else max_tokens
        return max(0, min(self.output + budget - self.window, budget // 2))

    def counter(self) -> "ModelCounter":
        """Return a counter that counts or estimates tokens for this model."""
        return ModelCounter(self)


@frozen
class ModelCounter:
    """A token counter for a model, with the model's price of images.

    It uses the model's own vocabulary, or a published one scaled by a factor.

    >>> find_model("gpt-5").counter().exact, find_model("claude-sonnet-4-5").counter().exact
    (True, False)
    """

    profile: ModelProfile

    @property
    def exact(self) -> bool:
        """Return whether counts come from the model's own tokenizer and are no estimates."""
        return is_exact(self._words)

    @property
    def image_rule(self) -> ImageRule | None:
        """Return the model's price of an image, or None if it is unknown."""
        return self.profile.image

    def count(self, text: str) -> int:
        """Return the exact or estimated tokens of `text`."""
        return self._words.count(text)

    def calibrate(self, provider_reported_tokens: float, counted: float) -> CalibratedCounter:
        """Return this counter calibrated with one request; see the function `calibrate`."""
        return calibrate(self, counted, provider_reported_tokens)

    @cached_property
    def _words(self) -> TokenCounter:
        words = Vocabulary(self.profile.encoding)
        return words if self.profile.exact else CalibratedCounter(words, self.profile.factor)


def find_model(name: "str | ModelProfile") -> ModelProfile:
    """Return the profile of a model; a profile is returned unchanged.

    Dated snapshots, `-latest`, and the names that other services use for a model are resolved to
    the model.

    Raises:
        UnknownNameError: No model of that name is known; the error suggests similar names.

    >>> find_model("claude-sonnet-4-5-20250929").window, find_model("openai/gpt-5").window
    (200000, 400000)
    >>> find_model("claude-sonet-4-5")
    Traceback (most recent call last):
    polycontext.base.errors.UnknownNameError: unknown model 'claude-sonet-4-5'. Did you mean \
'claude-sonnet-4-5' or 'claude-sonnet-5-5' or 'claude-sonnet-4-6'? Use a name out of \
known_models() in polycontext.window.model_profiles, a ModelProfile, any name beside max_tokens=.
    """
    if isinstance(name, ModelProfile):
        return name
    known = {**_TABLE, **_REGISTERED}
    plain = _plain(str(name))
    for tried in (str(name), plain, _DATED.sub("", plain)):
        if tried in known:
            return known[tried]
    listed = find_listed(str(name)) or find_listed(plain)
    if listed is not None:
        return _listed_profile(*listed)
    legal = (
        "a name out of known_models() in polycontext.window.model_profiles",
        "a ModelProfile",
        "any name beside max_tokens=",
    )
    near = get_close_matches(_DATED.sub("", plain.rpartition("/")[2]), known_models(), 3)
    raise UnknownNameError("model", str(name), legal, tuple(near))


def unlisted_counter(name: str) -> ModelCounter:
    """Return a counter for a model in no table, which overestimates rather than underestimates.

    >>> unlisted_counter("my-model").count("hello, how are you today?")
    9
    """
    return ModelCounter(UNLISTED["unlisted-claude" if "claude" in name.lower() else "unlisted"])


def register_model(profile: ModelProfile) -> ModelProfile:
    """Add a profile for `find_model`, in this process; it replaces one of the same name.

    >>> mine = register_model(ModelProfile("my-model", "openai", window=32_000, output=4_000))
    >>> mine == find_model("my-model")
    True
    """
    if not isinstance(profile, ModelProfile):
        raise InvalidOptionError("profile", profile, "a ModelProfile")
    _REGISTERED[profile.name] = profile
    return profile


def known_models() -> Mapping[str, ModelProfile]:
    """Return every known profile by name, from both tables and from `register_model`."""
    return {**_listed_profiles(), **_TABLE, **_REGISTERED}


def encoding_of(name: str) -> str:
    """Return the name of a model's own encoding.

    Raises:
        UnknownNameError: No encoding or model has this name.
        InvalidOptionError: The model's tokenizer is not published.

    >>> encoding_of("gpt-4o-2024-08-06")
    'o200k_base'
    """
    try:
        profile = find_model(name)
    except UnknownNameError as error:
        raise UnknownNameError(
            "encoding", name, (*SHA256, "the name of a model"), error.near
        ) from None
    if not profile.exact:
        legal = (
            f"{', '.join(SHA256)}, or a model that has one of them; for this one "
            f'find_model("{profile.name}").counter() estimates'
        )
        raise InvalidOptionError("encoding", name, legal)
    return profile.encoding


def _plain(name: str) -> str:
    """Return a model's name as its provider writes it: lower case, without a route prefix."""
    name = _ROUTE.sub("", name.strip().lower())
    return name.replace(".", "-") if name.startswith("claude") else name


# --- the table --------------------------------------------------------------------

_EARLY_CLAUDE, _LATE_CLAUDE = 1.25, 1.65
"""Tokens of Claude up to 4.6 and from 4.7 on per token of o200k_base.

Recorded usage gives 1.23 and 1.64 (docs/models.md).
"""

_SMALL_PICTURES, _LARGE_PICTURES = Patches(28, 1_568), Patches(28, 4_784)
_CLAUDE_PAGE = "platform.claude.com, models/{}/overview"
_OPENAI_PAGE = "developers.openai.com, api/docs/models/{}"
_LISTED = "github.com/anomalyco/models.dev, providers/{}/models/{}.toml"
_RESOLD = "vercel.com, ai-gateway/models/{}"


def _claude(name: str, window: int, output: int, *, late: bool, source: str = "") -> ModelProfile:
    factor, image = (_LATE_CLAUDE, _LARGE_PICTURES) if late else (_EARLY_CLAUDE, _SMALL_PICTURES)
    page = source or _CLAUDE_PAGE.format(name.removeprefix("claude-"))
    return ModelProfile(
        name, Provider.ANTHROPIC, window, output, factor=factor, image=image, source=page
    )


def _gpt(
    name: str,
    window: int,
    output: int,
    image: ImageRule | None = None,
    *,
    source: str = _LISTED.format("openai", "{}"),
    encoding: str = "o200k_base",
    exact: bool = True,
) -> ModelProfile:
    return ModelProfile(
        name,
        Provider.OPENAI,
        window,
        output,
        encoding,
        exact=exact,
        image=image,
        source=source.format(name),
    )


_ROWS = (
    _claude("claude-haiku-4-5", 200_000, 64_000, late=False),
    _claude("claude-sonnet-4-5", 200_000, 64_000, late=False),
    _claude("claude-opus-4-5", 200_000, 64_000, late=False),
    _claude(
        "claude-sonnet-4-6",
        1_000_000,
        64_000,
        late=False,
        source=_LISTED.format("anthropic", "claude-sonnet-4-6"),
    ),
    _claude("claude-opus-4-6", 1_000_000, 128_000, late=False),
    _claude(
        "claude-opus-4-7",
        1_000_000,
        128_000,
        late=True,
        source=_LISTED.format("anthropic", "claude-opus-4-7"),
    ),
    _claude("claude-opus-4-8", 1_000_000, 128_000, late=True),
    _claude("claude-sonnet-5", 1_000_000, 128_000, late=True),
    _claude("claude-opus-5", 1_000_000, 128_000, late=True),
    _claude("claude-haiku-5-5", 1_000_000, 128_000, late=True),
    _claude("claude-sonnet-5-5", 1_000_000, 128_000, late=True),
    _claude("claude-opus-5-5", 1_000_000, 128_000, late=True, source=_CLAUDE_PAGE.format("opus-5")),
    _claude(
        "claude-fable-5-1", 1_000_000, 128_000, late=True, source=_CLAUDE_PAGE.format("opus-5")
    ),
    _gpt("gpt-3.5-turbo", 16_385, 4_096, encoding="cl100k_base"),
    _gpt("gpt-4", 8_192, 8_192, source=_OPENAI_PAGE, encoding="cl100k_base"),
    _gpt(
        "gpt-4-turbo",
        128_000,
        4_096,
        Tiles(85, 170),
        encoding="cl100k_base",
    ),
    _gpt("gpt-4o", 128_000, 16_384, Tiles(85, 170)),
    _gpt(
        "gpt-4o-mini",
        128_000,
        16_384,
        Tiles(2_833, 5_667),
        source="learn.microsoft.com, ai-foundry, fine-tune-models",
    ),
    _gpt("gpt-4.1", 1_047_576, 32_768, Tiles(85, 170), source=_RESOLD.format("gpt-4.1-fast")),
    _gpt(
        "gpt-4.1-mini",
        1_047_576,
        32_768,
        Patches(32, 1_536, 1.62),
        source=_RESOLD.format("gpt-4.1-mini-fast"),
    ),
    _gpt("o1", 200_000, 100_000, Tiles(75, 150)),
    _gpt("o3", 200_000, 100_000, Tiles(75, 150)),
    _gpt("o3-mini", 200_000, 100_000),
    _gpt("o4-mini", 200_000, 100_000, Patches(32, 1_536, 1.72)),
    _gpt("gpt-5", 400_000, 128_000, Tiles(70, 140), source=_RESOLD.format("gpt-5-fast")),
    _gpt("gpt-5-mini", 400_000, 128_000, Patches(32, 1_536, 1.62)),
    _gpt("gpt-5-nano", 400_000, 128_000, Patches(32, 1_536, 2.46)),
    _gpt("gpt-5.4", 1_050_000, 128_000, Patches(32, 10_000)),
    _gpt("gpt-5.5", 1_050_000, 128_000, Patches(32, 10_000), source=_OPENAI_PAGE.format("compare")),
    _gpt("gpt-6-sol", 1_050_000, 128_000, source=_OPENAI_PAGE, exact=False),
    _gpt("gpt-6.2-sol", 1_050_000, 128_000, source=_OPENAI_PAGE, exact=False),
)
"""Data as of November 2026, with the encodings of tiktoken's own table (tiktoken/model.py)."""

_TABLE: Mapping[str, ModelProfile] = {profile.name: profile for profile in _ROWS}
_REGISTERED: dict[str, ModelProfile] = {}

# --- models of the larger table, and of none --------------------------------------

_MARGIN = 1.25
"""Tokens per o200k_base token for unpublished tokenizers; only newest Claude models have more."""

_EARLY = re.compile(r"claude-(?:2|(?:[a-z]+-)?(?:3|4(?!-[78])))(?:-|$)")
_PUBLISHED = (
    ("gpt-3.5", "cl100k_base"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-5", "o200k_base"),
)
"""Name prefixes of models in tiktoken's table, with their encodings; the first match wins."""

UNLISTED: Mapping[str, ModelProfile] = {
    "unlisted": ModelProfile("unlisted", Provider.OPENAI, 1, 1, factor=_MARGIN),
    "unlisted-claude": ModelProfile(
        "unlisted-claude", Provider.ANTHROPIC, 1, 1, factor=_LATE_CLAUDE
    ),
}
"""Profiles that count for models in no table; saved sessions refer to them by name."""


def _listed_profile(name: str, row: Listed) -> ModelProfile:
    is_claude = name.rpartition("/")[2].startswith("claude")
    encoding = next((encoding for start, encoding in _PUBLISHED if name.startswith(start)), None)
    factor = 1.0 if encoding else _MARGIN if not is_claude or _EARLY.match(name) else _LATE_CLAUDE
    provider = Provider.ANTHROPIC if is_claude else Provider.OPENAI
    return ModelProfile(
        name,
        provider,
        row.window,
        row.reply,
        encoding or "o200k_base",
        factor,
        exact=encoding is not None,
        source="genai-prices",
    )


@cache
def _listed_profiles() -> Mapping[str, ModelProfile]:
    return {name: _listed_profile(name, row) for name, row in listed_models().items()}
