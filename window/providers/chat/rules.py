"""OpenAI's rules for chat messages (docs/providers.md), from its reference and recorded errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import define, field

from ...errors import InvalidMessagesError
from ..judge import ListJudge, text_ids
from ..openai_places import MAX_TEXT, ObjectCheck, OpenAIPlace
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
_MESSAGES = OpenAIPlace(Provider.OPENAI, ("messages",))
BODIES = {"function": "arguments", "custom": "input"}
"""The field of each kind of call that holds its arguments."""


@define
class Judge(ListJudge):
    """Checks a list of chat messages, each once, in linear time.

    With `foreign`, unknown parts, empty content, long ids and any names are accepted. `waiting` are
    the calls of the message `caller` without a result, and `answered` those with one.
    """

    foreign: bool = False
    waiting: dict[str, None] = field(factory=dict)
    answered: set[str] = field(factory=set)
    caller: int = 0

    def add(self, entry: object) -> None:
        """Check the next message."""
        place = _MESSAGES.into(self.count)
        self.count += 1
        if not isinstance(entry, dict):
            raise place.wrong_type("not-an-object", dict, entry)
        check_message(entry, place, foreign=self.foreign)
        if entry["role"] == "tool":
            self._answer(entry["tool_call_id"])
        elif self.waiting:
            raise self._unanswered(self.count - 1)
        else:
            self.open([call["id"] for call in entry.get("tool_calls") or ()])

    def ends(self, *, allow_open_tail: bool = False) -> Iterator[InvalidMessagesError]:
        """Yield the errors of an empty or too long list, or of calls without a result."""
        if not self.count:
            yield _MESSAGES.empty("empty-list")
        if self.count > MAX_MESSAGES and not self.foreign:
            yield _MESSAGES.too_long(range(self.count), MAX_MESSAGES)
        if self.waiting and not allow_open_tail:
            yield self._unanswered(self.caller)

    def pardon(self, entry: Mapping[str, Any]) -> None:
        """Continue after a message that broke a rule."""
        if entry.get("role") == "tool":
            self.waiting.pop(str(entry.get("tool_call_id")), None)
            self.answered.add(str(entry.get("tool_call_id")))
        else:
            self.open(text_ids(entry.get("tool_calls")))

    def open(self, ids: Sequence[str]) -> None:
        """Let the last message call by `ids`."""
        self.waiting, self.answered, self.caller = dict.fromkeys(ids), set(), self.count - 1

    def _answer(self, call_id: str) -> None:
        if call_id in self.waiting:
            del self.waiting[call_id]
            self.answered.add(call_id)
            return
        if call_id in self.answered:
            rule = "duplicate-result/chat"
        else:
            rule = f"orphan-result/{'chat' if self.waiting or self.answered else 'alone'}"
        raise _MESSAGES.into(self.count - 1).broken(rule, call=call_id)

    def _unanswered(self, noticed: int) -> InvalidMessagesError:
        calls = ", ".join(self.waiting)
        return _MESSAGES.into(self.caller).broken(
            "unanswered-call/chat", calls=calls, noticed=noticed
        )


def check_message(message: Message, place: OpenAIPlace, *, foreign: bool = False) -> None:
    """Check `message` on its own, in any position.

    Raises:
        InvalidMessagesError: OpenAI would reject the message.
    """
    role = place.into("role")
    if "role" not in message:
        raise role.missing("unknown-role", ", ".join(_ROLES))
    role.one_of("unknown-role", message["role"], _ROLES)
    _check_name(message, place, foreign=foreign)
    _check_content(message, place, foreign=foreign)
    _check_calls(message, place, foreign=foreign)
    if message["role"] == "assistant":
        _check_assistant(message, place)
    elif message["role"] == "tool":
        _check_result(message, place)


def _check_name(message: Message, place: OpenAIPlace, *, foreign: bool) -> None:
    name, place = message.get("name"), place.into("name")
    if name is None:
        if message["role"] == "function":
            raise place.missing("bad-name", "the name of the function")
        return
    if isinstance(name, str) and name and not foreign and not _NAME.fullmatch(name):
        raise place.no_match("bad-name", _NAME)
    place.text("bad-name", name, most=MAX_TEXT if foreign else MAX_NAME, empty=False)


def _check_content(message: Message, place: OpenAIPlace, *, foreign: bool) -> None:
    content, inner = message.get("content"), place.into("content")
    if content is None:
        _check_absent(message, place)
        return
    if content == [] and not foreign:
        raise inner.empty("empty-content")
    check = partial(check_part, role=message["role"], foreign=foreign)
    inner.text_or_objects(content, check)
    is_list = isinstance(content, list) and len(content) > 1
    if is_list and any(part["type"] == "refusal" for part in content):
        raise inner.broken("mixed-refusal")


def _check_absent(message: Message, place: OpenAIPlace) -> None:
    speaks_otherwise = (
        any(message.get(key) for key in ("refusal", "audio", "function_call"))
        or message.get("tool_calls") is not None
    )
    if message["role"] == "function" or (message["role"] == "assistant" and speaks_otherwise):
        return
    legal = "content; only an assistant that calls, refuses or spoke aloud may do without"
    if "content" not in message:
        raise place.into("content").missing("missing-content", legal)
    raise place.broken("missing-content/null", legal=legal)


def check_part(part: Message, place: OpenAIPlace, *, role: str, foreign: bool) -> None:
    """Check a part of the content of a message of `role`.

    Raises:
        InvalidMessagesError: OpenAI would reject the part.
    """
    kind, tag = part.get("type"), place.into("type")
    if kind is None:
        raise tag.missing("bad-content")
    if not isinstance(kind, str):
        raise tag.wrong_type("bad-content", str, kind)
    if kind not in _ALL_PARTS:
        if foreign:
            return
        raise tag.unsupported("unknown-part", kind, _ALL_PARTS)
    legal = _PARTS.get(role, ("text",))
    if kind == "image_url" and kind not in legal:
        raise place.broken("misplaced-part/image", role=role, legal=", ".join(legal))
    tag.one_of("misplaced-part", kind, legal)
    if kind in _SHAPES:
        _SHAPES[kind](part, place)


def _check_image(part: Message, place: OpenAIPlace) -> None:
    image = place.needed("bad-image", part, "image_url", dict)
    check_image(image, "url", image.get("detail"), place.into("image_url"))


def check_image(holder: Message, key: str, detail: object, place: OpenAIPlace) -> None:
    """Check the URL of an image under `key` of `holder`, and its level of detail."""
    place.needed_text("bad-image", holder, key, most=MAX_TEXT * 10, empty=False)
    if not holder[key].startswith(("http://", "https://", "data:image/")):
        raise place.into(key).broken("bad-image/form")
    if detail is not None:
        place.into("detail").one_of("bad-image", detail, ("auto", "low", "high", "original"))


def _check_audio(part: Message, place: OpenAIPlace) -> None:
    rule = "bad-audio"
    audio, inner = place.needed(rule, part, "input_audio", dict), place.into("input_audio")
    inner.needed_text(rule, audio, "data", most=MAX_TEXT * 10, empty=False)
    inner.needed_text(rule, audio, "format")
    inner.into("format").one_of(rule, audio["format"], ("wav", "mp3"))


def _check_file(part: Message, place: OpenAIPlace) -> None:
    rule = "bad-file"
    file, inner = place.needed(rule, part, "file", dict), place.into("file")
    data, data_place = file.get("file_data"), inner.into("file_data")
    if file.get("file_id") is not None:
        inner.into("file_id").text(rule, file["file_id"], empty=False)
        return
    if data is None:
        raise inner.into("file_id").missing(rule, "file_id, or file_data with a filename")
    data_place.text(rule, data, most=MAX_TEXT * 10, empty=False)
    if not data.startswith("data:"):
        raise data_place.broken("bad-file/form")


_SHAPES: Mapping[str, ObjectCheck] = {
    "text": lambda part, place: place.needed_text("bad-content", part, "text"),
    "refusal": lambda part, place: place.needed_text("bad-refusal", part, "refusal", empty=False),
    "image_url": _check_image,
    "input_audio": _check_audio,
    "file": _check_file,
}


def _check_calls(message: Message, place: OpenAIPlace, *, foreign: bool) -> None:
    calls, inner, rule = message.get("tool_calls"), place.into("tool_calls"), "bad-tool-call"
    if calls is None:
        return
    if message["role"] != "assistant":
        raise inner.broken("bad-tool-call/role")
    if calls == []:
        raise inner.empty(rule)
    if isinstance(calls, list) and len(calls) > MAX_CALLS:
        raise inner.too_long(calls, MAX_CALLS)
    inner.each(rule, calls, partial(_check_call, most=MAX_TEXT if foreign else MAX_CALL_ID))
    seen: set[str] = set()
    for call in calls:
        if call["id"] in seen:
            raise inner.broken("duplicate-call-id/chat", call=call["id"])
        seen.add(call["id"])


def _check_call(call: Message, place: OpenAIPlace, *, most: int) -> None:
    kind, rule, tag = call.get("type"), "bad-tool-call", place.into("type")
    if kind is None:
        raise tag.missing(rule, "function or custom")
    tag.one_of(rule, kind, tuple(BODIES))
    place.needed_text(rule, call, "id", most=most, empty=False)
    body = place.needed(rule, call, kind, dict)
    _check_body(body, place.into(kind), BODIES[kind])


def _check_body(body: Message, place: OpenAIPlace, argument: str) -> None:
    place.tool_name(body)
    place.needed_text("bad-tool-call", body, argument)


def _check_assistant(message: Message, place: OpenAIPlace) -> None:
    if message.get("refusal") is not None:
        place.needed("bad-refusal", message, "refusal", str)
    if message.get("audio") is not None:
        audio = place.needed("bad-audio", message, "audio", dict)
        place.into("audio").needed_text("bad-audio", audio, "id", empty=False)
    if message.get("function_call") is not None:
        body = place.needed("bad-tool-call", message, "function_call", dict)
        _check_body(body, place.into("function_call"), "arguments")


def _check_result(message: Message, place: OpenAIPlace) -> None:
    if message.get("tool_call_id") is None:
        raise place.broken("orphan-result/unnamed")
    place.into("tool_call_id").text("orphan-result", message["tool_call_id"])
