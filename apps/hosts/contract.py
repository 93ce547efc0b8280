"""The contract between a host and `polycontext compact`: what a host asks, in JSON.

A host hands over every message that it has, not what an earlier compaction left of them.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from polycontext.base import InvalidDataError, require
from polycontext.base.json_data import EMPTY

VERSION = 1
"""The version of the contract; a request of another version is refused."""

HOSTS: Mapping[str, str] = {
    "claude-code": "claude-code",
    "opencode": "opencode.mjs",
    "pi": "pi.mjs",
}
"""The hosts for which the package ships a part that asks, and the file or folder of that part."""

LOW_MARK = 0.5
"""The share of the window that a compaction leaves full, so that it is not repeated at once."""


@frozen
class Call:
    """A call of a tool."""

    id: str
    name: str
    input: Mapping[str, Any] = EMPTY


@frozen
class Result:
    """The result of a call."""

    id: str
    text: str = ""
    error: bool = False


@frozen
class Message:
    """A message of the user, with results of calls, or of the assistant, with calls."""

    role: Literal["system", "user", "assistant"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@frozen
class CompactRequest:
    """A request to shorten a conversation.

    Attributes:
        version: the version of the contract.
        max_tokens: the tokens that the conversation may take in the host's window.
        messages: the conversation.
        transcript: the path of the host's session file, in place of messages.
        last: what the newest row of the transcript has, such as the id of its call. A file that
            lacks it is not written to its end, and is refused.
        low_mark: the share of `max_tokens` that is full afterwards.
        shape: whether the host takes a list of messages or one text.
        query: what the user wants kept, such as the words behind a command to compact.
        host, trigger: who asks and why. They change nothing, and neither does `error` of a result.
    """

    version: int
    max_tokens: int
    messages: tuple[Message, ...] = ()
    transcript: str | None = None
    last: str | None = None
    low_mark: float = LOW_MARK
    shape: Literal["list", "text"] = "list"
    query: str | None = None
    host: str = ""
    trigger: str = ""

    def __attrs_post_init__(self) -> None:
        require("version", self.version, self.version == VERSION, f"{VERSION}")
        require("max_tokens", self.max_tokens, self.max_tokens > 0, "a number of tokens")
        is_share = 0 < self.low_mark <= 1
        require("low_mark", self.low_mark, is_share, "a share of max_tokens, above 0 and up to 1")
        is_either = bool(self.messages) != (self.transcript is not None)
        require("messages", None, is_either, "messages or a transcript, not both")


def read_request(data: object) -> CompactRequest:
    """Return the request in JSON data.

    Raises:
        InvalidDataError: it is none; names the field.
    """
    if not isinstance(data, dict):
        raise InvalidDataError("$", "is not an object", "a request of polycontext compact")
    if data.get("version") != VERSION:
        raise InvalidDataError("$.version", f"is {data.get('version')!r}", f"{VERSION}")
    from polycontext.base.codec import structured  # noqa: PLC0415 - as that module asks

    return structured(_converter(), data, CompactRequest, legal="what docs/hosts.md says")


def host_path(name: str) -> Path:
    """Return the path of what a host of `HOSTS` installs."""
    return Path(__file__).resolve().with_name(HOSTS[name])


def json_schema() -> str:
    """Return the JSON Schema of requests and answers, which the package ships, as text."""
    return files("polycontext.hosts").joinpath("compact.schema.json").read_text(encoding="utf-8")


@cache
def _converter() -> Any:
    from polycontext.base.codec import strict_converter  # noqa: PLC0415

    return strict_converter()
