"""Gemini's rules for whole requests: fields, contents and tools."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.base.json_data import copy_json
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, check
from polycontext.window.providers.places import Place

from .provider import TABLES, Request

FIELDS = tuple[str, ...](TABLES["gemini"])
"""The fields of a request."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_UNKNOWN_NAME = 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
_BAD_NAME = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
    "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length "
    "of 128."
)
_REQUEST = Place(Provider.GEMINI)


def check_request(request: Request) -> None:
    """Raise `InvalidMessagesError` for the body of a request that Gemini would reject."""
    body = copy_json(request, "", _REQUEST.no_json)
    unknown = next((name for name in body if name not in FIELDS), None)
    if unknown is not None:
        says = _UNKNOWN_NAME.format(name=unknown)
        raise _REQUEST.refuse("extra-field", f"{unknown} is unknown", ", ".join(FIELDS), says)
    check(body.get("contents"), Provider.GEMINI)
    instruction = body.get("systemInstruction")
    if instruction is not None and not (
        isinstance(instruction, dict) and isinstance(instruction.get("parts"), list)
    ):
        place = _REQUEST.into("systemInstruction")
        raise place.wrong("bad-content", instruction, "an object with parts")
    place = _REQUEST.into("tools")
    for number, tool in enumerate(_listed(body.get("tools"), place)):
        _check_tool(tool, place.into(number))


def findings(request: Sequence[Any] | Request) -> list[InvalidMessagesError]:
    """Return the first problem of a request's body or of its contents, or an empty list."""
    try:
        if isinstance(request, Mapping):
            check_request(request)
        else:
            check(request, Provider.GEMINI)
    except InvalidMessagesError as error:
        return [error]
    return []


def _check_tool(tool: object, place: Place) -> None:
    if not isinstance(tool, dict):
        raise place.wrong("bad-tools", tool, "an object with functionDeclarations, or a tool")
    declarations = place.into("functionDeclarations")
    for number, declared in enumerate(_listed(tool.get("functionDeclarations"), declarations)):
        inner = declarations.into(number)
        name = declared.get("name") if isinstance(declared, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problem, legal = f"{inner.path}.name is {name!r}", "letters, digits and _.:-"
            raise inner.refuse("bad-tool-name", problem, legal, _BAD_NAME)


def _listed(value: object, place: Place) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise place.wrong("bad-tools", value, "a list")
    return value or []
