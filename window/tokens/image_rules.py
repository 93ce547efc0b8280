"""What one model charges for a picture, by the rule that its provider publishes.

Two kinds of rule are in use: a token for each patch of so many pixels, or a price for each tile into which
the picture is cut. Sources: platform.claude.com, build-with-claude/vision, "Evaluate image size";
developers.openai.com, guides/images-vision, "Calculating costs".
"""

from math import ceil
from typing import Protocol

from attrs import frozen

_LOW_SIDE = 512
_BOX, _SHORT_SIDE, _TILE = 2_048, 768, 512


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
    """Charge `factor` tokens for each patch of `side` x `side` pixels, for at most `limit` patches; larger pictures are scaled down.

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
        return ceil(min(self.limit, ceil(width / self.side) * ceil(height / self.side)) * self.factor)


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
        # Never enlarged: a recorded request to gpt-4o with a picture of 540 x 360 pixels was billed for two tiles.
        scale = min(1.0, _BOX / max(width, height))
        scale = min(scale, _SHORT_SIDE / min(width, height))
        return self.base + self.tile * max(1, ceil(round(width * scale, 6) / _TILE) * ceil(round(height * scale, 6) / _TILE))
