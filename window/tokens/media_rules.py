"""Token costs of media, by the rules that the providers publish.

A turn does not know which model it will be sent to, and media are converted for other providers.
Hence the most expensive rule counts; `docs/decisions/2026-11-23-token-counting.md` lists the rules,
their sources and the cost of this margin. For a known model, its own `ImageRule` gives the price of
an image: tokens for each patch of pixels, or for each tile that the image is cut into.
"""

from math import ceil
from typing import Protocol

from attrs import frozen

from ..media import Medium, MediumKind

IMAGE_TOKENS = 4_784
"""The cost of an image of unknown size: the most that Claude charges for one."""

PAGE_TEXT_TOKENS = 3_000
"""The cost of the text of one PDF page: the most that Anthropic states for a page."""

PAGE_TOKENS = PAGE_TEXT_TOKENS + IMAGE_TOKENS
"""The cost of one PDF page: its text and its image."""

AUDIO_TOKENS_PER_SECOND = 20
"""The cost of a second of speech.

This is OpenAI's price for the assistant's speech; the user's costs half.
"""

AUDIO_TOKENS = 60 * AUDIO_TOKENS_PER_SECOND
"""The cost of a recording that is not part of the request: one minute."""

FILM_TOKENS_PER_SECOND = 300
"""The cost of a second of a film: that of a picture and the sound of each second, rounded up.

Recorded: Google's 2.5-flash charged 60 x 263 tokens for the pictures of a film and 1,917 for its
sound, about 295 a second. Assumed: other models charge no more.
"""

FILM_TOKENS = 60 * FILM_TOKENS_PER_SECOND
"""The cost of a film of unknown length: one minute."""

BYTES_PER_PAGE = 10_000
"""The assumed minimum size of a PDF page, if the pages cannot be counted."""

BYTES_PER_AUDIO_TOKEN = 200
"""The bytes of compressed speech (32 kbit/s) per token."""

MAX_SIDE = 65_535
"""The most pixels of a side; larger values in a header are not trusted."""

_OLD_CLAUDE_MOST, _OLD_CLAUDE_PIXELS = 1_600, 750
_LOW_SIDE, _BOX, _SHORT_SIDE, _TILE = 512, 2_048, 768, 512
_UNCUT, _CROP_BOX, _CROPS = 384, 3_072, (256, 768)
_BELIEVED_BYTES, _BYTES_PER_PIXEL = 1_000_000, 64
_MANY_PAGES = 600


class ImageRule(Protocol):
    """The price of an image; any function with this signature and a `most` attribute works."""

    @property
    def most(self) -> int:
        """Return the tokens of an image of unknown size."""
        ...

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of an image of this size in pixels."""
        ...


@frozen
class Patches:
    """A price of `factor` tokens for each patch of `side` x `side` pixels, up to `limit` patches.

    Larger images are scaled down.

    >>> Patches(28, 4_784)(1_000, 1_000), Patches(32, 1_536, 1.62)(4_000, 3_000)
    (1296, 2489)
    """

    side: int
    limit: int
    factor: float = 1.0

    @property
    def most(self) -> int:
        """Return the tokens of the largest image."""
        return ceil(self.limit * self.factor)

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of an image; with `detail` "low" it counts as 512 x 512 pixels."""
        if detail == "low":
            width = height = _LOW_SIDE
        return ceil(
            min(self.limit, ceil(width / self.side) * ceil(height / self.side)) * self.factor
        )


@frozen
class Tiles:
    """A price of `base` tokens for an image and `tile` for each square of 512 pixels in it.

    The image is first scaled down to fit 2,048 x 2,048 pixels with a short side of 768.

    >>> Tiles(85, 170)(1_024, 1_024), Tiles(85, 170)(1_024, 1_024, "low"), Tiles(85, 170)(543, 360)
    (765, 85, 425)
    """

    base: int
    tile: int

    @property
    def most(self) -> int:
        """Return the tokens of the largest image: 768 x 2,048 pixels are eight tiles."""
        return self.base + self.tile * ceil(_SHORT_SIDE / _TILE) * ceil(_BOX / _TILE)

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of an image; with `detail` "low" it costs only the base."""
        if detail == "low":
            return self.base
        # Images are never enlarged: a recorded request to gpt-4o with an image of 540 x 360 pixels
        # was billed for two tiles.
        scale = min(1.0, _BOX / max(width, height))
        scale = min(scale, _SHORT_SIDE / min(width, height))
        return self.base + self.tile * max(
            1, ceil(round(width * scale, 6) / _TILE) * ceil(round(height * scale, 6) / _TILE)
        )


@frozen
class Crops:
    """A price of `tile` tokens for an image of up to 384 pixels a side.

    A larger image costs it for the whole and for each square that it is cut into: of two thirds of
    the short side, from 256 to 768 pixels. It is first scaled down to fit 3,072 x 3,072 pixels.

    Recorded: Google's 2.0-flash charged 2,580 tokens, ten times 258, for a linked image of unknown
    size. Assumed: the limits of 256, 384, 768 and 3,072 pixels, the two thirds, and that the whole
    is charged besides its squares.

    >>> Crops(258)(384, 384), Crops(258)(540, 360), Crops(258)(8_000, 8_000)
    (258, 1806, 4386)
    """

    tile: int

    @property
    def most(self) -> int:
        """Return the tokens of the dearest image: 3,072 x 384 pixels are 12 x 2 squares."""
        return self.tile * 25

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of an image; `detail` makes no difference."""
        if max(width, height) <= _UNCUT:
            return self.tile
        scale = min(1.0, _CROP_BOX / max(width, height))
        side = min(_CROPS[1], max(_CROPS[0], int(min(width, height) * scale / 1.5)))
        wide, high = (ceil(round(edge * scale / side, 6)) for edge in (width, height))
        return self.tile * (1 + wide * high)


def medium_tokens(medium: Medium, rule: ImageRule | None = None) -> int:
    """Return the tokens of `medium` besides its text: the most that any provider charges.

    With a `rule`, images and the page images of documents are charged by that rule. A text document
    costs 0 here, since its words are counted as text. Unreadable media get a flat estimate on the
    high side.

    >>> (
    ...     medium_tokens(Medium(MediumKind.IMAGE, width=64, height=64)),
    ...     medium_tokens(Medium(MediumKind.IMAGE)),
    ... )
    (255, 4784)
    """
    if medium.text is not None:
        return 0
    match medium.kind:
        case MediumKind.IMAGE:
            return _image(medium, rule)
        case MediumKind.DOCUMENT:
            return _document(medium, PAGE_TOKENS if rule is None else PAGE_TEXT_TOKENS + rule.most)
        case MediumKind.AUDIO:
            return _audio(medium)
        case MediumKind.FILM:
            seconds = medium.seconds
            return FILM_TOKENS if seconds is None else ceil(seconds * FILM_TOKENS_PER_SECOND)
        case MediumKind.OTHER:
            return 0


def claude_image_tokens(width: int, height: int) -> int:
    """Return the most that Anthropic charges for an image of this size in pixels.

    Newer models: 28 x 28 pixels a token, up to 4,784. Older ones: 750 pixels a token, up to 1,600.
    Source: platform.claude.com, build-with-claude/vision, "Evaluate image size".

    >>> claude_image_tokens(1_000, 1_000), claude_image_tokens(8_000, 8_000)
    (1334, 4784)
    """
    older = min(_OLD_CLAUDE_MOST, ceil(width * height / _OLD_CLAUDE_PIXELS))
    return max(_CLAUDE(width, height), older)


def openai_image_tokens(width: int, height: int, detail: str = "") -> int:
    """Return the most that any OpenAI model charges for an image of this size in pixels.

    In patches of 32 x 32 pixels: 1.2 tokens for each of up to 10,000 patches for models that accept
    `original` detail (the default of some), and 2.46 for each of up to 1,536 for the smallest ones.
    In tiles of 512 x 512 pixels: 85 tokens and 170 for each tile. `detail` "low" counts as 512 x
    512 pixels. gpt-4o-mini, which multiplies its tiles by 33, is not included. Source:
    developers.openai.com, guides/images-vision, "Calculating costs".

    >>> (
    ...     openai_image_tokens(1_024, 1_024),
    ...     openai_image_tokens(1_024, 1_024, "low"),
    ...     openai_image_tokens(543, 360),
    ... )
    (2520, 630, 502)
    """
    return max(rule(width, height, detail) for rule in _OPENAI)


_CLAUDE = Patches(28, IMAGE_TOKENS)
_OPENAI = (Patches(32, 10_000, 1.2), Patches(32, 1_536, 2.46), Tiles(85, 170))


def _image(medium: Medium, rule: ImageRule | None) -> int:
    if not _is_believable(medium):
        return IMAGE_TOKENS if rule is None else rule.most
    width, height = medium.width or 1, medium.height or 1
    if rule is not None:
        return rule(width, height, medium.detail)
    return max(
        claude_image_tokens(width, height), openai_image_tokens(width, height, medium.detail)
    )


def _is_believable(medium: Medium) -> bool:
    """Return whether the size is known and plausible for the number of bytes."""
    if medium.width is None or medium.height is None or max(medium.width, medium.height) > MAX_SIDE:
        return False
    return (medium.size or 0) <= max(
        _BELIEVED_BYTES, _BYTES_PER_PIXEL * medium.width * medium.height
    )


def _audio(medium: Medium) -> int:
    if medium.size is None:
        return AUDIO_TOKENS
    tokens = (
        medium.size / BYTES_PER_AUDIO_TOKEN
        if medium.seconds is None
        else medium.seconds * AUDIO_TOKENS_PER_SECOND
    )
    return max(1, ceil(tokens))


def _document(medium: Medium, page: int) -> int:
    if medium.pages is not None:
        return page * medium.pages
    if medium.size is None:
        return page
    if medium.media_type == "application/pdf":
        return page * min(_MANY_PAGES, ceil(medium.size / BYTES_PER_PAGE))
    # Compressed text: an office file holds about a token for each byte.
    return max(page, medium.size)
