"""What is remembered as JSON, and back, strictly: as text for a store, as data for whatever is saved together with a session."""

from collections.abc import Mapping
from typing import Any, Self

import orjson

from polycontext.linearity import InvalidDataError
from polycontext.linearity.codec import json_object, strict_converter, structured

from ..entities import SessionIdRegistry

SCHEMA = 1


class Stored:
    """Give a record of the memory its written forms; laws: ``from_data(r.to_data()) == r``, ``from_json(r.to_json()) == r``."""

    __slots__ = ()

    def to_data(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with a schema version; ids of entities are in them: for a store, never for a prompt."""
        return {"schema": SCHEMA, **_CONVERTER.unstructure(self)}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Restore what `to_data` returned.

        Raises:
            InvalidDataError: another schema, or a wrong, missing or unknown field; names the path of the first fault.
        """
        legal = f"what {cls.__name__}.to_data returned"
        if not isinstance(data, Mapping):
            raise InvalidDataError("$", f"{type(data).__name__} is no object", legal)
        fields = dict(data)
        schema = fields.pop("schema", None)
        # True == 1: the types have to be the same as well.
        if type(schema) is not int or schema != SCHEMA:
            raise InvalidDataError("$.schema", f"schema {schema!r:.60} is unknown", str(SCHEMA))
        return structured(_CONVERTER, fields, cls, legal=legal)

    def to_json(self) -> str:
        """Return the record as JSON text, which is the same for equal records."""
        return orjson.dumps(self.to_data()).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Restore what `to_json` returned; raise `InvalidDataError` as `from_data`, and for what is no JSON object."""
        return cls.from_data(json_object(text, legal=f"what {cls.__name__}.to_json returned"))


def _registry(value: object, _: object) -> SessionIdRegistry:
    try:
        return SessionIdRegistry.from_dict(value)
    except InvalidDataError as error:
        # The registry is the root of its own document, here it is a field.
        raise InvalidDataError(error.path.removeprefix("$").removeprefix("."), error.what, error.legal) from None


_CONVERTER = strict_converter(complete=True)
_CONVERTER.register_structure_hook(SessionIdRegistry, _registry)
_CONVERTER.register_unstructure_hook(SessionIdRegistry, SessionIdRegistry.to_dict)
