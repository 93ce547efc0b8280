"""Conversion of pills and documents to and from JSON data.

A pill is written as its schema requires, a document as its text and its pills with their positions.
"""

import json
from importlib.resources import files
from typing import Any

from attrs import asdict

from polycontext.base import InvalidDataError
from polycontext.base.codec import strict_converter, structured

from .document import PillDocument
from .errors import PillError
from .pill import Pill, TextProperties

_KINDS = {"pill": str, "face": str, "rear_nonsticky": bool, "keymap": str}
_OBJECT = dict[str, Any]
_CONVERTER = strict_converter()


def pill_schema() -> dict[str, Any]:
    """Return the JSON Schema of a pill (docs/attachments.md)."""
    schema: dict[str, Any] = json.loads(
        files("polycontext.pills").joinpath("pill.schema.json").read_bytes()
    )
    return schema


def pill_to_json(pill: Pill, content: str | None = None) -> dict[str, Any]:
    """Return a pill as JSON data, with its resolved `content` if there is any.

    Law: ``pill_from_json(pill_to_json(p), p.start) == p``, and the schema accepts it.
    """
    properties = {
        name: value for name, value in asdict(pill.text_properties).items() if value is not None
    }
    shown = {"name": pill.name, "type": pill.type.value, "text_properties": properties}
    return shown if content is None else {**shown, "content": content}


def pill_from_json(data: Any, start: int = 0, path: str = "$") -> Pill:
    """Return the pill that `data` describes, at `start`.

    Missing properties count as lost, and `repair` restores them.

    Raises:
        InvalidDataError: The data do not match the schema; the error names the path of the fault.
    """
    fields = _read(data, _OBJECT, path)
    inside = f"{path}.text_properties"
    given = _read(fields.get("text_properties", {}), _OBJECT, inside)
    properties = {
        name: _read(given[name], kind, f"{inside}.{name}")
        for name, kind in _KINDS.items()
        if name in given
    }
    _read(fields.get("content", ""), str, f"{path}.content")
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
    """Return the document that `data` describes.

    With `recover`, pills that have a wrong or no position, occur twice or have lost properties are
    rebuilt from the text (see `PillDocument.recover`). Data that do not describe a pill still raise
    an error.

    Raises:
        InvalidDataError: The data do not describe a document; the error names the path of the
            fault.
        DuplicatePillError: Two pills have the same name.
    """
    fields = _read(data, _OBJECT, "$")
    pills = _read(fields.get("pills", ()), list[Any], "$.pills")
    nowhere = 0 if recover else None
    placed = [_placed(pill, f"$.pills[{index}]", nowhere) for index, pill in enumerate(pills)]
    text: Any = fields.get("text")
    return PillDocument.recover(text, placed) if recover else PillDocument(text, placed)


def _placed(data: Any, path: str, nowhere: int | None) -> Pill:
    start = _read(data, _OBJECT, path).get("start", nowhere)
    return pill_from_json(data, _read(start, int, f"{path}.start"), path)


def _read(data: Any, kind: Any, path: str) -> Any:
    return structured(_CONVERTER, data, kind, path=path)
