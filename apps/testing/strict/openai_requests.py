"""OpenAI's rules for fields besides the messages, shared by both formats.

They cover options, tools and the tool choice. `place` is that of the whole request. Each check
raises `InvalidMessagesError`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.window.providers import ObjectCheck, OpenAIPlace

Request = Mapping[str, Any]
"""The body of a request."""

MAX_TOOLS = 128
"""The most functions that a request may define."""

_CHOICES = ("none", "auto", "required")


def check_number(
    request: Request,
    key: str,
    place: OpenAIPlace,
    *,
    least: int = 0,
    most: int | None = None,
    rule: str = "bad-option",
) -> None:
    """Check the number under `key`, if it is present.

    Without an upper bound, it must be an integer.
    """
    value, place = request.get(key), place.into(key)
    if value is None:
        return
    kinds, kind = ((int,), int) if most is None else ((int, float), float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise place.wrong_type(rule, kind, value)
    sort = "integer" if most is None else "decimal"
    if value < least:
        bound, legal, code = "below minimum", f"Expected a value >= {least}", "below_min"
    elif most is not None and value > most:
        bound, legal, code = "above maximum", f"Expected a value <= {most}", "above_max"
    else:
        return
    message = f"Invalid '{place.path}': {sort} {bound} value. {legal}, but got {value} instead."
    raise place.fault(rule, message, legal, f"{sort}_{code}_value")


def check_sampling(request: Request, place: OpenAIPlace) -> None:
    """Check the sampling options."""
    check_number(request, "temperature", place, most=2)
    check_number(request, "top_p", place, most=1)


def check_flags(request: Request, place: OpenAIPlace, *keys: str) -> None:
    """Check the booleans under `keys` that are present."""
    for key in keys:
        if request.get(key) is not None:
            place.needed("bad-option", request, key, bool)


def check_tools(request: Request, check: ObjectCheck, place: OpenAIPlace, *, empty: bool) -> None:
    """Check the list of tools, each with `check`; with `empty`, the list may be empty."""
    given, place = request.get("tools"), place.into("tools")
    if given is None:
        return
    if given == [] and not empty:
        raise place.empty("bad-tools")
    if isinstance(given, list) and len(given) > MAX_TOOLS:
        raise place.too_long(given, MAX_TOOLS)

    def check_tool(tool: dict[str, Any], inner: OpenAIPlace) -> None:
        inner.needed("bad-tools", tool, "type", str, "function")
        check(tool, inner)

    place.each("bad-tools", given, check_tool)


def check_function(body: dict[str, Any], place: OpenAIPlace) -> None:
    """Check the definition of a function: name, description and schema of its arguments."""
    place.tool_name(body, "bad-tools", "the name of the function")
    if body.get("description") is not None:
        place.into("description").text("bad-tools", body["description"])
    schema, place = body.get("parameters"), place.into("parameters")
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise place.wrong_type("bad-schema", dict, schema)
    problem = legal = ""
    if schema and schema.get("type") != "object":
        kind = f'"{schema["type"]}"' if "type" in schema else '"None"'
        problem = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."
        legal = "a JSON Schema of type object"
    elif body.get("strict") and schema and schema.get("additionalProperties") is not False:
        problem = (
            "In context=(), 'additionalProperties' is required to be supplied and to be false."
        )
        legal = "additionalProperties: false, or strict: false"
    if problem:
        message = f"Invalid schema for function '{body['name']}': {problem}"
        raise place.fault("bad-schema", message, legal, "invalid_function_parameters")


def check_choice(request: Request, names: Sequence[str], unknown: str, place: OpenAIPlace) -> None:
    """Check the tool choice.

    `names` are the tools that may be chosen. `unknown` is the vendor's message for any other tool
    ``{name}``.
    """
    given, place, rule = request.get("tool_choice"), place.into("tool_choice"), "bad-tool-choice"
    if isinstance(given, str):
        place.one_of(rule, given, _CHOICES)
    elif given is not None and not isinstance(given, dict):
        raise place.wrong_type(rule, "one of a tool choice object or string", given)
    elif given is not None and given.get("type") == "function":
        inner = given.get("function", given)
        name = inner.get("name") if isinstance(inner, dict) else None
        if isinstance(name, str) and name not in names:
            raise place.fault(rule, unknown.format(name=name), ", ".join(names), None)


def check_model(request: Request, place: OpenAIPlace) -> None:
    """Check the name of the model, if it is present."""
    if request.get("model") is not None:
        place.into("model").text("missing-model", request["model"], empty=False)
