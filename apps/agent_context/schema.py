"""The schema as one table of namespaces and keys, read from the record classes.

Limits, rights, stats and diffs use this table, so a new field of a class is limited, guarded,
counted and compared without further code.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen

from polycontext.base import UnknownNameError, similar
from polycontext.base.json_data import FrozenDict

from .kinds import Kind, Shape
from .record_base import Record, layout
from .records import AgentContext


@frozen
class KeySchema:
    """A key of a namespace: its complete `kind`, its shape, and the class of its items."""

    namespace: str
    key: str
    kind: Kind

    @property
    def path(self) -> str:
        """Return the name of the key in rights and diffs, such as ``reasoning.intents``."""
        return f"{self.namespace}.{self.key}"

    @property
    def shape(self) -> Shape:
        """Return the form of the value in JSON."""
        return self.kind.shape

    @property
    def item(self) -> type[Record] | None:
        """Return the record class of an array's or map's items, or of an object itself.

        None for plain values.
        """
        return (self.kind.item or self.kind).record


SCHEMA: Mapping[str, Mapping[str, KeySchema]] = FrozenDict(
    {
        name: FrozenDict(
            {
                key: KeySchema(name, key, kind)
                for key, kind in layout(namespace.record).kinds.items()
            }
        )
        for name, namespace in layout(AgentContext).kinds.items()
        if namespace.record is not None
    }
)
"""Namespace → key → its schema, in the order of the document."""


def all_keys() -> Iterator[KeySchema]:
    """Yield every key of every namespace, in the order of the document.

    >>> next(all_keys()).path
    'metadata.session_id'
    """
    for keys in SCHEMA.values():
        yield from keys.values()


LISTS = tuple(key.path for key in all_keys() if key.shape is Shape.ARRAY)
"""The names of the keys that hold lists."""


def key_schema(namespace: str, key: str) -> KeySchema:
    """Return the schema of a key.

    Raises:
        UnknownNameError: there is no such namespace or key; names the nearest.
    """
    if not isinstance(namespace, str) or namespace not in SCHEMA:
        raise UnknownNameError("namespace", namespace, tuple(SCHEMA))
    keys = SCHEMA[namespace]
    if not isinstance(key, str) or key not in keys:
        near = similar(key, keys)
        legal, meant = (tuple(f"{namespace}.{name}" for name in names) for names in (keys, near))
        raise UnknownNameError("key", f"{namespace}.{key}", legal, meant)
    return keys[key]


def path_schema(path: str) -> KeySchema:
    """Return the schema of a key, given a path such as ``reasoning.intents``.

    Raises:
        UnknownNameError: there is no such key; names the nearest.
    """
    namespace, _, key = str(path).partition(".")
    return key_schema(namespace, key)
