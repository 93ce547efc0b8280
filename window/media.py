"""Metadata of images, documents and recordings, read from the block that carries them.

Only the head of a payload is decoded, because every image format stores its size in the first
bytes. Anything unreadable stays unknown (None), and token counts then assume the worst case. The
blocks are those of Anthropic (`image`, `document`, `container_upload`), OpenAI's chat (`image_url`,
`input_audio`, `file`, `audio`) and its Responses (`input_image`, `input_file`, screenshots,
generated images), and films of compatible servers (`video_url`). Elsewhere a data URL is a medium.
"""

import binascii
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from attrs import evolve, frozen

from .media_sizes import PDF_LIMIT, count_pages, film_seconds, image_size
from .part import Part

HEADS = (4_096, 131_072, 2_097_152)
"""How many characters of base64 are decoded to find an image's size, tried in this order."""

TEXT_LIMIT = 32_000_000
"""The most bytes of a text document that are read; no provider accepts a larger request."""

_DATA_URL = re.compile(r"data:([^,;]{0,200})((?:;[^,;]{0,200}){0,8}),", re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_SHOWN = 80
_WAVE_HEAD = 64
_WAVE_RATES = range(8_000, 384_001)
"""Plausible byte rates of recordings, from telephone quality to two channels of studio quality."""


class MediumKind(StrEnum):
    """The kind of medium that a block carries."""

    IMAGE = "image"
    DOCUMENT = "document"
    AUDIO = "audio"
    FILM = "film"
    OTHER = "other"


KINDS: Mapping[str, MediumKind] = {
    "image": MediumKind.IMAGE,
    "image_url": MediumKind.IMAGE,
    "input_image": MediumKind.IMAGE,
    "computer_screenshot": MediumKind.IMAGE,
    "image_generation_call": MediumKind.IMAGE,
    "document": MediumKind.DOCUMENT,
    "file": MediumKind.DOCUMENT,
    "input_file": MediumKind.DOCUMENT,
    "input_audio": MediumKind.AUDIO,
    "audio": MediumKind.AUDIO,
    "video": MediumKind.FILM,
    "video_url": MediumKind.FILM,
    "input_video": MediumKind.FILM,
    "container_upload": MediumKind.OTHER,
}
"""The block types of all providers that carry a medium, with its kind."""


@frozen
class Medium:
    """The known properties of a medium; None and empty strings mean unknown.

    `size` is in bytes; `width` and `height` are in pixels. `text` is the text of a text document,
    which costs nothing but its words.
    """

    kind: MediumKind
    media_type: str = ""
    size: int | None = None
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    seconds: float | None = None
    text: str | None = None
    name: str = ""
    detail: str = ""


class Source(NamedTuple):
    """The location of a medium's content.

    It is base64 or plain `data`, a `url`, or the `file_id` of an upload.
    """

    media_type: str = ""
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    plain: bool = False
    """Whether `data` is plain text rather than base64."""
    name: str = ""
    detail: str = ""


def read_medium(block: object) -> Medium | None:
    """Return the medium in a provider's `block`, or None if the block is not a medium.

    Accepts any value: missing or mistyped fields count as unknown. Time is at most linear in the
    payload. Only the head of a payload is decoded, except for PDF and text files, which are decoded
    whole up to 32 MB.

    >>> data = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAgADAAAAADs="}
    >>> read_medium({"type": "image", "source": data})
    Medium(kind=<MediumKind.IMAGE: 'image'>, media_type='image/gif', size=14, width=2, height=3, \
pages=None, seconds=None, text=None, name='', detail='')
    >>> read_medium({"type": "text", "text": "words"}) is None
    True
    """
    if (
        not isinstance(block, Mapping)
        or not isinstance(block.get("type"), str)
        or block["type"] not in KINDS
    ):
        return None
    source = read_source(block)
    medium = Medium(KINDS[block["type"]], source.media_type, name=source.name, detail=source.detail)
    if source.data is None:
        return medium
    if source.plain:
        return evolve(
            medium, size=len(source.data.encode("utf-8", "surrogatepass")), text=source.data
        )
    return _opened(evolve(medium, size=decoded_size(source.data)), source.data)


def _opened(medium: Medium, payload: str) -> Medium:
    """Return `medium` with the properties read from its base64 `payload`."""
    match medium.kind:
        case MediumKind.IMAGE:
            return _image(medium, payload)
        case MediumKind.DOCUMENT:
            return _document(medium, payload)
        case MediumKind.AUDIO:
            return evolve(
                medium, seconds=_seconds(head(payload, _WAVE_HEAD), decoded_size(payload))
            )
        case MediumKind.FILM:
            return evolve(medium, seconds=film_seconds(head(payload, HEADS[-1])))
        case MediumKind.OTHER:
            return medium


def read_data_url(text: str) -> tuple[Medium, Source] | None:
    """Return the medium of a data URL with base64, and where its data are, or None.

    >>> medium, _ = read_data_url("data:image/gif;base64,R0lGODlhAgADAAAAADs=")
    >>> medium.width, medium.height
    (2, 3)
    >>> read_data_url("data: is a word") is None
    True
    """
    if text[:5].lower() != "data:":
        return None
    source = _openai({"file_data": text})
    if source.plain or not source.data or source.data == text or ";base64," not in text[:1_000]:
        return None
    kind = KINDS[block_type(source.media_type)]
    medium = Medium(kind, source.media_type, size=decoded_size(source.data))
    return _opened(medium, source.data), source


def block_type(media_type: str) -> str:
    """Return the type of the block, as Anthropic's, that holds a medium of this MIME type.

    >>> block_type("video/mp4"), block_type("application/pdf")
    ('video', 'document')
    """
    kind = media_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def read_source(block: Mapping[str, Any]) -> Source:
    """Return the location of the content of a medium's `block`, in any provider's form.

    Data URLs are split into media type and data.
    """
    match block:
        case {"source": Mapping() as source}:
            return _anthropic(block, source)
        case {"type": "input_audio" | "audio" as key}:
            inner = _object(block.get(key)) or block
            form = _text(inner.get("format"))
            return Source(
                f"audio/{form}" if form else "",
                _some(inner.get("data")),
                None,
                _some(inner.get("id")),
            )
        case {"type": "image_generation_call"}:
            form = _text(block.get("output_format")) or "png"
            return Source(f"image/{form}", _some(block.get("result")))
        case {"file": Mapping() as inner}:
            return _openai(inner)
        case {"image_url": Mapping() as inner} | {"video_url": Mapping() as inner}:
            return _openai({"image_url": inner.get("url"), "detail": inner.get("detail")})
        case _:
            return _openai(block)


def blocks_of_document(block: Mapping[str, Any]) -> list[Any]:
    """Return the blocks that a document of Anthropic's consists of; most documents have none."""
    match block:
        case {"type": "document", "source": {"type": "content", "content": list(inner)}}:
            return inner
        case _:
            return []


def decoded_size(payload: str) -> int:
    """Return how many bytes a base64 `payload` holds.

    White space inside it makes the result slightly too large.

    >>> decoded_size("TWFu"), decoded_size("TWE="), decoded_size("")
    (3, 2, 0)
    """
    return max(0, len(payload) * 3 // 4 - payload.count("=", max(0, len(payload) - 4)))


def describe_medium(part: Part) -> str:
    """Return the line that replaces an omitted medium: its type, name and size.

    Every part gets a line; a block of an unknown type is described by that type.

    >>> png = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA="
    >>> describe_medium(
    ...     Part(
    ...         "anthropic",
    ...         '{"type": "image", "source": {"type": "base64", '
    ...         '"media_type": "image/png", "data": "%s"}}' % png,
    ...     )
    ... )
    '[image/png, 640 x 480, left out]'
    >>> describe_medium(Part("openai", '{"type": "sculpture"}'))
    '[sculpture, left out]'
    """
    return describe_block(part.load())


def describe_block(block: object) -> str:
    """Return the line that replaces an omitted block; see `describe_medium`.

    >>> describe_block({"type": "sculpture"})
    '[sculpture, left out]'
    """
    medium = read_medium(block)
    if medium is None:
        kind = block.get("type") if isinstance(block, Mapping) else None
        return f"[{_shown(kind) or 'content'}, left out]"
    title = "" if medium.kind is MediumKind.IMAGE else _shown(medium.name)
    facts = [
        _shown(medium.media_type) or str(medium.kind),
        *([title] if title else []),
        *_measures(medium),
    ]
    return f"[{', '.join(facts)}, left out]"


def _measures(medium: Medium) -> list[str]:
    if medium.width is not None:
        return [f"{medium.width} x {medium.height}"]
    if medium.seconds is not None:
        return [f"{medium.seconds:.0f} s"]
    if medium.pages is not None:
        return [f"{medium.pages} {'page' if medium.pages == 1 else 'pages'}"]
    return [_bytes(medium.size)] if medium.size else []


def _bytes(size: int) -> str:
    for unit, least in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} bytes"


def _shown(text: object) -> str:
    """Return `text` as one short line without brackets, which would end the description early."""
    if not isinstance(text, str):
        return ""
    line = _BLANK.sub(" ", text[: 2 * _SHOWN].translate({ord("["): None, ord("]"): None})).strip()
    line = "".join(letter for letter in line if letter.isprintable())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _image(medium: Medium, payload: str) -> Medium:
    for length in HEADS:
        found = image_size(head(payload, length))
        if found:
            return evolve(medium, kind=MediumKind.IMAGE, **found._asdict())
        if length >= len(payload):
            break
    return medium


def _seconds(opening: bytes, size: int) -> float | None:
    """Return the length of an uncompressed recording, from the byte rate in its header."""
    if opening[:4] != b"RIFF" or opening[8:16] != b"WAVEfmt ":
        return None
    rate = int.from_bytes(opening[28:32], "little")
    return size / rate if rate in _WAVE_RATES else None


def _document(medium: Medium, payload: str) -> Medium:
    opening = head(payload, HEADS[0])
    if b"%PDF-" in opening:
        pages = (
            count_pages(head(payload, len(payload))) if decoded_size(payload) <= PDF_LIMIT else None
        )
        return evolve(medium, media_type="application/pdf", pages=pages)
    if image_size(opening):
        return _image(medium, payload)
    is_text = b"\0" not in opening and decoded_size(payload) <= TEXT_LIMIT
    return evolve(medium, text=_decoded(payload)) if is_text else medium


def _decoded(payload: str) -> str | None:
    """Return the text of a text file of any claimed type, or None if it is not UTF-8 text."""
    try:
        return head(payload, len(payload)).decode() or None
    except UnicodeDecodeError:
        return None


def head(payload: str, length: int) -> bytes:
    """Return the bytes that the first `length` characters of a base64 `payload` encode.

    Returns an empty string if they are not base64.
    """
    start = payload[:length]
    # The decoder skips characters that it does not know, so convert the URL-safe alphabet first.
    if "-" in start or "_" in start:
        start = start.replace("-", "+").replace("_", "/")
    start = "".join(start.split()).rstrip("=")
    start = start[: len(start) - (len(start) % 4 == 1)]
    start += "=" * (-len(start) % 4)
    try:
        return binascii.a2b_base64(start.encode("ascii"))
    except (ValueError, UnicodeEncodeError):
        return b""


def _anthropic(block: Mapping[str, Any], source: Mapping[str, Any]) -> Source:
    name = _text(block.get("title"))
    media_type = _text(source.get("media_type")).lower()
    match source:
        case {"type": "text", "data": str(text)}:
            return Source(media_type or "text/plain", text, plain=True, name=name)
        case {"type": "content", "content": str(text)}:
            return Source("text/plain", text, plain=True, name=name)
        case {"type": "content"}:
            return Source("text/plain", name=name)
        case _:
            pass
    return Source(
        media_type,
        _some(source.get("data")),
        _some(source.get("url")),
        _some(source.get("file_id")),
        name=name,
    )


_PLACES = ("image_url", "file_data", "file_url", "video_url", "url")


def _openai(inner: Mapping[str, Any]) -> Source:
    found = Source(
        file_id=_some(inner.get("file_id")),
        name=_text(inner.get("filename")),
        detail=_text(inner.get("detail")),
    )
    given = (_some(inner.get(name)) for name in _PLACES)
    where = next(filter(None, given), None)
    if where is None:
        return found
    opened = _DATA_URL.match(where)
    if opened:
        media_type, options = opened[1].strip().lower(), opened[2].lower()
        data, plain = where[opened.end() :], not options.endswith(";base64")
        if plain:
            data = unquote_to_bytes(data).decode("utf-8", "replace")
        plain = plain and media_type.startswith("text/")
        return found._replace(media_type=media_type or "text/plain", data=data, plain=plain)
    if inner.get("file_data") == where:
        return found._replace(data=where)
    return found._replace(url=where)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _some(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
