"""Pills and documents as JSON data: a pill as its schema says, a document as its text and pills with their places."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from attrs import asdict

from polycontext.linearity import InvalidDataError

from .document import PillDocument
from .errors import PillError
from .pill import Pill, TextProperties

_KINDS: Mapping[str, tuple[type, str]] = dict.fromkeys(
    ("pill", "face", "keymap"), (str, "a string")
) | {"rear_nonsticky": (bool, "a boolean")}


def pill_schema() -> dict[str, Any]:
    """Return the JSON Schema of a pill (docs/attachments.md)."""
    schema: dict[str, Any] = json.loads(
        files("polycontext.window.pills").joinpath("pill.schema.json").read_bytes()
    )
    return schema


def pill_to_json(pill: Pill, content: str | None = None) -> dict[str, Any]:
    """Return a pill as JSON data; with `content` where it was resolved.

    Law: ``pill_from_json(pill_to_json(p), p.start) == p``, and the schema accepts it.
    """
    properties = {
        name: value for name, value in asdict(pill.text_properties).items() if value is not None
    }
    shown = {"name": pill.name, "type": pill.type.value, "text_properties": properties}
    return shown if content is None else {**shown, "content": content}


def pill_from_json(data: Any, start: int = 0, path: str = "$") -> Pill:
    """Return the pill that `data` shows, at `start`.

    Whatever properties are missing are lost ones, for `repair` to make anew.

    Raises:
        InvalidDataError: the schema does not accept it, with the place of the fault.
    """
    fields = _mapping(data, path)
    properties: dict[str, Any] = {}
    for name, value in _mapping(
        fields.get("text_properties", {}), f"{path}.text_properties"
    ).items():
        if name in _KINDS:
            properties[name] = _of_kind(
                value,
                *_KINDS[name],
                f"{path}.text_properties.{name}",
                f"{value!r} is of another type",
            )
    content = fields.get("content", "")
    _of_kind(content, str, "a string", f"{path}.content", f"{type(content).__name__} is not text")
    try:
        return Pill(
            fields.get("name"),
            fields.get("type"),
            start,
            text_properties=TextProperties(**properties),
        )
    except PillError as error:
        raise InvalidDataError(path, f"{error}: {error.problem}", error.legal) from None


def document_to_json(document: PillDocument) -> dict[str, Any]:
    """Return a document as JSON data: its text, and each pill with its `start`."""
    return {
        "text": document.text,
        "pills": [{**pill_to_json(pill), "start": pill.start} for pill in document.pills],
    }


def document_from_json(data: Any, *, recover: bool = False) -> PillDocument:
    """Return the document that `data` shows.

    With `recover`, pills that are not where they say, or say nothing of it, stand twice or have
    lost properties are made anew from the text (see `PillDocument.recover`); what is no pill is
    refused all the same.

    Raises:
        InvalidDataError: no document, with the place of the fault. DuplicatePillError: two pills of
            one name.
    """
    fields = _mapping(data, "$")
    pills = fields.get("pills", [])
    _of_kind(pills, list, "a list of pills", "$.pills", f"{type(pills).__name__} is no list")
    nowhere = 0 if recover else None
    placed = [_placed(pill, f"$.pills[{index}]", nowhere) for index, pill in enumerate(pills)]
    text: Any = fields.get("text")
    return PillDocument.recover(text, placed) if recover else PillDocument(text, placed)


def _placed(data: Any, path: str, nowhere: int | None) -> Pill:
    start = _mapping(data, path).get("start", nowhere)
    return pill_from_json(
        data,
        _of_kind(
            start, int, "a whole number of characters", f"{path}.start", f"{start!r} is no position"
        ),
        path,
    )


def _mapping(data: Any, path: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _of_kind(
        data, Mapping, "an object", path, f"{type(data).__name__} is no object"
    )
    return found


def _of_kind(value: Any, kind: Any, legal: str, path: str, what: str) -> Any:
    """Return `value`, an instance of `kind`; true and false are no numbers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidDataError(path, what, legal)
    return value
