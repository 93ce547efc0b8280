"""Places in requests: the errors for what is wrong at a place, and checks of values there.

A `Place` describes an error in our words. Each vendor has a subclass that adds the vendor's own
wording, so that all vendors share the checks.
"""

import reprlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from attrs import frozen

from polycontext.base.json_data import STORABLE, kind_of

from ..errors import InvalidMessagesError, InvalidTurnError
from .wire import Provider


@frozen
class Place:
    """A place in a request of `provider`: the keys and indices that lead to it.

    A step that begins with ``!`` is a tag, which only Anthropic includes in a path.

    >>> place = Place(Provider.ANTHROPIC, ("messages", 3)).into("content", 2, "!image", "source")
    >>> place.path, place.within, place.index
    ('messages[3].content[2].source', 'content[2].source', 3)
    """

    provider: Provider
    steps: tuple[str | int, ...] = ()

    def into(self, *steps: str | int) -> Self:
        """Return a place inside this one."""
        return type(self)(self.provider, self.steps + steps)

    @property
    def index(self) -> int | None:
        """Return the index of the message or item, or None for a place outside of all."""
        match self.steps:
            case ("messages" | "input", int(index), *_):
                return index
            case _:
                return None

    @property
    def path(self) -> str:
        """Return the place in Python notation."""
        return _path(self.steps)

    @property
    def within(self) -> str:
        """Return the place within its message, or within the request, in Python notation."""
        is_inside = self.index is not None or self.steps == ("messages",)
        return _path(self.steps[2:] if is_inside else self.steps) or "the message"

    def refuse(self, rule: str, problem: str, legal: str, says: str = "") -> InvalidMessagesError:
        """Return the error for breaking `rule` here; `says` is the vendor's wording."""
        return InvalidMessagesError(str(self.provider), self.index, rule, problem, legal, says)

    def wrong(self, rule: str, value: object, legal: str) -> InvalidMessagesError:
        """Return the error for a `value` that is not accepted here."""
        said = "missing or null" if value is None else shown(value)
        return self.refuse(rule, f"{self.within} is {said}", legal)

    def missing(self, rule: str, legal: str) -> InvalidMessagesError:
        """Return the error for a missing required value."""
        return self.refuse(rule, f"{self.within} is missing", legal)

    def wrong_type(
        self, rule: str, kind: type, value: object, legal: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not of type `kind`."""
        return self.wrong(rule, value, legal)

    def unsupported(
        self, rule: str, value: object, legal: Sequence[str], use: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not one of `legal`; `use` describes them."""
        return self.wrong(rule, value, use or ", ".join(legal))

    def needed(
        self, rule: str, holder: Mapping[str, Any], key: str, kind: type, legal: str = ""
    ) -> Any:
        """Return the required value of type `kind` under `key` in `holder`.

        Raises:
            InvalidMessagesError: `rule`, if it is missing or of another type.
        """
        place = self.into(key)
        if key not in holder:
            raise place.missing(rule, legal)
        if not isinstance(holder[key], kind):
            raise place.wrong_type(rule, kind, holder[key], legal)
        return holder[key]

    def one_of(self, rule: str, value: object, legal: Sequence[str], use: str = "") -> None:
        """Raise `InvalidMessagesError` unless `value` is one of `legal`, which `use` describes."""
        if value not in legal:
            raise self.unsupported(rule, value, legal, use)

    def no_json(self, path: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error for a value at `path` that is not JSON data."""
        rule = "lone-surrogate" if legal == STORABLE else "not-json"
        return self.refuse(rule, f"{path or 'the message'}: {problem}", legal)

    @contextmanager
    def turn_errors(self) -> Generator[None]:
        """Convert `InvalidTurnError` to `InvalidMessagesError` with index and field."""
        try:
            yield
        except InvalidTurnError as error:
            raise self.refuse("bad-turn", f"{error.field}: {error.problem}", error.legal) from error


def _path(steps: Sequence[str | int]) -> str:
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not step.startswith("!"):
            text += f".{step}" if text else step
    return text


def shown(value: object) -> str:
    """Return a short form of `value` for error messages: long text is cut, others by type."""
    return reprlib.repr(str(value)) if isinstance(value, str) else kind_of(value)
