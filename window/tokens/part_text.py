"""The text of parts and of tool definitions, as it is counted.

A part is sent unchanged: keys, texts, signatures, encrypted items. Only the payload of a medium is
not read as text by any model; it is removed and billed by the providers' published rules. The words
of a text document sent as base64 are read by the model, and count.

OpenAI's models do not see the JSON schema of a tool. It reaches them as a TypeScript-like
namespace, which needs half the tokens. This text matches the recorded usage of gpt-4o and gpt-4.1
requests within a few tokens (``docs/decisions/2026-11-23-token-counting.md``). Definitions of any
other form, such as Anthropic's, reach the model as JSON.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import orjson
from attrs import Factory, define

from ..media import KINDS, Medium, Source, read_data_url, read_medium, read_source
from ..media_conversion import FORMS, convert_medium, with_standard_base64
from ..part import Part, PartKind
from .media_rules import ImageRule, medium_tokens

_MEDIA = re.compile("|".join((*(f'"{kind}"' for kind in KINDS), '"data:[^"]{1,1000};base64,')))
_PAYLOADS = frozenset({"data", "url", "image_url", "file_data", "result", "video_url"})
_NOTHING = frozenset({"", "{}"})


def part_text(part: Part, rule: ImageRule | None = None) -> tuple[tuple[str, ...], int]:
    """Return the texts of `part` to count, of which a provider is sent one, and its media's tokens.

    The first text is that of the part as it is; the others are those of a medium converted for
    other providers. Images are priced by `rule`, if there is one. Signed thinking, encrypted items
    and data that are not JSON count unchanged. Of a part that is not a block, the further fields
    count, except a mark of empty content. JSON data stay valid JSON.

    >>> link = '{"type":"image_url","image_url":{"url":"https://example.org/cat.png"}}'
    >>> texts, tokens = part_text(Part("openai", link))
    >>> tokens, texts[1]
    (4784, '{"type":"image","source":{"type":"url","url":"https://example.org/cat.png"}}')
    >>> part_text(Part("openai", '{"content":[],"refusal":null}', PartKind.MESSAGE))
    (('{"refusal":null}',), 0)
    """
    is_block = part.kind in (PartKind.BLOCK, PartKind.NATIVE)
    if not is_block and part.data in _NOTHING:
        return ("",), 0
    if is_block and not _MEDIA.search(part.data):
        return (part.data,), 0
    try:
        value = orjson.loads(part.data)
        if not is_block and isinstance(value, dict):
            value = _further(value)
        cutter = _Cutter(rule)
        forms = [cutter.cut(value)]
    except (ValueError, RecursionError):
        return (part.data,), 0
    if is_block and not cutter.media:
        return (part.data,), 0
    if part.kind is PartKind.BLOCK and cutter.media[0].block is value:
        forms += cutter.media[0].converted(part.provider)
    texts = (orjson.dumps(form).decode() if form != {} else "" for form in forms)
    return tuple(texts), cutter.tokens


def _further(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message or block without the mark of empty content.

    A recording in them gets its type.
    """
    if not fields.get("content", "something"):
        fields = {key: value for key, value in fields.items() if key != "content"}
    audio = fields.get("audio")
    return fields | {"audio": {"type": "audio", **audio}} if isinstance(audio, dict) else fields


class _Found(NamedTuple):
    """A medium, and the block that it was found in."""

    block: Mapping[str, Any]
    medium: Medium
    source: Source

    def without_payload(self, form: Any) -> Any:
        """Return a `form` of the block with the medium's words in place of its payload."""
        if not self.source.data or self.source.plain:
            return form
        return _with(form, self.source.data, self.medium.text or "")

    def converted(self, provider: str) -> Iterator[Any]:
        """Yield the forms that other providers than `provider` are sent, without the payload."""
        found = self._replace(source=with_standard_base64(self.source))
        for target in FORMS:
            if target != provider:
                form = convert_medium(self.medium, found.source, self.block, provider, target)
                if form is not None:
                    yield found.without_payload(form)


@define
class _Cutter:
    """Removes media from JSON data, and collects them and their cost."""

    rule: ImageRule | None
    tokens: int = 0
    media: list[_Found] = Factory(list)

    def cut(self, value: Any) -> Any:
        """Return `value` with the payload of every medium removed."""
        if isinstance(value, list):
            return [self.cut(inner) for inner in value]
        if isinstance(value, str):
            return self._cut_text(value)
        if not isinstance(value, dict):
            return value
        medium = None if _is_made_of_blocks(value) else read_medium(value)
        if medium is None:
            return {key: self.cut(inner) for key, inner in value.items()}
        inner = {key: self.cut(each) for key, each in value.items()} if _is_film(value) else value
        if inner != value:
            return inner
        found = self._taken(value, medium, read_source(value))
        return found.without_payload(value)

    def _cut_text(self, text: str) -> str:
        """Return `text`, without its payload if it is a data URL in a block of an unknown type."""
        found = read_data_url(text)
        if found is None:
            return text
        return self._taken({}, *found).medium.text or ""

    def _taken(self, block: Mapping[str, Any], medium: Medium, source: Source) -> _Found:
        self.media.append(_Found(block, medium, source))
        self.tokens += medium_tokens(medium, self.rule)
        return self.media[-1]


def _is_film(block: Mapping[str, Any]) -> bool:
    """Return whether a block holds a film as a data URL, or as those of its pictures."""
    return block["type"] == "video" and "video" in block


def _is_made_of_blocks(block: Mapping[str, Any]) -> bool:
    """Return whether a document consists of blocks, each of which is counted separately."""
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") == "content"


def _with(value: Any, payload: str, words: str) -> Any:
    """Return `value` with `words` in place of the `payload`, also within data URLs."""
    match value:
        case list():
            return [_with(inner, payload, words) for inner in value]
        case dict():
            return {
                key: words
                if key in _PAYLOADS and _holds(inner, payload)
                else _with(inner, payload, words)
                for key, inner in value.items()
            }
        case _:
            return value


def _holds(text: object, payload: str) -> bool:
    return isinstance(text, str) and (
        text == payload or (text[:5].lower() == "data:" and text.endswith("," + payload))
    )


_HEAD = "# Tools\n\n## functions\n\nnamespace functions {\n\n"
_FOOT = "} // namespace functions"
_FORMED = frozenset(
    {"type", "properties", "required", "items", "anyOf", "oneOf", "enum", "const", "$ref"}
)
_UNSEEN = frozenset({"additionalProperties", "title", "strict"})


def tool_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of `tools` in a prompt, or an empty string if there are none.

    >>> print(
    ...     tool_text(
    ...         [{"type": "function", "function": {"name": "now", "description": "Tell the time."}}]
    ...     )
    ... )
    # Tools
    <BLANKLINE>
    ## functions
    <BLANKLINE>
    namespace functions {
    <BLANKLINE>
    // Tell the time.
    type now = () => any;
    <BLANKLINE>
    } // namespace functions
    """
    functions = [_function(tool.get("function", tool)) for tool in tools if _is_function(tool)]
    others = [as_json(tool) for tool in tools if not _is_function(tool)]
    namespace = [_HEAD + "".join(functions) + _FOOT] if functions else []
    return "\n".join(namespace + others)


def as_json(value: Any) -> str:
    """Return `value` as compact JSON text, with objects that JSON cannot represent as strings."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _is_function(tool: Mapping[str, Any]) -> bool:
    body = tool.get("function", tool)
    return (
        isinstance(body, Mapping)
        and "name" in body
        and (tool.get("type") == "function" or "parameters" in body)
    )


def _function(body: Mapping[str, Any]) -> str:
    definitions, schema = _split(body.get("parameters"))
    arguments = f"_: {_type(schema)}" if _takes_arguments(schema) else ""
    return (
        f"{definitions}{_comment(body.get('description'))}type {body['name']} = ({arguments}) => "
        "any;\n\n"
    )


def _split(schema: Any) -> tuple[str, Any]:
    """Return the shared definitions of a schema as text, and the schema without them."""
    shared = schema.get("$defs") if isinstance(schema, Mapping) else None
    if not isinstance(shared, Mapping):
        return "", schema
    definitions = "".join(f"type {name} = {_type(inner)};\n" for name, inner in shared.items())
    return definitions, {key: value for key, value in schema.items() if key != "$defs"}


def _takes_arguments(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return schema is not None
    return any(value for key, value in schema.items() if key not in _UNSEEN | {"type"})


def _comment(description: object) -> str:
    return f"// {str(description).strip()}\n" if description else ""


def _type(schema: Any) -> str:
    return _form(schema) + _remark(schema, _FORMED | _UNSEEN)


def _form(schema: Any) -> str:  # noqa: PLR0911 - one return for each form
    match schema:
        case {"enum": [*values]}:
            return " | ".join(map(as_json, values))
        case {"const": value}:
            return as_json(value)
        case {"anyOf": [*choices]} | {"oneOf": [*choices]}:
            return " | ".join(map(_type, choices))
        case {"$ref": str(target)}:
            return target.rpartition("/")[2]
        case {"properties": Mapping() as properties} if properties:
            required = schema.get("required")
            return _object(properties, required if isinstance(required, list | tuple) else ())
        case {"type": "array"}:
            return f"{_type(schema.get('items'))}[]"
        case {"type": [*names]}:
            return " | ".join(map(str, names))
        case {"type": str(name)}:
            return "number" if name == "integer" else name
        case Mapping() | None | bool():
            return "any"
        case _:
            return as_json(schema)


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> str:
    lines = [
        _property(name, schema, "" if name in required else "?")
        for name, schema in properties.items()
    ]
    return "{\n" + "".join(lines) + "}"


def _property(name: str, schema: Any, mark: str) -> str:
    comment = _comment(schema.get("description")) if isinstance(schema, Mapping) else ""
    return (
        f"{comment}{name}{mark}: "
        f"{_form(schema)},{_remark(schema, _FORMED | _UNSEEN | {'description'})}\n"
    )


def _remark(schema: Any, shown: AbstractSet[str]) -> str:
    """Return the fields that have no TypeScript form (bounds, patterns, defaults) as a comment."""
    rest = (
        {key: value for key, value in schema.items() if key not in shown}
        if isinstance(schema, Mapping)
        else {}
    )
    return f" // {as_json(rest)}" if rest else ""
