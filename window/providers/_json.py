"""Messages as private copies that are known to be JSON data.

Whatever a caller hands in is copied and judged in one pass: everything behind
this door may index, compare and write the copy without ever failing on bytes,
NaN, cycles or text that cannot be stored.
"""

import json
import math
import reprlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from polycontext.window.errors import InvalidMessagesError, InvalidTurnError
from polycontext.window.providers.wire import Message, Provider
from polycontext.window.turn import check_text

MAX_DEPTH = 100
"""Levels of nesting accepted in one message; real ones stay below ten."""

MAX_BITS = 1024
"""Size accepted of an integer: what a JSON reader that works in doubles can still hold."""

_JSON = "JSON data: text, finite numbers, booleans, null, lists, objects with text keys"


@frozen
class Spot:
    """Stand for one message of a list, to say where an error is."""

    provider: Provider
    index: int | None

    def refuse(self, rule: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error that says `rule` is broken here."""
        return InvalidMessagesError(str(self.provider), self.index, rule, problem, legal)

    @contextmanager
    def turn_errors(self) -> Generator[None]:
        """Let a refused turn surface as a refused message that names index and field."""
        try:
            yield
        except InvalidTurnError as error:
            raise self.refuse("bad-turn", f"{error.field}: {error.problem}", error.legal) from error


class _FaultError(Exception):
    def __init__(self, rule: str, problem: str, legal: str = _JSON) -> None:
        super().__init__(problem)
        self.rule, self.problem, self.legal = rule, problem, legal
        self.path: list[str | int] = []

    def where(self) -> str:
        steps = (
            f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{shown(step)}]" for step in self.path[::-1]
        )
        return "".join(steps).removeprefix(".") or "the message"


def shown(value: object) -> str:
    """Return a short printable form of `value`: text is quoted and cut, other things give their type."""
    return reprlib.repr(str(value)) if isinstance(value, str) else type(value).__name__


def copied_messages(provider: Provider, messages: object) -> list[Message]:
    """Return a deep copy of `messages`, a non-empty list of JSON objects.

    Raises:
        InvalidMessagesError: rules not-a-list, empty-list, not-an-object, not-json, lone-surrogate.
    """
    whole = Spot(provider, None)
    if not isinstance(messages, list | tuple):
        raise whole.refuse("not-a-list", f"{type(messages).__name__} is no list", "a list of messages")
    if not messages:
        raise whole.refuse("empty-list", "there is no message", "at least one message")
    return [_copied_message(message, Spot(provider, index)) for index, message in enumerate(messages)]


def _copied_message(message: object, spot: Spot) -> Message:
    if not isinstance(message, Mapping):
        legal = "an object with a role; for an object of an SDK its model_dump(exclude_none=True)"
        raise spot.refuse("not-an-object", f"{type(message).__name__} is no object", legal)
    try:
        copy: Message = _copied(message, MAX_DEPTH)
    except _FaultError as fault:
        raise spot.refuse(fault.rule, f"{fault.where()}: {fault.problem}", fault.legal) from None
    return copy


def _copied(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _float(value)
    if depth == 0:
        raise _FaultError("not-json", f"nested deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {_key(key): _item(key, item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_item(index, item, depth - 1) for index, item in enumerate(value)]
    raise _FaultError("not-json", f"{type(value).__name__} is not JSON data")


def _item(step: Any, value: Any, depth: int) -> Any:
    if isinstance(value, str) and value.isascii():
        return value
    try:
        return _copied(value, depth)
    except _FaultError as fault:
        fault.path.append(step)
        raise


def _text(value: str) -> str:
    try:
        return check_text(value, "")
    except InvalidTurnError as error:
        raise _FaultError("lone-surrogate", error.problem, error.legal) from None


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _FaultError("not-json", f"a key is {type(key).__name__}, not text")
    return _text(key)


def _integer(value: int) -> int:
    if value.bit_length() > MAX_BITS:
        raise _FaultError("not-json", f"an integer of {value.bit_length()} bits", f"integers of at most {MAX_BITS} bits")
    return value


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise _FaultError("not-json", f"{value} is no number of JSON")
    return value


def plain_copy(value: Any) -> Any:
    """Return a deep copy of JSON data that has been judged before."""
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value


def compact(value: object) -> str:
    """Return JSON text without spaces, key order kept.

    >>> compact({"b": [1, "ä"], "a": None})
    '{"b":[1,"ä"],"a":null}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loaded_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that `text` holds, or None if it holds none that could be sent.

    >>> loaded_object('{"city": "Paris"}'), loaded_object('{"x": NaN}'), loaded_object("Paris")
    ({'city': 'Paris'}, None, None)
    """
    try:
        value = _copied(json.loads(text), MAX_DEPTH // 2)
    except (ValueError, RecursionError, _FaultError):
        return None
    return value if isinstance(value, dict) else None
