"""Tell which text of an opaque part counts, and what the media in it cost beside it.

An image, a document or a recording travels as base64, but no provider bills
the base64: counted as text, one photo would fill a window. Pixels, pages and
seconds are not known without decoding, so media cost a flat estimate on the
careful side.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

IMAGE_TOKENS = 1_600
"""Cost of one image: what Claude charges at most for one of ordinary size; gpt-4o stays below (1,445)."""

_CHARACTERS_PER_TOKEN: Mapping[str, int | None] = {
    "image": None,
    "image_url": None,
    "input_image": None,
    "document": 16,
    "file": 16,
    "input_file": 16,
    "input_audio": 500,
}
_MEDIA = re.compile("|".join(f'"{kind}"' for kind in _CHARACTERS_PER_TOKEN))
_BASE64 = re.compile(r"(?:data:[^,]*,)?[A-Za-z0-9+/_-]{200,}={0,2}")


def part_text(data: str) -> tuple[str, int]:
    """Return the text of a part's JSON that counts as text, and the tokens of the media in it.

    Signed thinking, encrypted items and whatever is not JSON count as they stand.

    >>> part_text('{"type": "thinking", "thinking": "so", "signature": "c2ln"}')[1]
    0
    >>> part_text('{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}')[1]
    1600
    """
    if not _MEDIA.search(data):
        return data, 0
    try:
        rest, tokens = _without_media(json.loads(data))
    except (ValueError, RecursionError):
        return data, 0
    return (json.dumps(rest, ensure_ascii=False), tokens) if tokens else (data, 0)


def _without_media(value: Any) -> tuple[Any, int]:
    """Return `value` with the payload of every medium cut out, and what the media cost in tokens."""
    match value:
        case {"type": str(kind)} if kind in _CHARACTERS_PER_TOKEN and not _is_plain_text(value):
            rest, length = _without_payload(value)
            per_token = _CHARACTERS_PER_TOKEN[kind]
            return rest, IMAGE_TOKENS if per_token is None else max(IMAGE_TOKENS, length // per_token)
        case Mapping():
            pairs = {key: _without_media(inner) for key, inner in value.items()}
            return {key: rest for key, (rest, _) in pairs.items()}, sum(tokens for _, tokens in pairs.values())
        case [*values]:
            items = [_without_media(inner) for inner in values]
            return [rest for rest, _ in items], sum(tokens for _, tokens in items)
        case _:
            return value, 0


def _is_plain_text(block: Mapping[str, Any]) -> bool:
    match block:
        case {"source": {"type": "text" | "content"}}:
            return True
        case _:
            return False


def _without_payload(value: Any) -> tuple[Any, int]:
    """Return `value` with its base64 texts cut out, and how many characters those had."""
    match value:
        case str() if _BASE64.fullmatch(value):
            return "", len(value)
        case Mapping():
            pairs = {key: _without_payload(inner) for key, inner in value.items()}
            return {key: rest for key, (rest, _) in pairs.items()}, sum(length for _, length in pairs.values())
        case [*values]:
            items = [_without_payload(inner) for inner in values]
            return [rest for rest, _ in items], sum(length for _, length in items)
        case _:
            return value, 0
