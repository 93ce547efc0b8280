"""What a resolver gives and offers: the content of one pill, how much of it, and the names that it can find."""

from collections.abc import Iterable
from typing import Protocol

from attrs import Factory, field, frozen

from .pill import PillType

DEFAULT_LIMIT = 50_000
"""Characters of one pill that are attached."""


@frozen
class Resolved:
    """Hold the content of a pill at the moment it was asked for.

    `path` is the file it is from, relative to its root (None for a buffer). Lines
    count from 1 and name what of the file is held; None means all of it.
    `total_characters` counts what there was, `notice` says aloud what was cut.
    `source` is the same for every name of the same context, whatever its content.
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
        """Tell whether something was cut."""
        return self.notice is not None

    @property
    def attached_text(self) -> str:
        """Return what the model reads: the content, and the notice where there is one."""
        if self.notice is None:
            return self.content
        return self.content + ("" if self.content.endswith("\n") else "\n") + self.notice


class Resolver(Protocol):
    """Find the content of pills of one type, when they are sent."""

    @property
    def type(self) -> PillType:
        """Return the type of the pills it resolves."""
        ...

    def resolve(self, name: str) -> Resolved:
        """Return the content of `name` as it is now.

        Raises:
            CannotAttachError: it cannot be had. InvalidPillNameError: it may not be looked for.
        """
        ...


@frozen(order=True)
class Candidate:
    """Offer a name to attach, annotated with its type and, for a symbol, where it is defined."""

    name: str
    type: PillType
    detail: str = ""


class Source(Protocol):
    """Know names of one type that can be completed; the house's own resolvers are sources too."""

    @property
    def type(self) -> PillType:
        """Return the type of the names."""
        ...

    def entries(self) -> Iterable[Candidate]:
        """Yield everything there is to offer now, in any order; may take its time."""
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
    r"""Return `text` resolved, cut at the last line end within `limit` characters.

    Within a line only where that line alone is longer.

    `first_line` is where the text starts in its file, for a text that is a part of one.

    >>> clipped("a.txt", PillType.FILE, "one\ntwo\nthree", 9).notice
    '[truncated at the limit of 9 characters: 8 of 13 characters, lines 1-2 of 3]'
    """
    start = first_line or 1
    if len(text) <= limit:
        end_line = None if first_line is None else start + _lines(text) - 1
        return Resolved(name, pill_type, text, path, first_line, end_line, len(text))
    kept = text[: text.rfind("\n", 0, limit) + 1 or limit]
    end_line = start + _lines(kept) - 1
    what = f"{len(kept):,} of {len(text):,} characters, lines {start}-{end_line} of {start + _lines(text) - 1}"
    notice = f"[truncated at the limit of {limit:,} characters: {what}]"
    return Resolved(name, pill_type, kept, path, start, end_line, len(text), notice)


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
