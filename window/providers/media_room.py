"""The room for media in a request: what exceeds a vendor's limits is left out, the oldest first.

Requests grow only at their end as long as possible. Hence, a limit that is reached leaves out a
batch of the oldest media at once: a quarter of the limit is free afterwards.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, define

from ..errors import InvalidMessagesError
from ..media import MediumKind, describe_block, read_medium
from ..request_limits import Load, fits, request_limits
from ..turn import Turn
from .places import Place
from .wire import Message, Provider

BATCH = 0.75
"""The share of the limits that is in use after a batch was left out."""

RESERVED = 0.125
"""The share of a request's bytes that is kept free for its text, tools and syntax."""

BLANK_SCREEN = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk"
    "YAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
"""The screenshot of one pixel that is sent if there is none."""

_LOG = logging.getLogger("polycontext.window.providers")
_INSIDE = ("content", "output", "parts", "functionResponse")


def media_in(provider: Provider, blocks: Iterable[Any]) -> Iterator[tuple[Message, Load]]:
    """Yield each medium in `blocks`, messages or items, with its load, in order."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        load = load_of(provider, block)
        if load is not None:
            yield block, load
            continue
        for inner in map(block.get, _INSIDE):
            yield from media_in(provider, inner if isinstance(inner, list) else [inner])


def load_errors(load: Load, place: Place) -> Iterator[InvalidMessagesError]:
    """Yield the errors of a request with this load, at the `place` of its list.

    Rules too-much-media and request-size; the vendors' wordings are not known.
    """
    limits = request_limits(place.provider)
    if load["images"] > limits["images"]:
        most = f"at most {limits['images']}"
        yield place.refuse("too-much-media", f"there are {load['images']} images", most, _TOO_MUCH)
    if load["size"] > limits["size"]:
        most = f"at most {limits['size']}"
        yield place.refuse("request-size", f"media of {load['size']} bytes", most, _TOO_MUCH)


_TOO_MUCH = "Request exceeds the maximum size or number of images"


def load_of(provider: Provider, block: Message) -> Load | None:
    """Return the load of a block of `provider`, or None if it is no medium.

    >>> link = {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}
    >>> load_of(Provider.ANTHROPIC, link)["images"]
    1
    """
    medium = read_medium(_as_block(block))
    if medium is None:
        return None
    is_image = medium.kind is MediumKind.IMAGE
    side = max(medium.width or 0, medium.height or 0)
    most = request_limits(provider).get("side_of_many", side)
    # Base64 has four characters for three bytes.
    size, media = (medium.size or 0) * 4 // 3, medium.pages or int(is_image)
    return Load(images=int(is_image), media=media, size=size, wide=int(is_image and side > most))


def _as_block(block: Message) -> Mapping[str, Any]:
    """Return a part with inline data as a block that `read_medium` knows."""
    data = block.get("inlineData")
    if not isinstance(data, dict):
        return block
    media_type = str(data.get("mimeType"))
    kind = media_type.partition("/")[0]
    source = {"type": "base64", "media_type": media_type, "data": data.get("data")}
    return {
        "type": kind if kind in ("image", "audio", "video") else "document",
        "source": source,
    }


@define
class MediaRoom:
    """Leaves media out of a growing request, so that it stays within the vendor's limits.

    The blocks of a medium that is left out are changed in place. The newest medium stays, unless it
    exceeds a limit alone.

    Law: what is left out depends only on the turns, not on how many were rendered at once.
    """

    provider: Provider
    _kept: list[tuple[Message, Load]] = Factory(list)
    _load: Load = Factory(Load)
    has_left_out: bool = False
    """Whether earlier media were left out."""

    def add(self, turn: Turn, written: Sequence[Message]) -> bool:
        """Make room for `turn`, which was written as the messages, items or blocks `written`.

        Returns whether earlier media were left out.
        """
        limits = request_limits(self.provider)
        reserved = Load(size=int(RESERVED * limits["size"]))
        self._load["size"] += len(turn.text)
        for block, load in media_in(self.provider, written) if turn.parts else ():
            if fits(load + reserved, limits):
                self._kept.append((block, load))
                self._load += load
            else:
                self._leave_out(block)
        if fits(self._load + reserved, limits):
            return False
        kept = len(self._kept)
        for entry in self._first_to_yield(limits):
            if fits(self._load + reserved, limits, BATCH):
                break
            self._kept = [each for each in self._kept if each is not entry]
            self._load -= entry[1]
            self._leave_out(entry[0])
        self.has_left_out = self.has_left_out or len(self._kept) < kept
        return len(self._kept) < kept

    def _first_to_yield(self, limits: Mapping[str, int]) -> list[tuple[Message, Load]]:
        """Return the media but the newest, the oldest first.

        If only a few old images are too wide to stand beside so many, these are all.
        """
        older = self._kept[:-1]
        wide = [entry for entry in older if entry[1]["wide"]]
        rest = self._load - Load(wide=len(wide))
        are_few = len(wide) <= (1 - BATCH) * limits.get("many", 0)
        return wide if are_few and fits(rest, limits) else older

    def _leave_out(self, block: Message) -> None:
        line = describe_block(_as_block(block))
        _LOG.warning("left out of a request to %s, which takes no more: %s", self.provider, line)
        left = _left_out(block, line, self.provider)
        block.clear()
        block.update(left)


def _left_out(block: Message, line: str, provider: Provider) -> Message:
    match block.get("type"):
        case "computer_screenshot" as kind:
            return {"type": kind, "image_url": BLANK_SCREEN}
        case "image_generation_call":
            return {**block, "result": None}
        case None:
            return {"text": line}
        case _:
            return {
                "type": "input_text" if provider is Provider.RESPONSES else "text",
                "text": line,
            }
