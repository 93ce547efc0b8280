"""The schema as one table, read off the record classes: what stands in which namespace, and how it is checked.

Limits, rights, stats and diffs walk this table, so that a field
added to a class is limited, guarded, counted and compared without another line.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from attrs import frozen

from polycontext.linearity import UnknownNameError
from polycontext.linearity.json_data import FrozenDict

from .kinds import Kind, Shape
from .record_base import Record, layout
from .records import AgentContext


@frozen
class KeySchema:
    """Describe one key of a namespace: its `kind` in full, its shape, and the class of its items."""

    namespace: str
    key: str
    kind: Kind

    @property
    def path(self) -> str:
        """Return the name of the key in rights and diffs, such as ``reasoning.intents``."""
        return f"{self.namespace}.{self.key}"

    @property
    def shape(self) -> Shape:
        """Return what the value looks like in JSON."""
        return self.kind.shape

    @property
    def item(self) -> type[Record] | None:
        """Return the class of the records that an array or map holds, or of an object itself.

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
"""Namespace → key → what it holds, in the order of the document."""


def all_keys() -> Iterator[KeySchema]:
    """Yield every key of every namespace, in the order of the document.

    >>> next(all_keys()).path
    'metadata.session_id'
    """
    for keys in SCHEMA.values():
        yield from keys.values()


def list_paths() -> tuple[str, ...]:
    """Return the names of the keys that hold lists."""
    return tuple(key.path for key in all_keys() if key.shape is Shape.ARRAY)


def namespace_schema(namespace: str) -> Mapping[str, KeySchema]:
    """Return the keys of a namespace.

    Raise `UnknownNameError` naming the nearest if there is none of that name.
    """
    if not isinstance(namespace, str) or namespace not in SCHEMA:
        raise UnknownNameError("namespace", namespace, tuple(SCHEMA), _near(namespace, SCHEMA))
    return SCHEMA[namespace]


def key_schema(namespace: str, key: str) -> KeySchema:
    """Return what a key holds.

    Raise `UnknownNameError` naming the nearest if there is no such namespace or key.
    """
    keys = namespace_schema(namespace)
    if not isinstance(key, str) or key not in keys:
        legal, near = (
            tuple(f"{namespace}.{name}" for name in names) for names in (keys, _near(key, keys))
        )
        raise UnknownNameError("key", f"{namespace}.{key}", legal, near)
    return keys[key]


def _near(name: object, known: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(get_close_matches(name, known)) if isinstance(name, str) else ()
