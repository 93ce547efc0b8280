"""Translate between refs and ids in JSON payloads, and hide ids from models.

In payloads to and from the database, a text outside named fields is translated only if it is
exactly a ref or an id. Texts that merely contain one, keys, and numbers outside named fields are
left unchanged.

Everything that a model is shown hides ids. An id of eight characters or more is replaced wherever
it stands as a whole word. A shorter id might be an ordinary number or word, so it is replaced only
in a field named for ids: ``<name>_id`` and ``<name>_ids``, and ``id`` in an entity's own data or in
an object in a field named for its type.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeAlias

from attrs import evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import MAX_DEPTH, under

from ..prompt_text import json_line
from .known_ids import KnownIds
from .names import GENERATED, EntityId, RefRefusedError, parse_ref, ref_name
from .records import EntitySnapshot, Records, Tombstone

Fields: TypeAlias = Iterable[str] | Mapping[str, str] | None
"""Names of fields that hold refs or ids, at any depth, optionally with the type of each.

None translates every text.
"""

_ANY = ""  # a field of unstated type; None means no field at all
_Swap = Callable[[Any, str | None, str], Any]


def id_of(records: Records, ref: str, kind: str | None = None, path: str | None = None) -> EntityId:
    """Return the id behind a ref, which must be of type `kind` if that is given."""
    entry = records.live[records.resolve(ref, path)]
    if kind is not None and entry.snapshot.type != kind:
        raise RefRefusedError(
            ref, f"is of type {entry.snapshot.type}", f"Use a ref of type {kind}", path
        )
    if entry.id is None:
        raise RefRefusedError(ref, "is generated and has no id yet", "Save it first", path)
    return entry.id


def ref_of(
    records: Records, id: EntityId, kind: str | None = None, path: str | None = None
) -> str | None:
    """Return the last ref of an id, or None; search all types unless `kind` is given."""
    kinds = (
        [kind]
        if kind is not None
        else sorted(each for each in records.kinds if (each, id) in records.index)
    )
    if len(kinds) > 1:
        raise InvalidDataError(
            path or "id", f"{id!r} belongs to several types", f"a type: one of {', '.join(kinds)}"
        )
    return records.index.get((kinds[0], id)) if kinds else None


def to_ids(records: Records, payload: Any, fields: Fields) -> Any:
    """Return a copy of a payload with refs replaced by ids."""

    def anywhere(value: Any, _: str | None, path: str) -> Any:
        return (
            id_of(records, value, None, path)
            if isinstance(value, str) and _claims_to_be_ref(records, value)
            else value
        )

    def named(value: Any, kind: str | None, path: str) -> Any:
        # A value that is not text is refused as an unknown ref.
        return (
            None
            if value is None
            else id_of(records, value if isinstance(value, str) else repr(value), kind, path)
        )

    return _translate(payload, fields, anywhere if fields is None else named)


def to_refs(records: Records, payload: Any, fields: Fields) -> Any:
    """Return a copy of a payload with ids replaced by refs; unknown ids are left unchanged."""

    def swap(value: Any, kind: str | None, path: str) -> Any:
        is_id = isinstance(value, str) or (fields is not None and type(value) is int)
        return (ref_of(records, value, kind, path) or value) if is_id else value

    return _translate(payload, fields, swap)


def _claims_to_be_ref(records: Records, text: str) -> bool:
    # A text that looks like a ref of a known name is a model's slip: it must not reach the
    # database.
    parts = parse_ref(text)
    return parts is not None and (
        parts[0] in records.counters or parts[0].removeprefix(GENERATED) in records.counters
    )


def _translate(payload: Any, fields: Fields, swap: _Swap) -> Any:
    kinds = (
        fields
        if fields is None or isinstance(fields, Mapping)
        else dict.fromkeys([fields] if isinstance(fields, str) else fields, _ANY)
    )

    def walk(value: Any, path: str, depth: int, kind: str | None) -> Any:
        if not isinstance(value, Mapping | list | tuple):
            return value if kind is None else swap(value, kind or None, path)
        if not depth:
            raise InvalidDataError(
                "payload", f"nested deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels"
            )
        if isinstance(value, Mapping):
            of = (lambda _: _ANY) if kinds is None else kinds.get
            return {
                key: walk(item, under(path, str(key)), depth - 1, of(key))
                for key, item in value.items()
            }
        return [walk(item, under(path, index), depth - 1, kind) for index, item in enumerate(value)]

    return walk(payload, "$", MAX_DEPTH, _ANY if kinds is None else None)


OPAQUE = 8
"""The length from which an id cannot be an ordinary number or word."""

_REF = re.compile(r"\b[^\W\d]\w*_[1-9][0-9]*\b")


@frozen
class HiddenIds:
    """The known ids of one registry, ready to be hidden.

    `names` maps ref names to types, and `opaque` finds long ids.
    """

    records: Records
    names: Mapping[str, str]
    opaque: KnownIds

    @classmethod
    def from_records(cls, records: Records, ref_names: Mapping[str, str]) -> Self:
        """Collect all ids that were ever known, including those of removed entities."""
        texts = ((str(id_), ref) for (_, id_), ref in records.index.items())
        opaque = {text: ref for text, ref in texts if len(text) >= OPAQUE}
        # Where two types share a name, the choice is deterministic.
        names = {ref_name(kind, ref_names): kind for kind in sorted(records.kinds)}
        return cls(records, names, KnownIds(opaque))

    def snapshot(self, shown: EntitySnapshot) -> EntitySnapshot:
        """Return a snapshot with ids replaced by refs."""
        reason = None if shown.retention_reason is None else self.text(shown.retention_reason)
        data = None if shown.data is None else self._object(shown.data, shown.type)
        return evolve(shown, label=self.text(shown.label), retention_reason=reason, data=data)

    def tombstone(self, shown: Tombstone) -> Tombstone:
        """Return a tombstone with ids replaced by refs."""
        return evolve(shown, label=self.text(shown.label), reason=self.text(shown.reason))

    def payload(self, payload: Any, kind: str) -> Any:
        """Return a copy of a text, or of JSON data of entities of `kind`, without ids."""
        return self._value(payload, "", kind)

    def text(self, text: str) -> str:
        """Return a text with opaque ids replaced by refs."""
        return self.opaque.replaced(text)

    def name_refs(self, text: str) -> str:
        """Return a text with refs replaced by labels, each on one line."""
        return _REF.sub(lambda found: self._label(found[0]), text)

    def _label(self, ref: str) -> str:
        current = self.records.aliases.get(ref, ref)
        entry, gone = self.records.live.get(current), self.records.removed.get(current)
        known = entry.snapshot if entry else gone.tombstone if gone else None
        # Encode as JSON so that a line break in a label stays in the sentence; drop the quotes.
        return json_line(self.text(known.label))[1:-1] if known else ref

    def _object(self, data: Mapping[str, Any], kind: str) -> dict[str, Any]:
        return {self.text(key): self._value(value, kind, key) for key, value in data.items()}

    def _value(self, value: Any, kind: str, key: str) -> Any:
        match value:
            case Mapping():
                return self._object(value, self._kind_named(key))
            case list() | tuple():
                return [self._value(item, kind, key) for item in value]
            case None | bool() | float():
                return value
            case _:
                hidden = self._in_field(value, kind, key) or self.text(str(value))
                # A number that is no id stays a number.
                return value if hidden == str(value) else hidden

    def _in_field(self, value: str | int, kind: str, key: str) -> str | None:
        # Types number their rows independently, so an id is looked up only if its type is known.
        if key == "id":
            return self.records.index.get((kind, value))
        name = next(
            (key.removesuffix(ending) for ending in ("_id", "_ids") if key.endswith(ending)), ""
        )
        return self.records.index.get((self._kind_named(name), value))

    def _kind_named(self, name: str) -> str:
        return name if name in self.records.kinds else self.names.get(name, "")
