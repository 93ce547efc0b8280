"""Gemini's rules for contents (docs/providers.md), from its reference and recorded errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define

from ...errors import InvalidMessagesError
from ..blocks import copied_messages
from ..judge import ListJudge
from ..places import Place
from ..wire import Message, Provider

CALL, RESULT, SIGNATURE = "functionCall", "functionResponse", "thoughtSignature"
ROLES = {"user": "user", "model": "model", "function": "user", "tool": "user", "system": "system"}
"""The accepted roles, with the side that they speak for; a content without a role is the user's."""

_CAMEL = {
    name: "".join([first, *(word.title() for word in rest)])
    for name in (
        "code_execution_result",
        "display_name",
        "executable_code",
        "file_data",
        "file_uri",
        "function_call",
        "function_response",
        "inline_data",
        "media_resolution",
        "mime_type",
        "part_metadata",
        "thought_signature",
        "tool_call",
        "tool_response",
        "video_metadata",
    )
    for first, *rest in [name.split("_")]
}
UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The signature of a call that another model made: ``skip_thought_signature_validator`` in base64.

The provider does not check it.
"""

_NOT_COUNTED = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
_NOT_BEHIND = (
    "Please ensure that function call turn comes immediately after a user turn or after a function "
    "response turn."
)


def copied_contents(contents: object) -> list[Message]:
    """Return a deep copy of `contents` in the API's own spelling, with `role` and `parts`.

    The API accepts names of fields in camel case and in snake case; the copies have camel case.
    Fields that are null are left out.

    Raises:
        InvalidMessagesError: Rules of `copied_messages`; unknown-role; bad-content.

    >>> copied_contents([{"parts": [{"inline_data": {"mime_type": "image/png", "data": "AA=="}}]}])
    [{'role': 'user', 'parts': [{'inlineData': {'mimeType': 'image/png', 'data': 'AA=='}}]}]
    """
    return [
        _content(content, Place(Provider.GEMINI, ("messages", index)))
        for index, content in enumerate(copied_messages(Provider.GEMINI, contents))
    ]


def _content(content: Message, place: Place) -> Message:
    role = content.get("role") or "user"
    if not isinstance(role, str) or role not in ROLES:
        raise place.into("role").unsupported(
            "unknown-role", role, sorted(ROLES), "user, model, or function"
        )
    parts = _parts(content.get("parts") or [], place.into("parts"))
    return {"role": role} | content | {"role": role, "parts": parts}


def _parts(parts: object, place: Place) -> list[Message]:
    if not isinstance(parts, list):
        raise place.wrong("bad-content", parts, "a list of parts")
    return [_part(part, place.into(number)) for number, part in enumerate(parts)]


def _part(part: object, place: Place) -> Message:
    if not isinstance(part, dict):
        raise place.wrong("bad-content", part, "an object such as {'text': ...}")
    spelled = _spelled(part)
    for name in ("inlineData", "fileData", CALL, RESULT):
        if name in spelled:
            if not isinstance(spelled[name], dict):
                raise place.into(name).wrong("bad-content", spelled[name], "an object")
            spelled[name] = _spelled(spelled[name])
    if not isinstance(spelled.get("text", ""), str):
        raise place.into("text").wrong("bad-content", spelled["text"], "text")
    _check_names(spelled, place)
    if "parts" in (result := spelled.get(RESULT, {})):
        result["parts"] = _parts(result["parts"], place.into(RESULT, "parts"))
    return spelled


def _check_names(spelled: Message, place: Place) -> None:
    """Raise an error for a call or a result without a name, or with data that are no object."""
    for name, key in ((CALL, "args"), (RESULT, "response")):
        inner = spelled.get(name, {"name": name})
        if not isinstance(called := inner.get("name"), str) or not called:
            raise place.into(name, "name").wrong("bad-tool-call", called, "the name of the tool")
        if not isinstance(inner.get(key, {}), dict):
            raise place.into(name, key).wrong("bad-tool-call", inner[key], "an object")


def _spelled(fields: Mapping[str, Any]) -> Message:
    return {_CAMEL.get(name, name): value for name, value in fields.items() if value is not None}


@define
class Judge(ListJudge):
    """Checks contents, each once; `role` spoke last, and so many results are `owed`."""

    role: str = ""
    owed: int = 0

    def add(self, entry: Any) -> None:
        """Check the next content, a copy of the caller's."""
        place = _WHOLE.into("messages", self.count)
        self.count += 1
        content = _content(entry, place)
        role, parts, last, owed = ROLES[content["role"]], content["parts"], self.role, self.owed
        if not parts:
            raise place.into("parts").missing("empty-message", "at least one part")
        if role == "system" and last not in ("", "system"):
            raise place.into("role").unsupported("unknown-role", "system", ("user", "model"))
        calls = sum(CALL in part for part in parts) if role == "model" else 0
        results = sum(RESULT in part for part in parts) if role == "user" else 0
        if results > owed or (owed and not results and (not calls or last == "user")):
            raise _uneven(place, owed)
        # The calls of several contents of the model are answered together.
        may_call = last == "user" or (last == "model" and owed)
        if calls and not may_call:
            legal = "a call behind what the user said, or behind results"
            raise place.refuse("misplaced-call", "a call behind nothing", legal, _NOT_BEHIND)
        self.role, self.owed = role, owed - results + calls

    def pardon(self, entry: Mapping[str, Any]) -> None:
        """Continue after a content that broke a rule, with nothing owed."""
        self.role, self.owed = str(entry.get("role")), 0

    def ends(self, *, allow_open_tail: bool = False) -> Iterator[InvalidMessagesError]:
        """Yield the errors of a list without contents, or of calls without results."""
        if self.role in ("", "system"):
            yield _WHOLE.refuse("empty-list", "there is no content", "at least one content")
        if self.owed and not allow_open_tail:
            yield _uneven(_WHOLE.into("messages", self.count - 1), self.owed)


_WHOLE = Place(Provider.GEMINI)


def _uneven(place: Place, owed: int) -> InvalidMessagesError:
    if owed:
        problem, rule = f"{owed} calls have no result directly after them", "unanswered-call"
    else:
        problem, rule = "a result without a call directly before it", "orphan-result"
    return place.refuse(
        rule, problem, "one result for each call, all in the content behind the calls", _NOT_COUNTED
    )
