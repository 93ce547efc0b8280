"""Requests that OpenAI's Chat Completions refuses, each for one reason.

Each has its rule, the vendor's wording, `param` and `code`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.testing.strict.bad_openai import PNG, BadRequest, bad, missing, tool, user


def call(own: str = "call_1", name: str = "read", arguments: Any = "{}") -> dict[str, Any]:
    """Return a call of a function, in a chat message."""
    return {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    """Return a message that calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(own: str = "call_1", content: Any = "done") -> dict[str, Any]:
    """Return a tool's message."""
    return {"role": "tool", "tool_call_id": own, "content": content}


_chat = partial(bad, "messages")


def chat_requests() -> Iterator[BadRequest]:
    """Yield the bad requests of Chat Completions."""
    yield from _chat_lists()
    yield from _chat_contents()
    yield from _chat_calls()
    yield from _chat_options()


def _chat_lists() -> Iterator[BadRequest]:
    empty = (
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
    yield _chat("no message", [], "empty-list", empty, "messages", "empty_array")
    yield _chat(
        "text for messages",
        "hi",
        "not-a-list",
        "expected an array of objects, but got a string instead.",
        "messages",
        "invalid_type",
    )
    yield _chat(
        "a message of text",
        [user(), "hi"],
        "not-an-object",
        "expected an object, but got a string",
        "messages[1]",
        "invalid_type",
    )
    yield _chat("no role", [{"content": "hi"}], "unknown-role", *missing("messages[0].role"))
    too_many = (
        "Expected an array with maximum length 2048, but got an array with length 2049 instead."
    )
    yield _chat(
        "too many messages",
        [user()] * 2049,
        "too-long",
        too_many,
        "messages",
        "array_above_max_length",
    )


def _chat_contents() -> Iterator[BadRequest]:
    null = "Invalid value for 'content': expected a string, got null."
    yield _chat(
        "no content", [{"role": "user"}], "missing-content", *missing("messages[0].content")
    )
    yield _chat(
        "content null",
        [user(), {"role": "assistant", "content": None}],
        "missing-content",
        null,
        "messages.[1].content",
    )
    yield _chat(
        "an object for content",
        [user({"text": "hi"})],
        "bad-content",
        "expected one of a string or array of objects, but got an object instead.",
        "messages[0].content",
        "invalid_type",
    )
    yield _chat(
        "content of no parts",
        [user([])],
        "empty-content",
        "Invalid 'messages[0].content': empty array.",
        "messages[0].content",
        "empty_array",
    )
    yield _chat(
        "a part of text",
        [user(["hi"])],
        "bad-content",
        "Invalid type for 'messages[0].content[0]': expected an object, but got a string",
        "messages[0].content[0]",
        "invalid_type",
    )
    parts = (
        "Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'."
    )
    yield _chat(
        "a part of Responses",
        [user([{"type": "input_text", "text": "hi"}])],
        "unknown-part",
        f"Invalid value: 'input_text'. {parts}",
        "messages[0].content[0].type",
        "invalid_value",
    )
    picture = [{"type": "image_url", "image_url": {"url": PNG}}]
    only = (
        "Image URLs are only allowed for messages with role 'user', but this message with role "
        "'{}' contains an image URL."
    )
    for role in ("assistant", "system", "developer"):
        yield _chat(
            f"a picture from the {role}",
            [{"role": role, "content": picture}],
            "misplaced-part",
            only.format(role),
            "messages[0]",
            "invalid_value",
        )
    yield _chat(
        "a picture from a tool",
        [user(), calling(call()), result(content=picture)],
        "misplaced-part",
        only.format("tool"),
        "messages[2]",
        "invalid_value",
    )
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "ogg"}}
    yield _chat(
        "audio of another format",
        [user([audio])],
        "bad-audio",
        "Invalid value: 'ogg'. Supported values are: 'wav' and 'mp3'.",
        "messages[0].content[0].input_audio.format",
        "invalid_value",
    )
    yield _chat(
        "a picture as plain base64",
        [user([{"type": "image_url", "image_url": {"url": "iVBORw0KGgo="}}])],
        "bad-image",
        "Expected a base64-encoded data URL with an image MIME type",
        "messages[0].content[0].image_url.url",
        "invalid_value",
    )
    yield _chat(
        "a file of nothing",
        [user([{"type": "file", "file": {"filename": "a.pdf"}}])],
        "bad-file",
        *missing("messages[0].content[0].file.file_id"),
    )
    refusal = {"type": "refusal", "refusal": "No."}
    mixed = {"role": "assistant", "content": [refusal, {"type": "text", "text": "But yes."}]}
    yield _chat(
        "a refusal beside text",
        [user(), mixed],
        "mixed-refusal",
        "must be the only content part",
        "messages[1].content",
        "invalid_value",
    )
    yield _chat(
        "a refusal that is not text",
        [user(), {"role": "assistant", "content": "a", "refusal": True}],
        "bad-refusal",
        "Invalid type for 'messages[1].refusal': expected a string, but got a boolean instead.",
        "messages[1].refusal",
        "invalid_type",
    )
    pattern = r"Expected a string that matches the pattern '^[^\s<|\\/>]+$'."
    yield _chat(
        "a name with a space",
        [user() | {"name": "Ann Lee"}],
        "bad-name",
        pattern,
        "messages[0].name",
        "invalid_value",
    )
    yield _chat(
        "a long name",
        [user() | {"name": "a" * 65}],
        "too-long",
        "Expected a string with maximum length 64, but got a string with length 65",
        "messages[0].name",
        "string_above_max_length",
    )


def _chat_calls() -> Iterator[BadRequest]:
    orphan = (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'."
    )
    open_ = "The following tool_call_ids did not have response messages: {}"
    yield _chat(
        "no calls",
        [user(), {"role": "assistant", "content": "a", "tool_calls": []}],
        "bad-tool-call",
        "Invalid 'messages[1].tool_calls': empty array.",
        "messages[1].tool_calls",
        "empty_array",
    )
    yield _chat(
        "a call by the user",
        [user() | {"tool_calls": [call()]}],
        "bad-tool-call",
        "Unknown parameter: 'messages[0].tool_calls'.",
        "messages[0].tool_calls",
        "unknown_parameter",
    )
    yield _chat(
        "a long call id",
        [user(), calling(call("c" * 41)), result("c" * 41)],
        "too-long",
        "Expected a string with maximum length 40, but got a string with length 41",
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
    )
    yield _chat(
        "a dot in a tool's name",
        [user(), calling(call(name="fs.read")), result()],
        "bad-tool-name",
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "messages[1].tool_calls[0].function.name",
        "invalid_value",
    )
    yield _chat(
        "two calls of one id",
        [user(), calling(call(), call()), result()],
        "duplicate-call-id",
        "Duplicate value for 'tool_call_id' of 'call_1' in message[1]",
        "messages[1].tool_calls",
    )
    yield _chat("a result first", [result()], "orphan-result", orphan, "messages.[0].role")
    yield _chat(
        "a result behind the next question",
        [user(), calling(call()), result(), user(), result()],
        "orphan-result",
        orphan,
        "messages.[4].role",
    )
    yield _chat(
        "a result of another call",
        [user(), calling(call()), result("call_2")],
        "orphan-result",
        "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message.",
        "messages.[2].tool_call_id",
    )
    yield _chat(
        "a result of no call",
        [user(), calling(call()), {"role": "tool", "content": "a"}],
        "orphan-result",
        "messages with role 'tool' must have a 'tool_call_id'.",
        "messages.[2].tool_call_id",
    )
    yield _chat(
        "two results of one call",
        [user(), calling(call()), result(), result()],
        "duplicate-result",
        "Duplicate value for 'tool_call_id' of 'call_1' in message[3]",
        "messages.[3].tool_call_id",
    )
    yield _chat(
        "no result at the end",
        [user(), calling(call())],
        "unanswered-call",
        open_.format("call_1"),
        "messages.[1].role",
    )
    yield _chat(
        "one result of two",
        [user(), calling(call(), call("call_2")), result(), user()],
        "unanswered-call",
        open_.format("call_2"),
        "messages.[3].role",
        index=1,
    )
    yield _chat(
        "the old call without a name",
        [user(), {"role": "assistant", "content": None, "function_call": {"arguments": "{}"}}],
        "bad-tool-name",
        *missing("messages[1].function_call.name"),
    )
    yield _chat(
        "the old result without a name",
        [user(), {"role": "function", "content": "a"}],
        "bad-name",
        *missing("messages[1].name"),
    )
    yield _chat(
        "spoken words without an id",
        [user(), {"role": "assistant", "content": None, "audio": {"data": "UklGRg=="}}],
        "bad-audio",
        *missing("messages[1].audio.id"),
    )


def _chat_options() -> Iterator[BadRequest]:
    yield BadRequest(
        "no model", {"messages": [user()]}, "missing-model", "you must provide a model parameter"
    )
    yield _chat(
        "no tools in a list",
        [user()],
        "bad-tools",
        "Invalid 'tools': empty array.",
        "tools",
        "empty_array",
        tools=[],
    )
    yield _chat(
        "a tool of Responses",
        [user()],
        "bad-tools",
        *missing("tools[0].function"),
        tools=[{"type": "function", "name": "read"}],
    )
    yield _chat(
        "arguments that are no object",
        [user()],
        "bad-schema",
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
        tools=[tool(parameters={"type": "string"})],
    )
    yield _chat(
        "a strict tool that takes more",
        [user()],
        "bad-schema",
        "'additionalProperties' is required to be supplied and to be false.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
        tools=[tool(parameters={"type": "object"}, strict=True)],
    )
    yield _chat(
        "129 tools",
        [user()],
        "too-long",
        "maximum length 128, but got an array with length 129",
        "tools",
        "array_above_max_length",
        tools=[tool(name=f"t{n}") for n in range(129)],
    )
    yield _chat(
        "a choice without tools",
        [user()],
        "bad-tool-choice",
        "'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        tool_choice="auto",
    )
    yield _chat(
        "a choice unheard of",
        [user()],
        "bad-tool-choice",
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
        tools=[tool()],
        tool_choice="any",
    )
    yield _chat(
        "the choice of another tool",
        [user()],
        "bad-tool-choice",
        "no function named 'write' was specified in the 'tools' parameter.",
        "tool_choice",
        tools=[tool()],
        tool_choice={"type": "function", "function": {"name": "write"}},
    )
