"""Rows of a data set: where the messages stand in one, and how it is shortened."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from polycontext.base import InvalidDataError, guided, require
from polycontext.polynomial import Projection, project
from polycontext.transcripts import messages_of_record
from polycontext.window.providers import AUTO, Message, Provider, WireFormat, format_of

from .training import aligned, origins

Row = Any
"""A row: a mapping with a column of messages, or a bare list of messages."""

MOST_ROW_BYTES = 3 * 2**20
"""The length of the longest line that is read: read, it takes up to 200 MB."""


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    require("keep", columns, not isinstance(columns, str), "a list of columns")
    return tuple(columns)


@guided
@frozen
class RowCompressor:
    """Shortens the messages of a row to a budget; calling it with a row returns the new row.

    It can be pickled and is deterministic, so it runs in any worker: pass it to
    `datasets.Dataset.map`, and its method `table` to `map_batches` of Ray Data. A row that fits is
    returned unchanged; one of another library, such as ShareGPT's, becomes messages in Anthropic's
    format. See docs/bulk.md.

    Attributes:
        max_tokens: the budget of a row's request, in tokens.
        model: the name of a model; sets the budget and how tokens are counted.
        messages: the column of messages: a list, or its JSON text. `system` and `tools` beside it
            belong to the request.
        keep: columns with one number for each message; they stay aligned, with 0 for summaries.
        provider: the message format; by default it is detected for each row.
        keep_recent: the number of recent messages to shorten last.
        most_row_bytes: the longest line that is read from a file; a longer one is rejected, and so
            is one with more than an object or list for each 128 of these bytes.
        repair: mend the order of calls and results, as `project` does, instead of rejecting the
            row.

    >>> compressor = RowCompressor(max_tokens=100)
    >>> compressor({"id": 7, "messages": [{"role": "user", "content": "Hello!"}]})
    {'id': 7, 'messages': [{'role': 'user', 'content': 'Hello!'}]}
    """

    max_tokens: int | None = None
    model: str | None = None
    messages: str = "messages"
    keep: Sequence[str] = field(default=(), converter=_names)
    provider: Provider | str = AUTO
    keep_recent: int = 6
    repair: bool = False
    most_row_bytes: int = MOST_ROW_BYTES

    def __attrs_post_init__(self) -> None:
        has_size = self.max_tokens is not None or self.model is not None
        require("max_tokens", None, has_size, "a number of tokens, or the name of a model")
        require("most_row_bytes", self.most_row_bytes, self.most_row_bytes > 0, "a number of bytes")
        # Every other option is checked before the first row.
        project(_HELLO, self.model, max_tokens=self.max_tokens, keep_recent=self.keep_recent)

    def __call__(self, row: Row) -> Row:
        """Return a row with its messages shortened.

        Raises:
            PolycontextError: the row holds no messages, is invalid for its provider, or cannot be
                shortened to the budget.
        """
        return self.compressed(row)[0]

    def compressed(self, row: Row) -> tuple[Row, Projection]:
        """Return the row with its messages shortened, and the projection of its messages."""
        if self._is_batch(row):
            body, projection = self.compressed(row["body"])
            return {**row, "body": body} if projection.changed else row, projection
        row = self._plain(row)
        body = row if isinstance(row, Mapping) else {self.messages: row}
        asked = self.request(row)
        projection = self.fit(asked, asked.inline)
        kept = self._columns(body, asked, projection)
        if not projection.changed:
            return row, projection
        shortened: Any = projection.messages[asked.leading :]
        if not isinstance(row, Mapping):
            return shortened, projection
        head = {"system": projection.messages[0]["content"]} if asked.leading else {}
        written = json.dumps(shortened, ensure_ascii=False) if asked.is_text else shortened
        return {**row, **head, self.messages: written, **kept}, projection

    def request(self, row: Row) -> "Request":
        """Return the request that a row holds.

        Raises:
            PolycontextError: it holds none.
        """
        row = self._plain(row["body"] if self._is_batch(row) else row)
        body: Mapping[str, Any] = row if isinstance(row, Mapping) else {self.messages: row}
        messages, is_text = _list_in(body, self.messages)
        tools, _ = _list_in(body, "tools") if body.get("tools") else ([], False)
        system = body.get("system")
        lead = [{"role": "system", "content": system}] if system else []
        otherwise = Provider.ANTHROPIC if system else Provider.OPENAI
        inline = [*lead, *messages]
        wire = format_of(inline, self.provider, otherwise)
        return Request(inline, len(lead), is_text, tools, wire)

    def _is_batch(self, row: Row) -> bool:
        """Return whether a row is a line of a batch, which holds its request as `body`."""
        is_object = isinstance(row, Mapping) and self.messages not in row
        return is_object and "custom_id" in row and isinstance(row.get("body"), Mapping)

    def _plain(self, row: Row) -> Row:
        """Return a row of another library with its messages in Anthropic's format."""
        if isinstance(row, Mapping) and self.messages in row and "info" not in row:
            return row
        told = messages_of_record(row)
        if told is None:
            return row
        if not isinstance(row, Mapping):
            return [*told.messages]
        # ShareGPT's column goes, and so does a system prompt that is now a message.
        gone = ("conversations", "system")
        return {name: row[name] for name in row if name not in gone} | {
            self.messages: [*told.messages]
        }

    def fit(self, request: "Request", messages: Sequence[Message]) -> Projection:
        """Return the projection of some messages of a request."""
        return project(
            messages,
            self.model,
            max_tokens=self.max_tokens,
            provider=request.wire.provider,
            keep_recent=self.keep_recent,
            repair=self.repair,
            tools=request.tools,
        )

    def _columns(
        self, body: Mapping[str, Any], request: "Request", projection: Projection
    ) -> dict[str, list[Any]]:
        """Return the columns of `keep` for the shortened messages."""
        if not self.keep:
            return {}
        leading, inline = request.leading, request.inline
        places = origins(request.wire, inline, projection)[leading:]
        sources = [None if place is None else place - leading for place in places]
        return {
            name: aligned(name, body.get(name), len(inline) - leading, sources)
            for name in self.keep
        }


@frozen
class Request:
    """The request in a row: the messages with `leading` ones of the column `system`, and tools.

    `is_text` says that the messages stand there as JSON text.
    """

    inline: list[Message]
    leading: int
    is_text: bool
    tools: list[Any]
    wire: WireFormat


_HELLO = ({"role": "user", "content": "Hello!"},)


def _list_in(body: Mapping[str, Any], column: str) -> tuple[list[Any], bool]:
    """Return the list in a column, and whether it stands there as JSON text."""
    value = body.get(column)
    is_text = isinstance(value, str)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise InvalidDataError(column, f"is not JSON: {error}", "a list, or its text") from None
    if not isinstance(value, list):
        known = ", ".join(map(repr, [*body][:_SHOWN])) or "none"
        what = (
            f"is {type(value).__name__}, not a list"
            if column in body
            else f"is missing; the columns are {known}"
        )
        raise InvalidDataError(column, what, "a list of messages, or name the column of messages")
    return value, is_text


_SHOWN = 8
