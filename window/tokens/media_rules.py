"""What a medium costs in tokens, by the rules that the providers publish.

A turn does not know which model it will be sent to, and media are written for other providers too.
So the
costliest rule counts: `docs/decisions/2026-11-23-token-counting.md` has the table, where each rule
was published, and what the care costs. Where the model is known, its own `ImageRule` says what a
picture costs: a token for each patch of so many pixels, or a price for each tile into which it is
cut.
"""

from math import ceil
from typing import Protocol

from attrs import frozen

from ..media import Medium, MediumKind

IMAGE_TOKENS = 4_784
"""Cost of a picture whose size cannot be read: what Claude charges at most for one."""

PAGE_TEXT_TOKENS = 3_000
"""Cost of the text of one page of a PDF: the most that Anthropic names for a page."""

PAGE_TOKENS = PAGE_TEXT_TOKENS + IMAGE_TOKENS
"""Cost of one page of a PDF: its text, and its picture."""

AUDIO_TOKENS_PER_SECOND = 20
"""Cost of a second of speech: OpenAI charges so much for the assistant's, half of it for the
user's."""

AUDIO_TOKENS = 60 * AUDIO_TOKENS_PER_SECOND
"""Cost of a recording that is not in the request itself: a minute."""

BYTES_PER_PAGE = 10_000
"""Bytes that one page of a PDF has at least, where its pages cannot be counted."""

BYTES_PER_AUDIO_TOKEN = 200
"""Bytes of compressed speech (32 kbit/s) that one token stands for."""

MAX_SIDE = 65_535
"""Pixels on a side; heads that name more are not believed."""

_PATCH = 28
_OPENAI_PATCH = 32
_CLAUDE_MOST, _OLD_CLAUDE_MOST, _OLD_CLAUDE_PIXELS = IMAGE_TOKENS, 1_600, 750
_LOW_PATCHES, _NANO_PATCHES, _NANO_FACTOR = 256, 1_536, 2.46
_LOW_SIDE, _BOX, _SHORT_SIDE, _TILE = 512, 2_048, 768, 512
_BELIEVED_BYTES, _BYTES_PER_PIXEL = 1_000_000, 64
_MANY_PAGES = 600


class ImageRule(Protocol):
    """Say what a picture costs; any function of these three will do that knows its `most`."""

    @property
    def most(self) -> int:
        """Return what a picture costs whose size cannot be read, in tokens."""
        ...

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return what a picture of so many pixels costs, in tokens."""
        ...


@frozen
class Patches:
    """Charge `factor` tokens for each patch of `side` x `side` pixels, for at most `limit` patches.

    Larger pictures are scaled down.

    >>> Patches(28, 4_784)(1_000, 1_000), Patches(32, 1_536, 1.62)(4_000, 3_000)
    (1296, 2489)
    """

    side: int
    limit: int
    factor: float = 1.0

    @property
    def most(self) -> int:
        """Return what the largest picture costs."""
        return ceil(self.limit * self.factor)

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of a picture; with `detail` "low" it is one of 512 x 512 pixels."""
        if detail == "low":
            width = height = _LOW_SIDE
        return ceil(
            min(self.limit, ceil(width / self.side) * ceil(height / self.side)) * self.factor
        )


@frozen
class Tiles:
    """Charge `base` tokens for a picture and `tile` for each square of 512 pixels in it, once it is scaled into 2,048 x 2,048 with a short side of 768.

    >>> Tiles(85, 170)(1_024, 1_024), Tiles(85, 170)(1_024, 1_024, "low"), Tiles(85, 170)(543, 360)
    (765, 85, 425)
    """

    base: int
    tile: int

    @property
    def most(self) -> int:
        """Return what the largest picture costs: 768 x 2,048 pixels are eight tiles."""
        return self.base + self.tile * ceil(_SHORT_SIDE / _TILE) * ceil(_BOX / _TILE)

    def __call__(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of a picture; with `detail` "low" it costs the base alone."""
        if detail == "low":
            return self.base
        # Never enlarged: a recorded request to gpt-4o with a picture of 540 x 360 pixels was billed
        # for two tiles.
        scale = min(1.0, _BOX / max(width, height))
        scale = min(scale, _SHORT_SIDE / min(width, height))
        return self.base + self.tile * max(
            1, ceil(round(width * scale, 6) / _TILE) * ceil(round(height * scale, 6) / _TILE)
        )


def medium_tokens(medium: Medium, rule: ImageRule | None = None) -> int:
    """Return what `medium` costs beside its words, in tokens: the most that one of the providers charges.

    With a `rule` pictures, and those of a document's pages, cost what that says. A text document
    costs its words and nothing here. What cannot be read costs a flat estimate on the careful side.

    >>> medium_tokens(Medium(MediumKind.IMAGE, width=64, height=64)), medium_tokens(Medium(MediumKind.IMAGE))
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
        case MediumKind.OTHER:
            return 0


def claude_image_tokens(width: int, height: int) -> int:
    """Return what Anthropic charges at most for a picture of so many pixels.

    Newer models: 28 x 28 pixels a token, up to 4,784. Older ones: 750 pixels a token, up to 1,600.
    Source: platform.claude.com, build-with-claude/vision, "Evaluate image size".

    >>> claude_image_tokens(1_000, 1_000), claude_image_tokens(8_000, 8_000)
    (1334, 4784)
    """
    patches = min(_CLAUDE_MOST, ceil(width / _PATCH) * ceil(height / _PATCH))
    return max(patches, min(_OLD_CLAUDE_MOST, ceil(width * height / _OLD_CLAUDE_PIXELS)))


def openai_image_tokens(width: int, height: int, detail: str = "") -> int:
    """Return what OpenAI charges at most for a picture of so many pixels, whichever of its models reads it.

    In patches of 32 x 32 pixels: models that take `original` detail (the default of some) without a
    limit, the smallest ones 2.46 tokens for each of up to 1,536 patches. In tiles of 512 x 512
    pixels: 85 tokens and 170 a tile. `detail` "low" makes it 512 x 512 pixels. gpt-4o-mini, which
    multiplies its tiles by 33, is not in here.
    Source: developers.openai.com, guides/images-vision, "Calculating costs".

    >>> openai_image_tokens(1_024, 1_024), openai_image_tokens(1_024, 1_024, "low"), openai_image_tokens(543, 360)
    (2520, 630, 502)
    """
    if detail == "low":
        return ceil(_LOW_PATCHES * _NANO_FACTOR)
    patches = ceil(width / _OPENAI_PATCH) * ceil(height / _OPENAI_PATCH)
    return max(
        patches, ceil(min(patches, _NANO_PATCHES) * _NANO_FACTOR), Tiles(85, 170)(width, height)
    )


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
    """Tell whether the size is known and can be true of so many bytes."""
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
    # Packed text: an office file holds about a token a byte.
    return max(page, medium.size)
