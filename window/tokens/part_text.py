"""What of a part's JSON counts as text, and what as media.

A part leaves as it stands: keys, texts, signatures, encrypted items. Only the payload of a medium is not read
as text by any model; it is cut out and billed by the providers' published rules. So are the words of a text
document that travels as base64: they are read, and count.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from attrs import define

from ..media import KINDS, read_medium, read_source
from ..part import Part, PartKind
from .media_rules import ImageRule, medium_tokens

_MEDIA = re.compile("|".join(f'"{kind}"' for kind in KINDS))
_PAYLOADS = frozenset({"data", "url", "image_url", "file_data", "result"})
_NOTHING = frozenset({"", "{}"})


def part_text(part: Part, rule: ImageRule | None = None) -> tuple[str, int]:
    """Return the text of `part` that counts as text, and the tokens of the media in it, pictures by `rule` where there is one.

    Signed thinking, encrypted items and whatever is not JSON count as they stand. Of a part that is no block
    its further fields count; how a message writes "no content" is not counted. What is JSON stays JSON.

    >>> part_text(Part("openai", '{"type":"image_url","image_url":{"url":"https://example.org/cat.png"}}'))[1]
    4784
    >>> part_text(Part("openai", '{"content":[],"refusal":null}', PartKind.MESSAGE))
    ('{"refusal":null}', 0)
    """
    is_block = part.kind in (PartKind.BLOCK, PartKind.NATIVE)
    if not is_block and part.data in _NOTHING:
        return "", 0
    if is_block and not _MEDIA.search(part.data):
        return part.data, 0
    try:
        value = orjson.loads(part.data)
        if not is_block and isinstance(value, dict):
            value = _further(value)
        cutter = _Cutter(rule)
        rest = cutter.cut(value)
    except (ValueError, RecursionError):
        return part.data, 0
    if is_block and not cutter.found:
        return part.data, 0
    return orjson.dumps(rest).decode() if rest != {} else "", cutter.tokens


def _further(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message or block without the mark of an empty content; the recording in them gets its type."""
    if not fields.get("content", "something"):
        fields = {key: value for key, value in fields.items() if key != "content"}
    audio = fields.get("audio")
    return fields | {"audio": {"type": "audio", **audio}} if isinstance(audio, dict) else fields


@define
class _Cutter:
    """Cut media out of JSON data, and remember what they cost and say."""

    rule: ImageRule | None = None
    tokens: int = 0
    found: bool = False

    def cut(self, value: Any) -> Any:
        """Return `value` with the payload of every medium cut out."""
        if isinstance(value, list):
            return [self.cut(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        medium = None if _is_made_of_blocks(value) else read_medium(value)
        if medium is None:
            return {key: self.cut(inner) for key, inner in value.items()}
        self.found = True
        self.tokens += medium_tokens(medium, self.rule)
        source = read_source(value)
        if not source.data or source.plain:
            return value
        return _with(value, source.data, medium.text or "")


def _is_made_of_blocks(block: Mapping[str, Any]) -> bool:
    """Tell whether a document holds blocks of its own, each of which costs what it costs."""
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") == "content"


def _with(value: Any, payload: str, words: str) -> Any:
    """Return `value` with `words` instead of the `payload`, as it stands or in a data URL, where a payload may stand."""
    match value:
        case list():
            return [_with(inner, payload, words) for inner in value]
        case dict():
            return {
                key: words if key in _PAYLOADS and _holds(inner, payload) else _with(inner, payload, words) for key, inner in value.items()
            }
        case _:
            return value


def _holds(text: object, payload: str) -> bool:
    return isinstance(text, str) and (text == payload or (text[:5].lower() == "data:" and text.endswith("," + payload)))
