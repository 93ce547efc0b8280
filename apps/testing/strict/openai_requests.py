"""OpenAI's rules for fields besides the messages, shared by both formats.

They cover options, tools and the tool choice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.base.json_data import copy_json
from polycontext.window.providers import (
    Breach,
    ObjectJudge,
    Place,
    Provider,
    Spot,
    first,
    is_whole,
)

Request = Mapping[str, Any]
"""The body of a request."""

MAX_TOOLS = 128
"""The most functions that a request may define."""

_CHOICES = ("none", "auto", "required")


def copy_request(provider: Provider, request: Request) -> dict[str, Any]:
    """Return a copy of `request` that is valid JSON data.

    Raises:
        InvalidMessagesError: Rules not-json, lone-surrogate.
    """
    return dict(copy_json(request, "", Place(provider, None).no_json))


def text_field(request: Request, key: str, rule: str) -> Breach | None:
    """Check the text under `key`, if it is present."""
    value = request.get(key)
    return None if value is None else Spot(key).text(rule, value)


def number(
    request: Request, key: str, *, least: float | None = None, most: float | None = None
) -> Breach | None:
    """Check the number under `key`, if it is present.

    Without an upper bound, it must be an integer.
    """
    value: object = request.get(key)
    if value is None:
        return None
    if not is_whole(value) and (most is None or not isinstance(value, float)):
        expected = "an integer" if most is None else "a decimal"
        return Spot(key).wrong_type("bad-option", expected, value)
    return Spot(key).out_of_range("bad-option", value, least=least, most=most)


def sampling(request: Request) -> Breach | None:
    """Check the sampling options."""
    return number(request, "temperature", least=0, most=2) or number(
        request, "top_p", least=0, most=1
    )


def flags(request: Request, *keys: str) -> Breach | None:
    """Check the booleans under `keys` that are present."""
    return first(
        Spot(key).wrong_type("bad-option", "a boolean", request[key])
        for key in keys
        if not isinstance(request.get(key), bool | None)
    )


def tools(request: Request, judge: ObjectJudge, *, empty: bool) -> Breach | None:
    """Check the list of tools, each with `judge`; with `empty`, the list may be empty."""
    given, place = request.get("tools"), Spot("tools")
    if given is None:
        return None
    if given == [] and not empty:
        return place.empty("bad-tools")
    if isinstance(given, list) and len(given) > MAX_TOOLS:
        return place.too_long(given, MAX_TOOLS)
    return place.each(
        "bad-tools",
        given,
        lambda tool, spot: (
            spot.needed("bad-tools", tool, "type", str, "function") or judge(tool, spot)
        ),
    )


def function(body: dict[str, Any], place: Spot) -> Breach | None:
    """Check the definition of a function: name, description and schema of its arguments."""
    breach = place.tool_name(body, "bad-tools", "the name of the function")
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
        message = (
            f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: "
            f"\"object\"', got 'type: {kind}'."
        )
        return place.breach("bad-schema", message, "a JSON Schema of type object", code)
    if body.get("strict") and schema and schema.get("additionalProperties") is not False:
        message = (
            f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is "
            "required to be supplied and to be false."
        )
        return place.breach(
            "bad-schema", message, "additionalProperties: false, or strict: false", code
        )
    return None


def choice(request: Request, names: Sequence[str], unknown: str) -> Breach | None:
    """Check the tool choice.

    `names` are the tools that may be chosen. `unknown` is the vendor's message for any other tool
    ``{name}``.
    """
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
    """Return the name of the function that a tool choice names, in either format.

    Returns None if it names none.
    """
    inner = given.get("function", given)
    name = (
        inner.get("name") if isinstance(inner, dict) and given.get("type") == "function" else None
    )
    return name if isinstance(name, str) else None


def model(request: Request) -> Breach | None:
    """Check the name of the model, if it is present."""
    value = request.get("model")
    return None if value is None else Spot("model").text("missing-model", value, empty=False)
