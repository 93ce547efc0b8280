"""What is refused when a file is read: where it stands, what is wrong, what would be legal."""

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class ReadingError(CallerError, ValueError):
    """Refuse a file that holds no conversation.

    `source` is the file, `line` counts from 1 (None for the file as a whole), `field`
    leads to the fault from there, as in ``messages[3].content`` (None for the line as a whole).

    >>> print(ReadingError("chat.json", 4, "messages[1]", "role is 'poet'", "user or assistant"))
    chat.json, line 4, messages[1]: role is 'poet'; legal: user or assistant
    """

    source: str
    line: int | None
    field: str | None
    problem: str
    legal: str

    def __str__(self) -> str:
        line = None if self.line is None else f"line {self.line}"
        where = ", ".join(part for part in (self.source, line, self.field) if part)
        return f"{where}: {self.problem}; legal: {self.legal}"
