"""Places in requests of OpenAI, with the vendor's wording and limits.

Both OpenAI formats use them. An error holds the vendor's message, `param` and `code`, which
openai_rules.json has for the rules with a text of their own.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from re import Pattern
from typing import Any

from attrs import frozen

from ..errors import InvalidMessagesError
from .places import Place

MAX_TEXT = 10_485_760
"""The most characters of one text of a request."""

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_TOOL_NAME = 64
"""The most characters of a function's name."""

_EXPECTED: dict[type, str] = {
    dict: "an object",
    bool: "a boolean",
    str: "a string",
    list: "an array of objects",
    int: "an integer",
    float: "a decimal",
}
ObjectCheck = Callable[[dict[str, Any], "OpenAIPlace"], object]
"""A function that checks an object at its place, and raises `InvalidMessagesError`."""


@cache
def _rules() -> Mapping[str, Mapping[str, str | None]]:
    """Return the arguments of `OpenAIPlace.fault` by case; a slash parts a case from its rule."""
    rules: Mapping[str, Mapping[str, str | None]] = json.loads(
        Path(__file__).with_name("openai_rules.json").read_text(encoding="utf-8")
    )
    return rules


@frozen
class OpenAIPlace(Place):
    """A place in a request of OpenAI, such as ``messages[2].content[0]``."""

    def fault(
        self,
        rule: str,
        message: str,
        legal: str,
        code: str | None = "invalid_value",
        param: str | None = "",
    ) -> InvalidMessagesError:
        """Return the error for breaking `rule` here, with the vendor's `message`.

        The vendor names the parameter `param`, by default this place.
        """
        named = self.path if param == "" else param
        return InvalidMessagesError(
            str(self.provider), self.index, rule, message, legal, message, named, code
        )

    def broken(self, case: str, rule: str = "", **values: object) -> InvalidMessagesError:
        """Return the error for breaking a rule here: a `case` of openai_rules.json.

        The case names its rule, or is one of several rules, of which `rule` is broken. Its texts
        take `values`, besides the `path` and `index` of this place.
        """
        known = {"path": self.path, "index": self.index, **values}
        texts = _rules()[case].items()
        given: dict[str, Any] = {name: text and text.format_map(known) for name, text in texts}
        return self.fault(rule or case.partition("/")[0], **given)

    def missing(self, rule: str, legal: str = "") -> InvalidMessagesError:
        """Return the error for a missing required value."""
        return self.broken("missing", rule, legal=legal or self.path)

    def wrong_type(
        self, rule: str, kind: type | str, value: object, legal: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not of type `kind`."""
        expected = kind if isinstance(kind, str) else _EXPECTED[kind]
        return self.broken("wrong-type", rule, expected=expected, found=kind_of(value))

    def unsupported(
        self, rule: str, value: object, legal: Sequence[str], use: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not one of `legal`."""
        told = {"listed": listed(legal), "legal": use or ", ".join(legal)}
        return self.broken("unsupported", rule, value=value, **told)

    def no_match(self, rule: str, pattern: Pattern[str]) -> InvalidMessagesError:
        """Return the error for a text that does not match `pattern`."""
        return self.broken("no-match", rule, pattern=f"^{pattern.pattern}$")

    def empty(self, rule: str, value: str | Sequence[Any] = ()) -> InvalidMessagesError:
        """Return the error for an empty string or list."""
        return self.broken(f"empty/{'text' if isinstance(value, str) else 'list'}", rule)

    def too_long(self, value: str | Sequence[Any], most: int) -> InvalidMessagesError:
        """Return the error for a `value` longer than `most` characters or entries."""
        sort = "text" if isinstance(value, str) else "list"
        return self.broken(f"too-long/{sort}", most=most, length=len(value))

    def text(self, rule: str, value: object, *, most: int = MAX_TEXT, empty: bool = True) -> None:
        """Check for text of at most `most` characters (at least one with ``empty=False``)."""
        if not isinstance(value, str):
            raise self.wrong_type(rule, str, value)
        if not value and not empty:
            raise self.empty(rule, value)
        if len(value) > most:
            raise self.too_long(value, most)

    def needed_text(
        self,
        rule: str,
        holder: dict[str, Any],
        key: str,
        *,
        most: int = MAX_TEXT,
        empty: bool = True,
    ) -> None:
        """Check the required text under `key` in `holder`."""
        value = self.needed(rule, holder, key, str, "text")
        self.into(key).text(rule, value, most=most, empty=empty)

    def each(self, rule: str, entries: object, check: ObjectCheck) -> None:
        """Check a list of objects, each with `check`."""
        if not isinstance(entries, list):
            raise self.wrong_type(rule, list, entries)
        for number, entry in enumerate(entries):
            place = self.into(number)
            if not isinstance(entry, dict):
                raise place.wrong_type(rule, dict, entry)
            check(entry, place)

    def text_or_objects(self, content: object, check: ObjectCheck) -> None:
        """Check for text, or a list of objects, each with `check`."""
        rule = "bad-content"
        if isinstance(content, str):
            self.text(rule, content)
        elif not isinstance(content, list):
            raise self.wrong_type(rule, "one of a string or array of objects", content)
        else:
            self.each(rule, content, check)

    def tool_name(
        self,
        holder: dict[str, Any],
        rule: str = "bad-tool-name",
        legal: str = "the name of the tool",
    ) -> None:
        """Check the required name of a function or custom tool.

        `rule` and `legal` are used if the name is missing.
        """
        place, value = self.into("name"), holder.get("name")
        if "name" not in holder:
            raise place.missing(rule, legal)
        if isinstance(value, str) and value and not TOOL_NAME.fullmatch(value):
            raise place.no_match("bad-tool-name", TOOL_NAME)
        place.text("bad-tool-name", value, most=MAX_TOOL_NAME, empty=False)


def kind_of(value: object) -> str:
    """Return the vendor's name for the JSON type of `value`.

    >>> kind_of(None), kind_of([]), kind_of(1)
    ('null', 'an array', 'an integer')
    """
    if isinstance(value, list | tuple):
        return "an array"
    return "null" if value is None else _EXPECTED.get(type(value), "an object")


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
