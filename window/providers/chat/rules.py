"""OpenAI's rules for chat messages (docs/providers.md), from its reference and recorded errors."""

import re
from collections.abc import Mapping, Sequence
from typing import Self

from attrs import Factory, define, evolve, field

from ..blocks import copied_messages
from ..breach import MAX_TEXT, Breach, ObjectJudge, Spot, list_breach, refuse
from ..tool_pairs import BEHIND_CALL, ONE_RESULT
from ..wire import Message, Provider

MAX_MESSAGES = 2048
"""The most messages of a request."""
MAX_CALLS = 128
"""The most calls of a message."""
MAX_CALL_ID = 40
"""The most characters of a call id at the vendor; longer ids of other servers are kept."""
MAX_NAME = 64
"""The most characters of a speaker's name."""
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"[^\s<|\\/>]+")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
_ALL_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")
BODIES = {"function": "arguments", "custom": "input"}
"""The field of each kind of call that holds its arguments."""


def check_messages(
    messages: object, *, allow_open_tail: bool = False, foreign: bool = False
) -> None:
    """Raise `InvalidMessagesError` for a list OpenAI would reject; see `ChatJudge` for options.

    >>> check_messages([{"role": "assistant", "content": None}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] breaks the openai rule \
missing-content: Invalid value for 'content': ...
    """
    copies = copied_messages(Provider.OPENAI, messages)
    breach = judge_list(copies, allow_open_tail=allow_open_tail, foreign=foreign)
    refuse(breach, Provider.OPENAI)


def judge_list(
    messages: Sequence[Message], *, allow_open_tail: bool = False, foreign: bool = False
) -> Breach | None:
    """Return the first breach of `messages`, a list of JSON objects, or None."""
    return list_breach(ChatJudge(foreign=foreign), messages, allow_open_tail=allow_open_tail)


@define
class ChatJudge:
    """Checks a message list incrementally, each message once, in linear time."""

    foreign: bool = False  # allow what compatible servers do: unknown parts, no content, long ids
    count: int = 0
    _waiting: dict[str, None] = field(factory=dict)
    _answered: set[str] = field(factory=set)
    _caller: int = 0

    def add(self, message: object) -> Breach | None:
        """Return the breach of the next `message`, or None; call `pardon` after a breach."""
        spot = Spot(f"messages[{self.count}]", self.count)
        self.count += 1
        if not isinstance(message, dict):
            return spot.wrong_type("not-an-object", "an object", message)
        return message_breach(message, spot, foreign=self.foreign) or self._pair(message, spot)

    def pardon(self, message: object) -> None:
        """Continue after `message`, which broke a rule, as if it were valid."""
        fields = message if isinstance(message, dict) else {}
        if fields.get("role") == "tool":
            self._waiting.pop(str(fields.get("tool_call_id")), None)
            self._answered.add(str(fields.get("tool_call_id")))
            return
        calls = fields.get("tool_calls")
        ids = [
            call["id"]
            for call in (calls if isinstance(calls, list) else ())
            if isinstance(call, dict) and isinstance(call.get("id"), str)
        ]
        self._open(ids)

    def end(self, *, allow_open_tail: bool = False) -> Breach | None:
        """Return the breach of a list that ends here, with open calls if allowed, or None."""
        whole = Spot("messages")
        if not self.count:
            return whole.empty("empty-list")
        if self.count > MAX_MESSAGES and not self.foreign:
            return whole.too_long(range(self.count), MAX_MESSAGES)
        return None if allow_open_tail else self._unanswered(self._caller)

    def copy(self) -> Self:
        """Return an independent judge that continues from here."""
        return evolve(self, waiting=dict(self._waiting), answered=set(self._answered))

    def _pair(self, message: Message, spot: Spot) -> Breach | None:
        if message["role"] == "tool":
            return self._answer(message["tool_call_id"], spot)
        breach = self._unanswered(spot.index or 0)
        if breach is None:
            self._open([call["id"] for call in message.get("tool_calls") or ()])
        return breach

    def _open(self, ids: Sequence[str]) -> None:
        self._waiting, self._answered, self._caller = dict.fromkeys(ids), set(), self.count - 1

    def _answer(self, call_id: str, spot: Spot) -> Breach | None:
        if call_id in self._waiting:
            del self._waiting[call_id]
            self._answered.add(call_id)
            return None
        old = Spot(f"messages.[{spot.index}]", spot.index)  # the vendor's dot before the bracket
        if call_id in self._answered:
            message = f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{spot.index}]"
            return old.at(".tool_call_id").breach(
                "duplicate-result", message, "one result a call", None
            )
        if self._waiting or self._answered:
            message = (
                f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of "
                "previous message."
            )
            return old.at(".tool_call_id").breach("orphan-result", message, BEHIND_CALL, None)
        message = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'."
        )
        return old.at(".role").breach("orphan-result", message, BEHIND_CALL, None)

    def _unanswered(self, noticed: int) -> Breach | None:
        if not self._waiting:
            return None
        message = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(self._waiting)}"
        )
        where = f"messages.[{noticed}].role"
        return Breach("unanswered-call", message, ONE_RESULT, self._caller, where)


def message_breach(message: Message, spot: Spot, *, foreign: bool = False) -> Breach | None:
    """Return the breach of `message` on its own, in any position, or None."""
    role = message.get("role")
    if "role" not in message:
        return spot.at(".role").missing("unknown-role", ", ".join(_ROLES))
    if not isinstance(role, str) or role not in _ROLES:
        return spot.at(".role").unsupported("unknown-role", role, _ROLES)
    return (
        _name(message, role, spot)
        or _content(message, role, spot, foreign=foreign)
        or _calls(message, role, spot, foreign=foreign)
        or (_assistant(message, spot) if role == "assistant" else None)
        or (_result(message, spot) if role == "tool" else None)
    )


def _name(message: Message, role: str, spot: Spot) -> Breach | None:
    name, place = message.get("name"), spot.at(".name")
    if name is None:
        return place.missing("bad-name", "the name of the function") if role == "function" else None
    if isinstance(name, str) and name and not _NAME.fullmatch(name):
        return place.no_match("bad-name", f"^{_NAME.pattern}$")
    return place.text("bad-name", name, most=MAX_NAME, empty=False)


def _content(message: Message, role: str, spot: Spot, *, foreign: bool) -> Breach | None:
    content, place = message.get("content"), spot.at(".content")
    if isinstance(content, str):
        return place.too_long(content, MAX_TEXT) if len(content) > MAX_TEXT else None
    if content is None:
        return _absent(message, role, spot)
    if not isinstance(content, list):
        return place.wrong_type("bad-content", "one of a string or array of objects", content)
    if not content:
        return None if foreign else place.empty("empty-content")
    parts = place.each(
        "bad-content", content, lambda part, spot: _part(part, role, spot, foreign=foreign)
    )
    return parts or _mixed(content, place)


def _absent(message: Message, role: str, spot: Spot) -> Breach | None:
    if role == "function" or (role == "assistant" and _speaks_otherwise(message)):
        return None
    legal = "content; only an assistant that calls, refuses or spoke aloud may do without"
    if "content" not in message:
        return spot.at(".content").missing("missing-content", legal)
    place = Spot(f"messages.[{spot.index}].content", spot.index)
    return place.breach(
        "missing-content", "Invalid value for 'content': expected a string, got null.", legal, None
    )


def _speaks_otherwise(message: Message) -> bool:
    return (
        any(message.get(key) for key in ("refusal", "audio", "function_call"))
        or message.get("tool_calls") is not None
    )


def _mixed(content: Sequence[Message], place: Spot) -> Breach | None:
    if len(content) == 1 or all(part["type"] != "refusal" for part in content):
        return None
    message = (
        f"Invalid '{place.path}': a content part of type 'refusal' must be the only content part."
    )
    return place.breach("mixed-refusal", message, "text parts, or exactly one refusal")


def _part(part: Message, role: str, place: Spot, *, foreign: bool) -> Breach | None:
    kind, spot = part.get("type"), place.at(".type")
    if kind is None:
        return spot.missing("bad-content")
    if not isinstance(kind, str):
        return spot.wrong_type("bad-content", "a string", kind)
    if kind not in _ALL_PARTS:
        return None if foreign else spot.unsupported("unknown-part", kind, _ALL_PARTS)
    breach = _misplaced(kind, role, place)
    return _SHAPES[kind](part, place) if breach is None and kind in _SHAPES else breach


def _misplaced(kind: str, role: str, place: Spot) -> Breach | None:
    legal = _PARTS.get(role, ("text",))
    if kind in legal:
        return None
    if kind == "image_url":
        where = f"messages[{place.index}]"
        message = (
            f"Invalid '{where}'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL."
        )
        return Spot(where, place.index).breach("misplaced-part", message, ", ".join(legal))
    return place.at(".type").unsupported("misplaced-part", kind, legal)


def _image(part: Message, place: Spot) -> Breach | None:
    return place.needed("bad-image", part, "image_url", dict) or image_breach(
        part["image_url"], "url", part["image_url"].get("detail"), place.at(".image_url")
    )


def image_breach(holder: Message, key: str, detail: object, place: Spot) -> Breach | None:
    """Check the URL of an image under `key` of `holder`, and its level of detail."""
    breach = place.needed_text("bad-image", holder, key, most=MAX_TEXT * 10, empty=False)
    if breach is not None:
        return breach
    if not holder[key].startswith(("http://", "https://", "data:image/")):
        spot = place.at(f".{key}")
        message = (
            f"Invalid '{spot.path}'. Expected a base64-encoded data URL with an image MIME type "
            "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the "
            "'data:' prefix."
        )
        return spot.breach("bad-image", message, "an http(s) address, or a data URL of an image")
    return place.at(".detail").one_of("bad-image", detail, ("auto", "low", "high", "original"))


def _audio(part: Message, place: Spot) -> Breach | None:
    rule = "bad-audio"
    breach = place.needed(rule, part, "input_audio", dict)
    if breach is not None:
        return breach
    inner, spot = part["input_audio"], place.at(".input_audio")
    return (
        spot.needed_text(rule, inner, "data", most=MAX_TEXT * 10, empty=False)
        or spot.needed_text(rule, inner, "format")
        or spot.at(".format").one_of(rule, inner["format"], ("wav", "mp3"))
    )


def _file(part: Message, place: Spot) -> Breach | None:
    rule = "bad-file"
    breach = place.needed(rule, part, "file", dict)
    if breach is not None:
        return breach
    inner, spot = part["file"], place.at(".file.file_id")
    data, data_spot = inner.get("file_data"), place.at(".file.file_data")
    if inner.get("file_id") is not None:
        return spot.text(rule, inner["file_id"], empty=False)
    if data is None:
        return spot.missing(rule, "file_id, or file_data with a filename")
    breach = data_spot.text(rule, data, most=MAX_TEXT * 10, empty=False)
    if breach is not None or data.startswith("data:"):
        return breach
    message = (
        f"Invalid file data: '{data_spot.path}'. Expected a base64-encoded data URL with an "
        "application/pdf MIME type (e.g. 'data:application/pdf;base64,JVBERi0xLjQK'), but got a "
        "value without the 'data:' prefix."
    )
    return data_spot.breach(rule, message, "a data URL of the file")


_SHAPES: Mapping[str, ObjectJudge] = {
    "text": lambda part, place: place.needed_text("bad-content", part, "text"),
    "refusal": lambda part, place: place.needed_text("bad-refusal", part, "refusal", empty=False),
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}


def _calls(message: Message, role: str, spot: Spot, *, foreign: bool) -> Breach | None:
    calls, place = message.get("tool_calls"), spot.at(".tool_calls")
    if calls is None:
        return None
    if role != "assistant":
        return place.breach(
            "bad-tool-call",
            f"Unknown parameter: '{place.path}'.",
            "tool_calls on assistant messages only",
            "unknown_parameter",
        )
    if calls == []:
        return place.empty("bad-tool-call")
    if isinstance(calls, list) and len(calls) > MAX_CALLS:
        return place.too_long(calls, MAX_CALLS)
    most = MAX_TEXT if foreign else MAX_CALL_ID
    breach = place.each("bad-tool-call", calls, lambda call, spot: _call(call, spot, most))
    return breach or _twice(calls, place)


def _call(call: Message, place: Spot, most: int) -> Breach | None:
    kind, rule = call.get("type"), "bad-tool-call"
    if kind is None:
        return place.at(".type").missing(rule, "function or custom")
    if not isinstance(kind, str) or kind not in BODIES:
        return place.at(".type").unsupported(rule, kind, tuple(BODIES))
    return (
        place.needed_text(rule, call, "id", most=most, empty=False)
        or place.needed(rule, call, kind, dict)
        or _called(call[kind], place.at(f".{kind}"), BODIES[kind])
    )


def _called(body: Message, place: Spot, argument: str) -> Breach | None:
    return place.tool_name(body) or place.needed_text("bad-tool-call", body, argument)


def _twice(calls: Sequence[Message], place: Spot) -> Breach | None:
    seen: set[str] = set()
    for call in calls:
        if call["id"] in seen:
            message = (
                f"Duplicate value for 'tool_call_id' of '{call['id']}' in message[{place.index}]"
            )
            return place.breach(
                "duplicate-call-id", message, "one id a call within a message", None
            )
        seen.add(call["id"])
    return None


def _assistant(message: Message, spot: Spot) -> Breach | None:
    refusal, audio = message.get("refusal"), message.get("audio")
    if refusal is not None and not isinstance(refusal, str):
        return spot.at(".refusal").wrong_type("bad-refusal", "a string", refusal)
    if audio is not None:
        breach = spot.needed("bad-audio", message, "audio", dict)
        breach = breach or spot.at(".audio").needed_text("bad-audio", audio, "id", empty=False)
        if breach is not None:
            return breach
    if message.get("function_call") is None:
        return None
    breach = spot.needed("bad-tool-call", message, "function_call", dict)
    return breach or _called(message["function_call"], spot.at(".function_call"), "arguments")


def _result(message: Message, spot: Spot) -> Breach | None:
    if message.get("tool_call_id") is None:
        words = (
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a "
            "'tool_call_id'."
        )
        place = Spot(f"messages.[{spot.index}].tool_call_id", spot.index)
        return place.breach("orphan-result", words, "the id of the call that it answers", None)
    return spot.at(".tool_call_id").text("orphan-result", message["tool_call_id"])


@define
class GrowingList:
    """Checks a growing list, each message once, and allows what only compatible servers accept."""

    _judge: ChatJudge = Factory(lambda: ChatJudge(foreign=True))

    def __call__(self, messages: Sequence[Message], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` for the first breach in messages not checked before."""
        further = messages[self._judge.count :]
        breach = list_breach(self._judge, further, allow_open_tail=allow_open_tail)
        refuse(breach, Provider.OPENAI)
