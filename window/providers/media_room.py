"""The room for media in a request: what exceeds a vendor's limits is left out, the oldest first.

Requests grow only at their end as long as possible. Hence, a limit that is exceeded leaves out a
batch of the oldest media at once: a quarter of the limit is free afterwards.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import Factory, define

from ..errors import InvalidMessagesError
from ..media import MediumKind, block_type, blocks_of_document, describe_block, read_medium
from ..request_limits import Load, fits, request_limits
from .places import Place
from .wire import Message, Provider

BATCH = 0.75
"""The share of the limits that is in use after a batch was left out."""

RESERVED = 0.25
"""The share of a request's bytes that is kept free for text and tools."""

BLANK_SCREEN = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk"
    "YAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
"""The screenshot of one pixel that is sent if there is none."""

_MADE = "image_generation_call"
"""The type of an item with an image that the model made, which has bytes but is no input."""

_HOLDERS = ("content", "source", "output", "parts", "functionResponse")


def media_in(provider: Provider, blocks: Any) -> Iterator[tuple[Message, Load]]:
    """Yield each medium in `blocks`, messages or items, with its load, in order."""
    for block in blocks:
        load = load_of(provider, block) if isinstance(block, dict) else Load()
        if load is not None:
            yield from [(block, load)] if load else ()
            continue
        for inner in map(block.get, _HOLDERS):
            yield from media_in(provider, inner if isinstance(inner, list) else [inner])


def load_of(provider: Provider, block: Message) -> Load | None:
    """Return the load of a block of `provider`, or None if it is no medium, or made of blocks.

    >>> link = {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}
    >>> load_of(Provider.ANTHROPIC, link)["images"]
    1
    """
    medium = read_medium(_as_block(block))
    if medium is None or blocks_of_document(block):
        return None
    images = int(medium.kind is MediumKind.IMAGE and block.get("type") != _MADE)
    side = max(medium.width or 0, medium.height or 0)
    wide = images and side > request_limits(provider).get("side_of_many", side)
    # Base64 has four characters for three bytes.
    size, media = (medium.size or 0) * 4 // 3, medium.pages or images
    return Load(images=images, media=media, size=size, wide=int(wide))


def _as_block(block: Message) -> Message:
    """Return a part with inline data as a block that `read_medium` knows."""
    data = block.get("inlineData")
    if not isinstance(data, dict):
        return block
    media_type = str(data.get("mimeType"))
    source = {"media_type": media_type, "data": data.get("data")}
    return {"type": block_type(media_type), "source": source}


def load_errors(provider: Provider, messages: Any) -> Iterator[InvalidMessagesError]:
    """Yield the errors of a list with too many or too big media.

    The rules are too-much-media, image-size and request-size. The wordings are Anthropic's; those
    of other vendors are not known.
    """
    limits, whole = request_limits(provider), Place(provider)
    loads = [sum((load for _, load in media_in(provider, [each])), Load()) for each in messages]
    load = sum(loads, Load())
    images, most = load["images"], limits["images"]
    media, limit = images, most
    if images <= most and "media" in limits:
        media, limit = load["media"], limits["media"]
    if media > limit:
        pages = load["media"] - images
        says = f"Too much media: {pages} document pages + {images} images > {limit}"
        problem = f"{media} pictures and pages"
        yield whole.refuse("too-much-media", problem, f"at most {limit}", says)
    if load["wide"] and images > limits["many"]:
        index = next(index for index, each in enumerate(loads) if each["wide"])
        side = f"{limits['side_of_many']} pixels"
        says = (
            "At least one of the image dimensions exceed max allowed size for many-image "
            f"requests: {side}"
        )
        legal = f"at most {side} a side where there are more than {limits['many']} pictures"
        yield whole.into("messages", index).refuse(
            "image-size", "a picture is too wide", legal, says
        )
    if load["size"] > limits["size"]:
        problem, legal = f"size of all media: {load['size']}", f"at most {limits['size']}"
        yield whole.refuse("request-size", problem, legal, "Request exceeds the maximum size")


@define
class MediaRoom:
    """Leaves media out of a growing request, so that it stays within the vendor's limits.

    The block of a medium that is left out is changed in place. The newest medium stays, unless it
    exceeds a limit alone.

    Law: what is left out depends only on what is written, not on how much of it at once.
    """

    provider: Provider
    _kept: deque[tuple[Message, Load]] = Factory(deque)
    _load: Load = Factory(Load)
    has_left_out: bool = False
    """Whether earlier media were left out."""

    def add(self, written: Iterable[Message]) -> None:
        """Make room for `written`: the next messages, items or blocks."""
        limits = request_limits(self.provider)
        reserved = Load(size=int(RESERVED * limits["size"]))
        for block, load in media_in(self.provider, written):
            if not fits(load + reserved, limits):
                self._leave_out(block)
                continue
            self._kept.append((block, load))
            self._load += load
        if fits(self._load + reserved, limits):
            return
        while len(self._kept) > 1 and not fits(self._load + reserved, limits, BATCH):
            block, load = self._kept.popleft()
            self._load -= load
            self._leave_out(block)
            self.has_left_out = True

    def _leave_out(self, block: Message) -> None:
        kind, line = block.get("type"), describe_block(_as_block(block))
        if kind in ("computer_screenshot", _MADE):
            # The vendor takes no line here.
            block |= {"image_url": BLANK_SCREEN} if "image_url" in block else {"result": None}
            return
        block.clear()
        if kind:
            block["type"] = "input_text" if self.provider is Provider.RESPONSES else "text"
        block["text"] = line
