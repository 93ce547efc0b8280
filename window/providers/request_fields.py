"""What both of OpenAI's formats demand of a request beside its messages: model, tools, choice of a tool, ranges of numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polycontext.linearity.json_data import copied

from .blocks import Place
from .breach import Breach, Spot, first
from .wire import Provider

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
