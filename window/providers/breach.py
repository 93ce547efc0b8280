"""What breaks a rule of OpenAI's, where, and how the vendor says so.

The rules of both OpenAI formats are functions that return the first `Breach`, or None. Who checks raises it as
`InvalidMessagesError`; a strict provider answers with the vendor's status, wording, `param` and `code`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from attrs import evolve, frozen

from polycontext.linearity.json_data import copied

from ..errors import InvalidMessagesError
from .blocks import Place
from .wire import Provider

MAX_TEXT = 10_485_760
"""Characters that one text of a request may have."""

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_TOOL_NAME = 64
"""Characters that the name of a function may have."""

_BAD_REQUEST = 400


@frozen
class Breach:
    """Say which rule a request breaks: its stable name, the vendor's wording, and what would have passed.

    `index` is the place of the message or item (None for the request as a whole); `param`, `code` and `status` are what the
    vendor's error holds besides.
    """

    rule: str
    message: str
    legal: str
    index: int | None = None
    param: str | None = None
    code: str | None = None
    status: int = _BAD_REQUEST

    def error(self, provider: str) -> InvalidMessagesError:
        """Return the breach as the error that callers of a check get."""
        return InvalidMessagesError(provider, self.index, self.rule, self.message, self.legal, wording=self.message)


@frozen
class Spot:
    """Stand for a place in a request, such as ``messages[2].content[0]``, and say in the vendor's words what is wrong there.

    >>> Spot("messages[2]", 2).at(".role").missing("unknown-role").message
    "Missing required parameter: 'messages[2].role'."
    """

    path: str
    index: int | None = None

    def at(self, further: str) -> "Spot":
        """Return a place inside of this one."""
        return Spot(self.path + further, self.index)

    def breach(self, rule: str, message: str, legal: str, code: str | None = "invalid_value") -> Breach:
        """Return what `rule` says of this place."""
        return Breach(rule, message, legal, self.index, self.path, code)

    def missing(self, rule: str, legal: str = "") -> Breach:
        """Say that this is required."""
        return self.breach(rule, f"Missing required parameter: '{self.path}'.", legal or f"{self.path}", "missing_required_parameter")

    def wrong_type(self, rule: str, expected: str, value: object) -> Breach:
        """Say that `value` is not of the `expected` type."""
        message = f"Invalid type for '{self.path}': expected {expected}, but got {kind_of(value)} instead."
        return self.breach(rule, message, expected, "invalid_type")

    def unsupported(self, rule: str, value: object, supported: Sequence[str]) -> Breach:
        """Say that `value` is none of those that are `supported` here."""
        return self.breach(rule, f"Invalid value: '{value}'. Supported values are: {listed(supported)}.", ", ".join(supported))

    def empty(self, rule: str) -> Breach:
        """Say that an empty list stands here."""
        expected = "Expected an array with minimum length 1, but got an empty array instead."
        return self.breach(rule, f"Invalid '{self.path}': empty array. {expected}", "a list with entries, or no such field", "empty_array")

    def empty_text(self, rule: str) -> Breach:
        """Say that an empty text stands here."""
        expected = "Expected a string with minimum length 1, but got an empty string instead."
        return self.breach(rule, f"Invalid '{self.path}': empty string. {expected}", "text that is not empty", "empty_string")

    def too_long(self, value: str | Sequence[Any], most: int) -> Breach:
        """Say that `value` is longer than `most` characters or entries."""
        what, sort = ("string", "a string") if isinstance(value, str) else ("array", "an array")
        expected = f"Expected {sort} with maximum length {most}, but got {sort} with length {len(value)} instead."
        return self.breach("too-long", f"Invalid '{self.path}': {what} too long. {expected}", f"at most {most}", f"{what}_above_max_length")

    def no_match(self, rule: str, pattern: str) -> Breach:
        """Say that the text here does not match `pattern`."""
        message = f"Invalid '{self.path}': string does not match pattern. Expected a string that matches the pattern '{pattern}'."
        return self.breach(rule, message, f"text that matches {pattern}")

    def out_of_range(self, rule: str, value: float, *, least: float | None = None, most: float | None = None) -> Breach | None:
        """Say that `value` is below `least` or above `most`, or nothing. A number without an upper bound is a whole one."""
        sort = "integer" if most is None else "decimal"
        if least is not None and value < least:
            return self._bound(rule, f"{sort} below minimum value. Expected a value >= {least}", value, f"{sort}_below_min_value")
        if most is not None and value > most:
            return self._bound(rule, f"{sort} above maximum value. Expected a value <= {most}", value, f"{sort}_above_max_value")
        return None

    def _bound(self, rule: str, problem: str, value: float, code: str) -> Breach:
        return self.breach(rule, f"Invalid '{self.path}': {problem}, but got {value} instead.", problem.partition(". ")[2], code)

    def text(self, rule: str, value: object, *, most: int = MAX_TEXT, empty: bool = True) -> Breach | None:
        """Judge what must be text of at most `most` characters, and with ``empty=False`` of at least one."""
        if not isinstance(value, str):
            return self.wrong_type(rule, "a string", value)
        if not value and not empty:
            return self.empty_text(rule)
        return self.too_long(value, most) if len(value) > most else None

    def needed_text(self, rule: str, holder: dict[str, Any], key: str, *, most: int = MAX_TEXT, empty: bool = True) -> Breach | None:
        """Judge the text that `holder` must have under `key`."""
        if key not in holder:
            return self.at(f".{key}").missing(rule, "text")
        return self.at(f".{key}").text(rule, holder[key], most=most, empty=empty)

    def tool_name(self, value: object, rule: str = "bad-tool-name") -> Breach | None:
        """Judge the name of a function or custom tool."""
        if isinstance(value, str) and value and not TOOL_NAME.fullmatch(value):
            return self.no_match(rule, "^[a-zA-Z0-9_-]+$")
        return self.text(rule, value, most=MAX_TOOL_NAME, empty=False)


def first(breaches: Iterable[Breach | None]) -> Breach | None:
    """Return the first breach, if there is one."""
    return next((breach for breach in breaches if breach is not None), None)


class ListJudge(Protocol):
    """Judge a list one entry after the other."""

    def add(self, entry: Any, /) -> Breach | None:
        """Return what `entry` breaks, coming next."""
        ...

    def pardon(self, entry: Any, /) -> None:
        """Go on behind `entry`, which broke a rule, as if it were fine."""
        ...


def entry_breaches(judge: ListJudge, entries: Sequence[object]) -> Iterator[Breach]:
    """Yield what `judge` finds in `entries`, one breach an entry at most."""
    for entry in entries:
        if (breach := judge.add(entry)) is not None:
            yield breach
            judge.pardon(entry)


def with_status(breach: Breach, status: int) -> Breach:
    """Return `breach` with another HTTP status."""
    return evolve(breach, status=status)


def kind_of(value: object) -> str:
    """Return what the vendor calls the JSON type of `value`.

    >>> kind_of(None), kind_of([]), kind_of(1)
    ('null', 'an array', 'an integer')
    """
    names: dict[type, str] = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", type(None): "null"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "an array")


def listed(values: Collection[str]) -> str:
    """Return `values` quoted and enumerated, as the vendor does.

    >>> listed(["a", "b"]), listed(["a", "b", "c"])
    ("'a' and 'b'", "'a', 'b', and 'c'")
    """
    *others, last = [f"'{value}'" for value in values]
    if not others:
        return last
    comma = "," if others[1:] else ""
    return f"{', '.join(others)}{comma} and {last}"


Request = Mapping[str, Any]
"""The body of a request."""

MAX_TOOLS = 128
"""Functions that a request may define."""

_CHOICES = ("none", "auto", "required")


def copied_request(provider: Provider, request: object) -> dict[str, Any]:
    """Return a copy of `request` that is known to be JSON data.

    Raises:
        InvalidMessagesError: rules not-an-object, not-json, lone-surrogate.
    """
    place = Place(provider, None)
    if not isinstance(request, Mapping):
        raise place.refuse("not-an-object", f"{type(request).__name__} is no object", "the body of a request")
    return dict(copied(request, "", place.no_json))


def text_field(request: Request, key: str, rule: str) -> Breach | None:
    """Judge the text under `key`, if there is one."""
    value = request.get(key)
    return None if value is None else Spot(key).text(rule, value)


def number(request: Request, key: str, *, least: float | None = None, most: float | None = None) -> Breach | None:
    """Judge the number under `key`, if there is one; without an upper bound it must be a whole one."""
    value: object = request.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or (most is None and isinstance(value, float)):
        return Spot(key).wrong_type("bad-option", "an integer" if most is None else "a decimal", value)
    return Spot(key).out_of_range("bad-option", value, least=least, most=most)


def flag(request: Request, key: str) -> Breach | None:
    """Judge the truth value under `key`, if there is one."""
    value = request.get(key)
    return None if value is None or isinstance(value, bool) else Spot(key).wrong_type("bad-option", "a boolean", value)


def tools(request: Request, judge: Callable[[Mapping[str, Any], Spot], Breach | None], *, empty: bool) -> Breach | None:
    """Judge the list of tools, each by `judge`; with `empty` it may hold none."""
    given, place = request.get("tools"), Spot("tools")
    if given is None:
        return None
    if not isinstance(given, list):
        return place.wrong_type("bad-tools", "an array of objects", given)
    if not given and not empty:
        return place.empty("bad-tools")
    if len(given) > MAX_TOOLS:
        return place.too_long(given, MAX_TOOLS)
    return first(_tool(tool, judge, place.at(f"[{index}]")) for index, tool in enumerate(given))


def _tool(tool: object, judge: Callable[[Mapping[str, Any], Spot], Breach | None], place: Spot) -> Breach | None:
    if not isinstance(tool, dict):
        return place.wrong_type("bad-tools", "an object", tool)
    if not isinstance(tool.get("type"), str):
        spot = place.at(".type")
        return spot.missing("bad-tools", "function") if "type" not in tool else spot.wrong_type("bad-tools", "a string", tool["type"])
    return judge(tool, place)


def function(body: Mapping[str, Any], place: Spot) -> Breach | None:
    """Judge the definition of a function: name, description, schema of its arguments."""
    if "name" not in body:
        return place.at(".name").missing("bad-tools", "the name of the function")
    breach = place.at(".name").tool_name(body["name"])
    if breach is None and body.get("description") is not None:
        breach = place.at(".description").text("bad-tools", body["description"])
    return breach or _schema(body, place.at(".parameters"))


def _schema(body: Mapping[str, Any], place: Spot) -> Breach | None:
    schema = body.get("parameters")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        return place.wrong_type("bad-schema", "an object", schema)
    name, code = body["name"], "invalid_function_parameters"
    if schema and schema.get("type") != "object":
        kind = f'"{schema["type"]}"' if "type" in schema else '"None"'
        message = f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."
        return place.breach("bad-schema", message, "a JSON Schema of type object", code)
    if body.get("strict") and schema and schema.get("additionalProperties") is not False:
        message = f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and to be false."
        return place.breach("bad-schema", message, "additionalProperties: false, or strict: false", code)
    return None


def choice(request: Request, names: Sequence[str], unknown: str) -> Breach | None:
    """Judge the choice of a tool; `names` are the tools that may be chosen, `unknown` is what the vendor says of another one ``{name}``."""
    given, place = request.get("tool_choice"), Spot("tool_choice")
    if given is None:
        return None
    if isinstance(given, str) and given not in _CHOICES:
        return place.unsupported("bad-tool-choice", given, _CHOICES)
    if not isinstance(given, str | dict):
        return place.wrong_type("bad-tool-choice", "one of a tool choice object or string", given)
    if isinstance(given, str):
        return None
    name = chosen(given)
    if name is None or name in names:
        return None
    return place.breach("bad-tool-choice", unknown.format(name=name), ", ".join(names), None)


def chosen(given: Mapping[str, Any]) -> str | None:
    """Return the name of the function that a choice names, in either format; None where it names none."""
    inner = given.get("function", given)
    name = inner.get("name") if isinstance(inner, dict) and given.get("type") == "function" else None
    return name if isinstance(name, str) else None


def model(request: Request) -> Breach | None:
    """Judge the name of the model, if it is given."""
    value = request.get("model")
    return None if value is None else Spot("model").text("missing-model", value, empty=False)
