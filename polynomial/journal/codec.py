"""How events are written: as rows of a database, with the words in a row of their own.

The words of a turn (its content, and fields that few turns have) are kept apart, so that sessions
that share a turn share its words, and so that words to be erased are in one place. A recalled turn
is stored as the number of the event that added it, since its words are stored there.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, TypeVar

import orjson

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.base.json_data import check_text
from polycontext.linearity import UNIX_EPOCH, ResourceClass
from polycontext.pressure import Edit, Reach, Signals, SummaryUsage
from polycontext.window import Part, Role, Splice, ToolCall, Turn
from polycontext.window.sources import Sources

from ..state import State, state_of
from .origin import Origin

T = TypeVar("T")

_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = ("role", "content", "resource_id", "timestamp", "tokens")
ROLES: Mapping[str, Role] = {str(role): role for role in Role}
_CLASSES = tuple(ResourceClass)
LEGAL = "what was written"
RANGES = "ids, or ranges [first, stop] of places that were given before, in order"


def converter(unions: Mapping[Any, str] | None = None) -> Any:
    """Return a converter of turns, edits and states; for `unions` see `strict_converter`."""
    from polycontext.base.codec import strict_converter  # noqa: PLC0415 - loaded on first use

    made = strict_converter(
        sparse=(ToolCall, Part, Turn, Splice, Edit, Reach, Signals, Origin, SummaryUsage),
        unions=unions,
    )
    made.register_structure_hook_func(
        lambda kind: kind == Sequence[str], lambda value, _: read_sources(value)
    )
    made.register_unstructure_hook_func(lambda kind: kind == Sequence[str], written_sources)
    made.register_structure_hook_func(lambda kind: kind == State, lambda value, _: as_state(value))
    return made


@cache
def own_converter() -> Any:
    """Return the converter of events, made when the first is read or written."""
    return converter()


class Row(NamedTuple):
    """An event as a database stores it.

    `kind` is the role of a turn, or the name of the input; `state` is the state after the event;
    `at` is in microseconds since 1970. `content` is a turn's text, `more` the rest as JSON: calls,
    parts and metadata of a turn, or the edit of a compression.
    """

    kind: str
    state: str
    at: int
    resource_id: str | None = None
    resource_class: int | None = None
    pinned: int | None = None
    tokens: int | None = None
    content: str | None = None
    more: str | None = None


Numbers = Callable[[Sequence[str]], Mapping[str, int]]
"""Find the numbers of the events that added turns, by the ids of the turns."""
Turns = Callable[[Sequence[int]], Mapping[int, Turn]]
"""Read the turns that some events added, by the events' numbers."""


def turn_of_row(row: Row) -> Turn:
    """Return the turn in a row; raise `InvalidDataError` if there is none."""
    at = moment(row.at)
    if row.more is not None:
        data = load_json(row.more)
        if isinstance(data, dict):
            said = (row.kind, row.content, row.resource_id, at.isoformat(), row.tokens)
            data |= dict(zip(_COLUMNS, said, strict=True))
        return _structure(data, Turn)
    try:
        # The constructor validates the words, the id and the token count.
        return Turn(
            ROLES[row.kind],
            row.content,
            resource_id=row.resource_id or "",
            timestamp=at,
            tokens=row.tokens,
        )
    except (PolycontextError, KeyError) as error:
        raise InvalidDataError("content", f"{type(error).__name__}: {error}", LEGAL) from None


def microseconds(at: datetime) -> int:
    """Return a datetime as microseconds since 1970."""
    return (at - UNIX_EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """Return the datetime of `at` microseconds since 1970.

    Raise `InvalidDataError` if that is not a valid datetime.
    """
    try:
        return UNIX_EPOCH + timedelta(microseconds=at)
    except (TypeError, OverflowError):
        raise InvalidDataError(
            "at",
            f"{at!r:.60} is not a time",
            "whole microseconds since 1970, in the years 1 to 9999",
        ) from None


def rest_of(turn: Turn) -> str | None:
    """Return the fields of a turn that have no column as JSON, None if they are all empty."""
    if not (
        turn.tool_calls
        or turn.tool_call_id
        or turn.name
        or turn.metadata
        or turn.sources
        or turn.level
        or turn.parts
    ):
        return None
    data = own_converter().unstructure(turn)
    return to_json({name: value for name, value in data.items() if name not in _COLUMNS})


def recall_data(edit: Edit, numbers: Numbers) -> dict[str, Any]:
    """Return the edit of a recall, with turns replaced by their event numbers where known."""
    data: dict[str, Any] = own_converter().unstructure(edit)
    known = numbers([turn.resource_id for splice in edit.splices for turn in splice.turns])
    for splice in data.get("splices", ()):
        splice["turns"] = [known.get(turn["resource_id"], turn) for turn in splice.get("turns", ())]
    return data


def recalled_edit(data: Any, turns: Turns) -> Edit:
    """Return the edit of a recall with its event numbers replaced by the turns."""
    splices = data.get("splices") if isinstance(data, dict) else None
    entries: list[list[Any]] = (
        [splice.get("turns", []) for splice in splices if isinstance(splice, dict)]
        if isinstance(splices, list)
        else []
    )
    told = turns([number for listed in entries for number in listed if type(number) is int])
    for listed in entries:
        listed[:] = [_turn_data(told, entry) for entry in listed]
    return _structure(data, Edit)


def _turn_data(told: Mapping[int, Turn], entry: Any) -> Any:
    if type(entry) is not int:
        return entry
    if entry not in told:
        raise InvalidDataError(
            "more", f"event {entry} brought no turn in", "numbers of events that did"
        )
    return own_converter().unstructure(told[entry])


def as_class(value: object) -> ResourceClass:
    """Return the class of a number, or raise `InvalidDataError`."""
    if type(value) is not int or not 0 <= value < len(_CLASSES):
        raise InvalidDataError(
            "class", f"{value!r:.60} is not a resource class", f"0..{len(_CLASSES) - 1}"
        )
    return _CLASSES[value]


def as_text(value: object) -> str:
    """Return an id, or raise `InvalidDataError`."""
    if not isinstance(value, str):
        raise InvalidDataError("resource_id", f"{value!r:.60} is not an id", "a text")
    return value


def as_state(value: object) -> State:
    """Return a state, or raise `InvalidDataError`."""
    if not isinstance(value, str) or not value:
        raise InvalidDataError("state", f"{value!r:.60} is not a state", "the name of one")
    return state_of(value)


def to_json(data: Any) -> str:
    """Return data as JSON text."""
    return orjson.dumps(data).decode()


def load_json(text: object) -> Any:
    """Return the data of a JSON text, or raise `InvalidDataError`."""
    try:
        return orjson.loads(text)  # type: ignore[arg-type]  # validated here
    except orjson.JSONDecodeError as error:
        raise InvalidDataError("more", f"not JSON ({error})", LEGAL) from None


def read(text: object, kind: type[T]) -> T:
    """Return a `kind` from a JSON text, or raise `InvalidDataError`."""
    return _structure(load_json(text), kind)


def _structure(data: Any, kind: type[T]) -> T:
    from polycontext.base.codec import structured  # noqa: PLC0415 - loaded on first use

    return structured(own_converter(), data, kind, path="more", legal=LEGAL)


def _document(text: object, _: Turns) -> str:
    load_json(text)
    return str(text)


# --- sources of gists: ids, or ranges of places ------------------------------------------


def written_sources(sources: Sequence[str]) -> list[Any]:
    """Return the sources of a turn as JSON data: ids, or ranges of places."""
    return [[*each] for each in sources.named] if isinstance(sources, Sources) else [*sources]


def read_sources(value: object) -> tuple[Any, ...]:
    """Parse what `written_sources` returned; ranges stay ranges (see `with_sources`).

    Raises:
        InvalidDataError: it is neither a list of ids nor a list of ranges.
    """
    if not isinstance(value, list | tuple):
        raise InvalidDataError("", f"{type(value).__name__} is not a list", "a list")
    if value and all(map(_is_range, value)):
        return tuple(tuple(each) for each in value)
    return tuple(check_text(each, f"[{place}]") for place, each in enumerate(value))


def _is_range(value: object) -> bool:
    return isinstance(value, list | tuple) and [type(each) for each in value] == [int, int]


# --- the columns of fields -------------------------------------------------------------


class Column(NamedTuple):
    """Where a field of an event stands in a row, and how it is written and read."""

    name: str
    write: Callable[[Any, Numbers], Any]
    read: Callable[[Any, Turns], Any]


def _edit_text(edit: Edit, _: object) -> str:
    return to_json(own_converter().unstructure(edit))


NAME = Column("resource_id", lambda name, _: name, lambda name, _: as_text(name))
CLASS = Column("resource_class", lambda value, _: int(value), lambda value, _: as_class(value))
NUMBER = Column("more", lambda value, _: to_json(value), lambda text, _: read(text, int))
DOCUMENT = Column("more", lambda text, _: text, _document)
RATIONALE = Column(
    "more",
    lambda said, _: to_json(said) if said else None,
    lambda text, _: "" if text is None else read(text, str),
)
EDIT = Column("more", _edit_text, lambda text, _: read(text, Edit))
ORIGIN = Column(
    "content",
    lambda origin, _: None if origin is None else to_json(own_converter().unstructure(origin)),
    lambda text, _: None if text is None else read(text, Origin),
)
OWN_EDIT = Column(
    "content",
    lambda edit, _: None if edit is None else _edit_text(edit, _),
    lambda text, _: None if text is None else read(text, Edit),
)
RECALL = Column(
    "more",
    lambda edit, numbers: to_json(recall_data(edit, numbers)),
    lambda text, turns: recalled_edit(load_json(text), turns),
)
