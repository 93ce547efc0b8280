"""Model profiles: the context window, longest reply, wire format and tokenizer of a model.

Every row of model_profiles.json names the page that its numbers come from (read in November 2026,
with the encodings of tiktoken's own table); docs/models.md shows them all. The larger table
model_table.json is searched next and read on the first search; `just models` generates it from
genai-prices, which is not needed at run time. A name in neither raises an error, because a window
that is assumed too large fails in the middle of a conversation. `register_model` adds or replaces a
profile.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from attrs import field, frozen

from polycontext.base import (
    InvalidOptionError,
    UnknownNameError,
    guided,
    require,
    similar,
    whole_number,
    with_usage,
)

from .model_table import Listed, listed_models
from .model_table import find_listed as find_listed  # noqa: PLC0414 - for other rooms
from .providers.wire import Provider, as_provider
from .tokenizer_families import Family, FamilyCounter, families, family_of
from .tokens.counter import (
    CalibratedCounter,
    Frame,
    TokenCounter,
    calibrate,
    check_positive,
    frame_of,
    is_exact,
)
from .tokens.media_rules import Crops, ImageRule, Patches, Tiles
from .tokens.tokenizer import SHA256, Vocabulary

_ROUTE = re.compile(r"^(?:.*[/:])?(?:[a-z-]+\.)?(?:anthropic\.|openai\.)?(?=claude|gpt|o\d)")
"""The prefixes of a model's name at other services: `anthropic/`, `anthropic:`, `us.anthropic.`."""

_DATED = re.compile(r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest))?(?:-v\d+(?::\d+)?)?$")
"""The suffixes of a model's name: a snapshot date, `-latest`, a service version (`-v1:0`)."""


def _check_encoding(value: object) -> None:
    if value not in tuple(SHA256):
        raise UnknownNameError("encoding", str(value), tuple(SHA256))


def _check_family(value: object) -> None:
    if value and value not in families():
        raise UnknownNameError("tokenizer family", str(value), tuple(families()))


@guided
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
        family: The tokenizer family of `tokenizer_families.json` whose margins for digits and other
            characters are added.
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
    window: int = field(validator=lambda _, a, v: whole_number(a.name, v, 1))
    output: int = field(validator=lambda _, a, v: whole_number(a.name, v, 1))
    encoding: str = field(default="o200k_base", validator=lambda _, a, v: _check_encoding(v))
    factor: float = field(default=1.0, validator=lambda _, a, v: check_positive(a.name, v))
    family: str = field(default="", kw_only=True, validator=lambda _, a, v: _check_family(v))
    exact: bool = field(default=False, kw_only=True)
    image: ImageRule | None = field(default=None, kw_only=True)
    source: str = field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        require(
            "name",
            self.name,
            isinstance(self.name, str) and self.name and self.name not in SHA256,
            "the provider's name for the model",
        )
        require(
            "factor",
            self.factor,
            not self.exact or self.factor == 1,
            "1, where the encoding is the model's own (exact=True)",
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
    def frame(self) -> Frame:
        """Return what the model's chat template adds."""
        return frame_of(self._words)

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
        profile = self.profile
        words = Vocabulary(profile.encoding)
        if profile.exact:
            return words
        if profile.family:
            vocabulary = family_of(profile.name).vocabulary
            return FamilyCounter(Family(profile.family, vocabulary), words, profile.factor)
        return CalibratedCounter(words, profile.factor)


@with_usage
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
    polycontext.errors.UnknownNameError: unknown model 'claude-sonet-4-5'. Did you mean \
'claude-sonnet-4-5' or 'claude-sonnet-5-5' or 'claude-sonnet-4-6'? For any other model, pass its \
context window as max_tokens=; `polycontext models` lists the known names.
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
    advice = (
        "For any other model, pass its context window as max_tokens=; `polycontext models` lists "
        "the known names."
    )
    near = similar(_DATED.sub("", plain.rpartition("/")[2]), known_models())
    raise UnknownNameError("model", str(name), near=near, advice=advice)


def unlisted_counter(name: str) -> ModelCounter:
    """Return a counter for a model in no table, which overestimates rather than underestimates.

    >>> unlisted_counter("my-model").count("hello, how are you today?")
    10
    """
    family = family_of(name).name
    provider = Provider.ANTHROPIC if "claude" in name.lower() else Provider.OPENAI
    profile = ModelProfile(
        f"{UNLISTED}{name}", provider, 1, 1, factor=families()[family].words, family=family
    )
    return ModelCounter(profile)


def counter_named(name: str) -> ModelCounter:
    """Return the counter of a model of the tables, or of one of `unlisted_counter`, by its name.

    Raises:
        UnknownNameError: No model of that name is known.
    """
    if name.startswith(UNLISTED):
        return unlisted_counter(name.removeprefix(UNLISTED))
    return find_model(name).counter()


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


# --- the table of the models that this project has checked ---------------------------------------

UNLISTED = "unlisted/"
"""The start of the name under which a saved session refers to the counter of an unknown model."""

_IMAGE_RULES: Mapping[str, Any] = {"patches": Patches, "tiles": Tiles, "crops": Crops}


def _profile_of(name: str, row: dict[str, Any]) -> ModelProfile:
    image, family = (
        _image_rule(row.pop("image", None)),
        "" if row.get("exact") else family_of(name).name,
    )
    return ModelProfile(name, row.pop("provider"), image=image, family=family, **row)


def _image_rule(told: Sequence[Any] | None) -> ImageRule | None:
    rule: ImageRule | None = _IMAGE_RULES[told[0]](*told[1:]) if told else None
    return rule


_CHECKED = json.loads(Path(__file__).with_name("model_profiles.json").read_text(encoding="utf-8"))
_TABLE: Mapping[str, ModelProfile] = {
    name: _profile_of(name, row) for name, row in _CHECKED["models"].items()
}
_FAMILY_IMAGES: Mapping[str, ImageRule | None] = {
    start: _image_rule(told) for start, told in _CHECKED["images"].items()
}
"""The prices of images of models in the larger table, by how their names begin."""

_REGISTERED: dict[str, ModelProfile] = {}

# --- models of the larger table, and models in none -------------------------------------------

_PUBLISHED = (
    ("gpt-3.5", "cl100k_base"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-5", "o200k_base"),
    ("gpt-oss", "o200k_base"),
)
"""Name prefixes of models in tiktoken's table, with their encodings; the first match wins."""


def _listed_profile(name: str, row: Listed) -> ModelProfile:
    model = name.rpartition("/")[2]
    encoding = next((encoding for start, encoding in _PUBLISHED if model.startswith(start)), None)
    family = "" if encoding else family_of(model).name
    provider = Provider.ANTHROPIC if model.startswith("claude") else Provider.OPENAI
    image = next((rule for start, rule in _FAMILY_IMAGES.items() if model.startswith(start)), None)
    return ModelProfile(
        name,
        provider,
        row.window,
        row.reply,
        encoding or "o200k_base",
        families()[family].words if family else 1.0,
        family=family,
        exact=encoding is not None,
        image=image,
        source="genai-prices",
    )


@cache
def _listed_profiles() -> Mapping[str, ModelProfile]:
    return {name: _listed_profile(name, row) for name, row in listed_models().items()}
