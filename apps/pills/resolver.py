"""The resolver protocol, the content that resolvers return, and the names that they offer."""

from collections.abc import Iterable
from typing import Protocol

from attrs import Factory, field, frozen

from .pill import PillType

DEFAULT_LIMIT = 50_000
"""The most characters of one pill that are attached."""


@frozen
class Resolved:
    """The content of a pill at the time it was resolved.

    `path` is the source file relative to its root (None for a buffer). Lines count from 1 and give
    the excerpt of the file; None means the whole file. `total_characters` is the length before
    truncation; `notice` reports what was cut. `source` is the same for every name of the same
    context, whatever its content.
    """

    name: str
    type: PillType
    content: str
    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    total_characters: int = 0
    notice: str | None = None
    source: str = field(
        default=Factory(lambda self: self.path or f"{self.type} {self.name}", takes_self=True),
        kw_only=True,
    )

    @property
    def truncated(self) -> bool:
        """Return whether the content was truncated."""
        return self.notice is not None

    @property
    def attached_text(self) -> str:
        """Return the text for the model: the content, followed by the notice if there is one."""
        if self.notice is None:
            return self.content
        return self.content + ("" if self.content.endswith("\n") else "\n") + self.notice


class Resolver(Protocol):
    """Resolves the content of pills of one type when they are sent."""

    @property
    def type(self) -> PillType:
        """Return the type of the pills that it resolves."""
        ...

    def resolve(self, name: str) -> Resolved:
        """Return the current content of `name`.

        Raises:
            CannotAttachError: The content is not available.
            InvalidPillNameError: The name may not be looked up.
        """
        ...


@frozen(order=True)
class Candidate:
    """A name to attach, with its type and, for a symbol, the place of its definition."""

    name: str
    type: PillType
    detail: str = ""


class Source(Protocol):
    """A source of names of one type for completion, such as the library's own resolvers."""

    @property
    def type(self) -> PillType:
        """Return the type of the names."""
        ...

    def entries(self) -> Iterable[Candidate]:
        """Yield all names available now, in any order; this may be slow."""
        ...


def clipped(
    name: str,
    pill_type: PillType,
    text: str,
    limit: int,
    *,
    path: str | None = None,
    first_line: int | None = None,
) -> Resolved:
    r"""Return `text` as resolved content, cut at the last line end within `limit` characters.

    A line is only cut in the middle if it exceeds the limit alone. `first_line` is the line of a
    file at which an excerpt begins.

    >>> clipped("a.txt", PillType.FILE, "one\ntwo\nthree", 9).notice
    '[truncated at the limit of 9 characters: 8 of 13 characters, lines 1-2 of 3]'
    """
    start = first_line or 1
    if len(text) <= limit:
        end_line = None if first_line is None else start + _lines(text) - 1
        return Resolved(name, pill_type, text, path, first_line, end_line, len(text))
    kept = text[: text.rfind("\n", 0, limit) + 1 or limit]
    end_line = start + _lines(kept) - 1
    what = (
        f"{len(kept):,} of {len(text):,} characters, lines {start}-{end_line} of "
        f"{start + _lines(text) - 1}"
    )
    notice = f"[truncated at the limit of {limit:,} characters: {what}]"
    return Resolved(name, pill_type, kept, path, start, end_line, len(text), notice)


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
