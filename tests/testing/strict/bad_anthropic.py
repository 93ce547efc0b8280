"""Bad requests to Anthropic, each with the rule that refuses it and the vendor's wording.

The wordings are from recorded refusals, public issues and the documentation.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from struct import pack
from typing import Any

from attrs import field, frozen

Block = dict[str, Any]
ASK = {"role": "user", "content": "What is it?"}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


def user(*blocks: Block) -> Block:
    """Return a user message."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Block) -> Block:
    """Return an assistant message."""
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **fields: Any) -> Block:
    """Return a text block."""
    return {"type": "text", "text": words, **fields}


def call(call_id: str = "a", name: str = "look", **fields: Any) -> Block:
    """Return a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **fields}


def result(call_id: str = "a", content: Any = "seen", **fields: Any) -> Block:
    """Return a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def search(call_id: str = "s", **fields: Any) -> Block:
    """Return a call of the vendor's own search."""
    return {
        "type": "server_tool_use",
        "id": call_id,
        "name": "web_search",
        "input": {"query": "it"},
        **fields,
    }


def found(call_id: str = "s") -> Block:
    """Return the result of a search."""
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def png(width: int = 2, height: int = 3) -> str:
    """Return the head of a PNG file as base64."""
    return b64encode(
        b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", width, height) + bytes(9)
    ).decode()


def picture(data: str | None = None, media_type: str = "image/png") -> Block:
    """Return a picture."""
    return {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": media_type,
            "data": png() if data is None else data,
        },
    }


def marked(block: Block, ttl: str | None = None) -> Block:
    """Return a block with a cache breakpoint."""
    return {**block, "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


@frozen
class Bad:
    """A bad request: messages, other fields, rule, message index, and the vendor's words."""

    name: str
    rule: str
    index: int | None
    wording: str
    messages: Sequence[Any] = field(default=(ASK,), kw_only=True)
    fields: Mapping[str, Any] = field(factory=dict, kw_only=True)

    @property
    def request(self) -> dict[str, Any]:
        """Return the request."""
        return {
            "model": "claude",
            "max_tokens": 4096,
            "messages": list(self.messages),
            **self.fields,
        }


def document(**fields: Any) -> Block:
    """Return a document of plain text."""
    return {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "12 EUR"},
        **fields,
    }


def cited(words: str = "12 EUR") -> Block:
    """Return text that cites, as an answer to documents holds it."""
    return text(
        words,
        citations=[
            {
                "type": "char_location",
                "cited_text": "12",
                "document_index": 0,
                "document_title": None,
            }
        ],
    )


def searched(*content: Block) -> Block:
    """Return what a search of one's own found."""
    return {
        "type": "search_result",
        "source": "https://example.org",
        "title": "it",
        "content": list(content),
    }


_LISTED: Block = {"type": "document", "source": {"type": "content", "content": [cited()]}}
_USERS_CITATIONS: Sequence[tuple[str, str, Sequence[Block]]] = (
    ("on a text", "citations", [ASK, assistant(text("Well?")), user(cited())]),
    (
        "in a result",
        "content.0.citations",
        [ASK, assistant(call()), user(result(content=[cited()]))],
    ),
    (
        "in a search result",
        "content.0.citations",
        [ASK, assistant(text("Well?")), user(searched(cited()))],
    ),
    (
        "in what a tool found",
        "content.0.content.0.citations",
        [ASK, assistant(call()), user(result(content=[searched(cited())]))],
    ),
    (
        "in a document of blocks",
        "source.content.0.citations",
        [ASK, assistant(text("Well?")), user(_LISTED)],
    ),
)
_EMPTY = "text content blocks must be non-empty"
_BLANK = "text content blocks must contain non-whitespace text"

BAD: tuple[Bad, ...] = (
    # Order and pairing.
    Bad(
        "a call without its result",
        "unanswered-call",
        1,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a",
        messages=[ASK, assistant(call()), ASK],
    ),
    Bad(
        "a result without its call",
        "orphan-result",
        0,
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a",
        messages=[user(result())],
    ),
    Bad(
        "a result of another message's call",
        "orphan-result",
        4,
        "messages.4.content.0: unexpected `tool_use_id`",
        messages=[ASK, assistant(call()), user(result()), assistant(text("So.")), user(result())],
    ),
    Bad(
        "two results of one call",
        "duplicate-result",
        2,
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
        messages=[ASK, assistant(call()), user(result(), result())],
    ),
    Bad(
        "one id for two calls",
        "duplicate-call-id",
        1,
        "messages.1.content.1: `tool_use` ids must be unique",
        messages=[ASK, assistant(call(), call()), user(result())],
    ),
    Bad(
        "a result behind text",
        "results-first",
        2,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a",
        messages=[ASK, assistant(call()), user(text("Well:"), result())],
    ),
    Bad("no message", "empty-list", None, "", messages=[]),
    # Roles.
    Bad(
        "a role that there is not",
        "unknown-role",
        0,
        "Unexpected role",
        messages=[{"role": "tool", "content": "x"}],
    ),
    Bad(
        "a system message first",
        "system-place",
        0,
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
        messages=[{"role": "system", "content": "Be brief."}, ASK],
    ),
    Bad(
        "a system message before a user's",
        "system-place",
        1,
        "messages.1: role 'system' must precede an 'assistant' message or end the array",
        messages=[ASK, {"role": "system", "content": "Be brief."}, ASK],
    ),
    Bad(
        "a system message behind the assistant's",
        "system-place",
        2,
        "messages.2: role 'system' must follow a 'user' message",
        messages=[ASK, assistant(text("So.")), {"role": "system", "content": "Be brief."}],
    ),
    Bad(
        "a system message between call and result",
        "unanswered-call",
        1,
        "messages.1: `tool_use` ids were found without",
        messages=[
            ASK,
            assistant(call()),
            {"role": "system", "content": "Be brief."},
            user(result()),
        ],
    ),
    # Empty and blank.
    Bad("an empty text block", "empty-text", 0, _EMPTY, messages=[user(text(""))]),
    Bad(
        "an empty message",
        "empty-message",
        1,
        "messages.1: all messages must have non-empty content",
        messages=[ASK, assistant(), ASK],
    ),
    Bad(
        "a message of white space",
        "empty-message",
        0,
        _BLANK,
        messages=[{"role": "user", "content": " \n"}],
    ),
    Bad(
        "blank text beside a picture",
        "blank-text",
        0,
        _BLANK,
        messages=[user(picture(), text("\n"))],
    ),
    Bad(
        "an empty text in a result",
        "empty-text",
        2,
        _EMPTY,
        messages=[ASK, assistant(call()), user(result(content=[text("")]))],
    ),
    Bad(
        "white space at the end of the assistant's last word",
        "trailing-whitespace",
        1,
        "final assistant content cannot end with trailing whitespace",
        messages=[ASK, assistant(text("It is "))],
    ),
    Bad(
        "an error without a word",
        "empty-error",
        2,
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
        messages=[ASK, assistant(call()), user(result(content="", is_error=True))],
    ),
    Bad(
        "an error that is a picture",
        "error-content",
        2,
        "all content must be type `text` if `is_error` is true",
        messages=[ASK, assistant(call()), user(result(content=[picture()], is_error=True))],
    ),
    Bad(
        "a blank system prompt",
        "blank-text",
        None,
        "system: text content blocks must contain non-whitespace text",
        fields={"system": " "},
    ),
    # Names, ids, fields.
    Bad(
        "a call's name with a dot",
        "bad-name",
        1,
        "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'",
        messages=[ASK, assistant(call(name="files.read")), user(result())],
    ),
    Bad(
        "a call's name of 201 letters",
        "bad-tool-call",
        1,
        "tool_use.name: String should match pattern",
        messages=[ASK, assistant(call(name="x" * 201)), user(result())],
    ),
    Bad(
        "a call's id with a colon",
        "bad-tool-call",
        1,
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        messages=[ASK, assistant(call("f:1")), user(result("f:1"))],
    ),
    Bad(
        "arguments as text",
        "bad-tool-call",
        1,
        "tool_use.input: Input should be a valid dictionary",
        messages=[ASK, assistant({**call(), "input": "{}"}), user(result())],
    ),
    Bad(
        "a field that a message has not",
        "extra-field",
        0,
        "messages.0.name: Extra inputs are not permitted",
        messages=[{**ASK, "name": "Ann"}],
    ),
    Bad(
        "a field that a block has not",
        "extra-field",
        1,
        "messages.1.content.0.tool_use.extra_content: Extra inputs are not permitted",
        messages=[ASK, assistant(call(extra_content={})), user(result())],
    ),
    Bad(
        "another vendor's block",
        "foreign-block",
        0,
        "messages.0.content.0: Input tag 'image_url' found using 'type' does not match any",
        messages=[user({"type": "image_url", "image_url": {"url": "data:"}})],
    ),
    Bad(
        "a result in the assistant's message",
        "misplaced-block",
        1,
        "`tool_result` blocks can only be in `user` messages",
        messages=[ASK, assistant(result())],
    ),
    # Pictures and documents.
    Bad(
        "a picture of 6 MB",
        "image-size",
        0,
        (
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > "
            "5242880 bytes"
        ),
        messages=[user(picture(png() + "A" * (6 * 2**20 - len(png()))))],
    ),
    Bad(
        "a picture that is empty",
        "bad-base64",
        0,
        "messages.0.content.0.image.source.base64: image cannot be empty",
        messages=[user(picture(""))],
    ),
    Bad(
        "a picture that is a data URL",
        "bad-base64",
        0,
        "image.source.base64.data: invalid base64 data",
        messages=[user(picture("data:image/png;base64," + png()))],
    ),
    Bad(
        "a PNG said to be a JPEG",
        "image-format",
        0,
        (
            "The image was specified using the image/jpeg media type, but the image appears to be "
            "a image/png image"
        ),
        messages=[user(picture(media_type="image/jpeg"))],
    ),
    Bad(
        "a picture that is none",
        "image-format",
        0,
        "Could not process image",
        messages=[user(picture("aGVsbG8="))],
    ),
    Bad(
        "a picture 8,001 wide",
        "image-size",
        0,
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
        messages=[user(picture(png(8001, 10)))],
    ),
    Bad(
        "21 pictures, one 2,001 high",
        "image-size",
        0,
        "exceed max allowed size for many-image requests: 2000 pixels",
        messages=[user(*[picture()] * 20, picture(png(10, 2001)))],
    ),
    Bad(
        "101 pictures",
        "too-much-media",
        None,
        "Too much media: 0 document pages + 101 images > 100",
        messages=[user(*[picture()] * 101)],
    ),
    Bad(
        "a document that is no PDF",
        "media-type",
        0,
        "document.source.base64.media_type: Input should be 'application/pdf'",
        messages=[
            user(
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "text/plain", "data": "aGk="},
                }
            )
        ],
    ),
    Bad(
        "a picture without a source",
        "bad-source",
        0,
        "messages.0.content.0.image.source: Field required",
        messages=[user({"type": "image"})],
    ),
    # Cache breakpoints.
    Bad(
        "five breakpoints",
        "cache-marks",
        0,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        messages=[user(*[marked(text(str(n))) for n in range(4)])],
        fields={"system": [marked(text("Be brief."))]},
    ),
    Bad(
        "one hour behind five minutes",
        "cache-order",
        0,
        (
            "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come "
            "after"
        ),
        messages=[user(marked(text("x"), "1h"))],
        fields={"system": [marked(text("Be brief."))]},
    ),
    Bad(
        "a breakpoint on thinking",
        "cache-on-thinking",
        1,
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        messages=[
            ASK,
            assistant(
                marked({"type": "thinking", "thinking": "hm", "signature": "c2ln"}), text("So.")
            ),
            ASK,
        ],
    ),
    Bad(
        "a breakpoint of another type",
        "cache-mark",
        0,
        "Input should be 'ephemeral'",
        messages=[user(text("x", cache_control={"type": "persistent"}))],
    ),
    # Thinking.
    Bad(
        "thinking without a signature",
        "bad-thinking",
        1,
        "messages.1.content.0.thinking.signature: Field required",
        messages=[ASK, assistant({"type": "thinking", "thinking": "hm"}, text("So.")), ASK],
    ),
    *(
        Bad(
            f"a default of {name}",
            "sampling",
            None,
            f"{name}: Extra inputs are not permitted",
            fields={name: value},
        )
        for name, value in {"temperature": 1.0, "top_p": None, "top_k": 0}.items()
    ),
    # Of the version 2026-10-21.
    Bad(
        "a document of the assistant's",
        "misplaced-block",
        1,
        "messages.1.content.1: `document` blocks",
        messages=[ASK, assistant(text("Here."), document()), ASK],
    ),
    *(
        Bad(
            f"citations of the user's, {where}",
            "user-citations",
            2,
            f"messages.2.content.0.{path}: `citations`",
            messages=messages,
        )
        for where, path, messages in _USERS_CITATIONS
    ),
    # Edits of the provider's own.
    # Tools.
    Bad(
        "two tools of one name",
        "duplicate-tool",
        None,
        "tools: Tool names must be unique.",
        fields={"tools": [TOOL, TOOL]},
    ),
    Bad(
        "a tool's name with a slash",
        "tool-name",
        None,
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        fields={"tools": [{**TOOL, "name": "jobs/run"}]},
    ),
    Bad(
        "a tool without a schema",
        "bad-tool",
        None,
        "tools.0.custom.input_schema: Field required",
        fields={"tools": [{"name": "look"}]},
    ),
    Bad(
        "a choice without tools",
        "tool-choice",
        None,
        "tool_choice may only be specified while providing tools",
        fields={"tool_choice": {"type": "auto"}},
    ),
    Bad(
        "a choice of a tool that there is not",
        "tool-choice",
        None,
        "Tool 'run' not found in provided tools",
        fields={"tools": [TOOL], "tool_choice": {"type": "tool", "name": "run"}},
    ),
    # The vendor's own tools.
    Bad(
        "a search without its result",
        "unanswered-server-call",
        1,
        (
            "messages.1: `web_search` tool use with id `s` was found without a corresponding "
            "`web_search_tool_result` block"
        ),
        messages=[ASK, assistant(search(), text("Let me see.")), ASK],
    ),
    Bad(
        "text behind results while a search waits",
        "unanswered-server-call",
        1,
        "messages.1: `web_search` tool use with id `s` was found without a corresponding",
        messages=[ASK, assistant(search(), call()), user(result(), text("And?"))],
    ),
    Bad(
        "a result without its search",
        "orphan-server-result",
        1,
        (
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` "
            "blocks: s. Each `web_search_tool_result` block must have"
        ),
        messages=[ASK, assistant(found(), text("So.")), ASK],
    ),
    # The request itself.
    Bad(
        "max_tokens of null",
        "bad-field",
        None,
        "max_tokens: Input should be a valid integer",
        fields={"max_tokens": None},
    ),
    Bad(
        "another vendor's field",
        "unknown-field",
        None,
        "max_completion_tokens: Extra inputs are not permitted",
        fields={"max_completion_tokens": 9},
    ),
)
