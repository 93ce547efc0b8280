"""Limits of a request: the images, pages, bytes and cache breakpoints that each vendor accepts.

Every row of request_limits.json names the pages that its numbers come from. Where a limit depends
on the model or the service, the row has the lower one: Anthropic takes 600 images for models with a
window over 200,000 tokens, and Google 100 MB outside of its cloud.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

Load = Counter[str]
"""What a request or a part of it has of each limited thing.

The names are `images`, `media` (images and pages of documents), `size` (bytes), and `wide` (images
that may not stand beside many others).
"""


@cache
def request_limits(provider: str) -> Mapping[str, int]:
    """Return the limits of a format's requests, by name; a vendor may lack some.

    Besides those of a `Load`, they are `side` (pixels) and `image_text` (characters of base64) of
    an image, `side_of_many` for an image beside more than `many` images, and `marks`, the cache
    breakpoints.

    >>> request_limits("anthropic")["images"], request_limits("openai")["size"]
    (100, 50000000)
    """
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    limits: Mapping[str, int] = table["limits"][provider]
    return limits


def fits(load: Load, limits: Mapping[str, int], share: float = 1.0) -> bool:
    """Return whether a request with this load is within a `share` of `limits`.

    >>> fits(Load(images=100), request_limits("anthropic"))
    True
    >>> fits(Load(images=21, wide=1), request_limits("anthropic"))
    False
    """
    names = {"images", "media", "size"} & limits.keys()
    has_room = not load["wide"] or load["images"] <= share * limits["many"]
    return has_room and all(load[name] <= share * limits[name] for name in names)
