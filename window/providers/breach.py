"""Breaches of OpenAI's rules, with their place and the vendor's wording.

The rules of both OpenAI formats are functions that return the first `Breach`, or None. A check
raises it as `InvalidMessagesError`; a strict provider answers with the vendor's status, wording,
`param` and `code`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from attrs import frozen

from ..errors import InvalidMessagesError
from .wire import Provider

MAX_TEXT = 10_485_760
"""The most characters of one text of a request."""

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_TOOL_NAME = 64
"""The most characters of a function's name."""

_BAD_REQUEST = 400


@frozen
class Breach:
    """A broken rule: its stable name, the vendor's wording, and the accepted values.

    `index` is the position of the message or item (None for the request as a whole). `param`,
    `code` and `status` are the further fields of the vendor's error.
    """

    rule: str
    message: str
    legal: str
    index: int | None = None
    param: str | None = None
    code: str | None = None
    status: int = _BAD_REQUEST

    def error(self, provider: str) -> InvalidMessagesError:
        """Return the breach as the error that a check raises."""
        return InvalidMessagesError(
            provider, self.index, self.rule, self.message, self.legal, wording=self.message
        )


ObjectJudge = Callable[[dict[str, Any], "Spot"], Breach | None]
"""A function that checks an object at its place."""


@frozen
class Spot:
    """A place in a request, such as ``messages[2].content[0]``.

    Its methods return breaches in the vendor's words.

    >>> Spot("messages[2]", 2).at(".role").missing("unknown-role").message
    "Missing required parameter: 'messages[2].role'."
    """

    path: str
    index: int | None = None

    def at(self, further: str) -> "Spot":
        """Return a place inside this one."""
        return Spot(self.path + further, self.index)

    def breach(
        self, rule: str, message: str, legal: str, code: str | None = "invalid_value"
    ) -> Breach:
        """Return a breach of `rule` at this place."""
        return Breach(rule, message, legal, self.index, self.path, code)

    def missing(self, rule: str, legal: str = "") -> Breach:
        """Return the breach for a missing required value."""
        return self.breach(
            rule,
            f"Missing required parameter: '{self.path}'.",
            legal or f"{self.path}",
            "missing_required_parameter",
        )

    def wrong_type(self, rule: str, expected: str, value: object) -> Breach:
        """Return the breach for a `value` that is not of the `expected` type."""
        message = (
            f"Invalid type for '{self.path}': expected {expected}, but got {kind_of(value)} "
            "instead."
        )
        return self.breach(rule, message, expected, "invalid_type")

    def unsupported(self, rule: str, value: object, supported: Sequence[str]) -> Breach:
        """Return the breach for a `value` that is not one of `supported`."""
        return self.breach(
            rule,
            f"Invalid value: '{value}'. Supported values are: {listed(supported)}.",
            ", ".join(supported),
        )

    def empty(self, rule: str) -> Breach:
        """Return the breach for an empty list."""
        expected = "Expected an array with minimum length 1, but got an empty array instead."
        return self.breach(
            rule,
            f"Invalid '{self.path}': empty array. {expected}",
            "a list with entries, or no such field",
            "empty_array",
        )

    def empty_text(self, rule: str) -> Breach:
        """Return the breach for an empty string."""
        expected = "Expected a string with minimum length 1, but got an empty string instead."
        return self.breach(
            rule,
            f"Invalid '{self.path}': empty string. {expected}",
            "text that is not empty",
            "empty_string",
        )

    def too_long(self, value: str | Sequence[Any], most: int) -> Breach:
        """Return the breach for a `value` longer than `most` characters or entries."""
        what, sort = ("string", "a string") if isinstance(value, str) else ("array", "an array")
        expected = (
            f"Expected {sort} with maximum length {most}, but got {sort} with length {len(value)} "
            "instead."
        )
        return self.breach(
            "too-long",
            f"Invalid '{self.path}': {what} too long. {expected}",
            f"at most {most}",
            f"{what}_above_max_length",
        )

    def no_match(self, rule: str, pattern: str) -> Breach:
        """Return the breach for a text that does not match `pattern`."""
        message = (
            f"Invalid '{self.path}': string does not match pattern. Expected a string that matches "
            f"the pattern '{pattern}'."
        )
        return self.breach(rule, message, f"text that matches {pattern}")

    def out_of_range(
        self, rule: str, value: float, *, least: float | None = None, most: float | None = None
    ) -> Breach | None:
        """Return the breach for a `value` below `least` or above `most`, or None.

        A number without an upper bound is an integer.
        """
        sort = "integer" if most is None else "decimal"
        if least is not None and value < least:
            return self._bound(
                rule,
                f"{sort} below minimum value. Expected a value >= {least}",
                value,
                f"{sort}_below_min_value",
            )
        if most is not None and value > most:
            return self._bound(
                rule,
                f"{sort} above maximum value. Expected a value <= {most}",
                value,
                f"{sort}_above_max_value",
            )
        return None

    def _bound(self, rule: str, problem: str, value: float, code: str) -> Breach:
        return self.breach(
            rule,
            f"Invalid '{self.path}': {problem}, but got {value} instead.",
            problem.partition(". ")[2],
            code,
        )

    def text(
        self, rule: str, value: object, *, most: int = MAX_TEXT, empty: bool = True
    ) -> Breach | None:
        """Check for text of at most `most` characters (at least one with ``empty=False``)."""
        if not isinstance(value, str):
            return self.wrong_type(rule, "a string", value)
        if not value and not empty:
            return self.empty_text(rule)
        return self.too_long(value, most) if len(value) > most else None

    def needed_text(
        self,
        rule: str,
        holder: dict[str, Any],
        key: str,
        *,
        most: int = MAX_TEXT,
        empty: bool = True,
    ) -> Breach | None:
        """Check the required text under `key` in `holder`."""
        if key not in holder:
            return self.at(f".{key}").missing(rule, "text")
        return self.at(f".{key}").text(rule, holder[key], most=most, empty=empty)

    def needed(
        self, rule: str, holder: dict[str, Any], key: str, kind: type, legal: str = ""
    ) -> Breach | None:
        """Check the required value of type `kind` under `key` in `holder`."""
        spot = self.at(f".{key}")
        if key not in holder:
            return spot.missing(rule, legal)
        value = holder[key]
        return None if isinstance(value, kind) else spot.wrong_type(rule, _EXPECTED[kind], value)

    def one_of(self, rule: str, value: object, legal: Sequence[str]) -> Breach | None:
        """Check that the value is None or one of `legal`."""
        return None if value is None or value in legal else self.unsupported(rule, value, legal)

    def each(self, rule: str, entries: object, judge: ObjectJudge) -> Breach | None:
        """Check a list of objects, each with `judge`."""
        if not isinstance(entries, list):
            return self.wrong_type(rule, "an array of objects", entries)
        return first(
            judge(entry, spot)
            if isinstance(entry, dict)
            else spot.wrong_type(rule, "an object", entry)
            for number, entry in enumerate(entries)
            for spot in (self.at(f"[{number}]"),)
        )

    def tool_name(
        self,
        holder: dict[str, Any],
        rule: str = "bad-tool-name",
        legal: str = "the name of the tool",
    ) -> Breach | None:
        """Check the required name of a function or custom tool.

        `rule` and `legal` are used if the name is missing.
        """
        spot, value = self.at(".name"), holder.get("name")
        if "name" not in holder:
            return spot.missing(rule, legal)
        if isinstance(value, str) and value and not TOOL_NAME.fullmatch(value):
            return spot.no_match("bad-tool-name", "^[a-zA-Z0-9_-]+$")
        return spot.text("bad-tool-name", value, most=MAX_TOOL_NAME, empty=False)


_EXPECTED = {dict: "an object", bool: "a boolean", str: "a string", list: "an array of objects"}


def first(breaches: Iterable[Breach | None]) -> Breach | None:
    """Return the first breach, or None if there is none."""
    return next((breach for breach in breaches if breach is not None), None)


class ListJudge(Protocol):
    """Checks a list one entry at a time; `count` is the number of entries checked so far."""

    count: int

    def add(self, entry: Any, /) -> Breach | None:
        """Return the breach of `entry`, the next one of the list, or None."""
        ...

    def pardon(self, entry: Any, /) -> None:
        """Continue after `entry`, which broke a rule, as if it were valid."""
        ...

    def end(self, *, allow_open_tail: bool = False) -> Breach | None:
        """Return the breach of the list as a whole if it ends here, or None."""
        ...


def list_breach(
    judge: ListJudge, entries: Iterable[object], *, allow_open_tail: bool
) -> Breach | None:
    """Return the first breach of a list that ends with `entries`, or None."""
    return first(map(judge.add, entries)) or judge.end(allow_open_tail=allow_open_tail)


def refuse(breach: Breach | None, provider: Provider) -> None:
    """Raise `InvalidMessagesError` if there is a breach."""
    if breach is not None:
        raise breach.error(provider)


def entry_breaches(judge: ListJudge, entries: Sequence[object]) -> Iterator[Breach]:
    """Yield the breaches that `judge` finds in `entries`, at most one for each entry."""
    for entry in entries:
        if (breach := judge.add(entry)) is not None:
            yield breach
            judge.pardon(entry)


def kind_of(value: object) -> str:
    """Return the vendor's name for the JSON type of `value`.

    >>> kind_of(None), kind_of([]), kind_of(1)
    ('null', 'an array', 'an integer')
    """
    names: dict[type, str] = {
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
        str: "a string",
        type(None): "null",
    }
    return names.get(type(value), "an object" if isinstance(value, dict) else "an array")


def listed(values: Collection[str]) -> str:
    """Return `values` quoted and enumerated as in the vendor's messages.

    >>> listed(["a", "b"]), listed(["a", "b", "c"])
    ("'a' and 'b'", "'a', 'b', and 'c'")
    """
    *others, last = [f"'{value}'" for value in values]
    if not others:
        return last
    comma = "," if others[1:] else ""
    return f"{', '.join(others)}{comma} and {last}"
