"""Templates: text with named places that is filled in once.

A place is ``{name}`` and nothing else. `str.format` would also follow attributes and indices, and
so expose the internals of every value to anyone who can edit a template. Values are inserted as
text and are not parsed again.
"""

from collections.abc import Iterator, Mapping
from string import Formatter

from attrs import define, field, frozen

from polycontext.base import CallerError

_LEGAL = "{name} for a value, {{ and }} for braces"
_BLANK = "\n\n"

Piece = tuple[str, str | None]
"""A literal, and the name of the value that follows it."""


@define(slots=False, eq=False)
class TemplateError(CallerError, ValueError):
    """Raised for an invalid template when it is loaded.

    `source` is the template's file; `line` and `column` count from 1, and 0 means the whole
    template.
    """

    source: str
    line: int
    column: int
    problem: str
    legal: str

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        return f"{where}: {self.problem}. Use {self.legal}."


@define(slots=False, eq=False)
class MissingValueError(CallerError, KeyError):
    """Raised when a template names a value that is not given; `known` are the given names."""

    key: str
    template: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"template {self.template} names {{{self.key}}}, but no such value is given. "
            f"Pass {self.key}=..., beside {', '.join(self.known)}."
        )


@frozen
class Template:
    r"""A template, validated on creation; `source` identifies it in errors.

    A paragraph that consists of a single place is omitted if its value is empty.

    Raises:
        TemplateError: A lone brace, an attribute, an index, a conversion, a format spec, or a place
            without a name. The error names file, line and column.

    >>> hello = Template("Hello {name}, {{welcome}}.\n\n{more}", "hello.md")
    >>> hello.fill({"name": "{more}", "more": ""})
    'Hello {more}, {welcome}.'
    >>> Template("Hello {name.__class__}", "hello.md")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.nodes.prompts.template.TemplateError: hello.md:1:7: place 'name.__class__' is ...
    """

    text: str
    source: str
    _paragraphs: tuple[tuple[Piece, ...], ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_paragraphs", tuple(_paragraphs(self.text, self.source)))

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the values that the template uses."""
        return frozenset(
            name for pieces in self._paragraphs for _, name in pieces if name is not None
        )

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with `values` inserted at their places; ignore further values.

        Law: a value is in the result verbatim, whatever it holds, and affects nothing else.

        Raises:
            MissingValueError: A place has no value.
        """
        for pieces in self._paragraphs:
            for _, name in pieces:
                if name is not None and name not in values:
                    raise MissingValueError(name, self.source, tuple(values))
        filled = [
            "".join(literal if name is None else literal + values[name] for literal, name in pieces)
            for pieces in self._paragraphs
        ]
        # A paragraph of one piece without text is a single place: a literal has text, and a blank
        # paragraph has no piece.
        return _BLANK.join(
            text
            for text, pieces in zip(filled, self._paragraphs, strict=True)
            if text or len(pieces) != 1
        )


def _paragraphs(text: str, source: str) -> Iterator[tuple[Piece, ...]]:
    start = 0
    for paragraph in text.split(_BLANK):
        yield tuple(_pieces(text, start, start + len(paragraph), source))
        start += len(paragraph) + len(_BLANK)


def _pieces(text: str, at: int, end: int, source: str) -> Iterator[Piece]:
    """Yield the pieces of ``text[at:end]``, tracking positions that `Formatter` does not report."""
    parsed = Formatter().parse(text[at:end])
    try:
        for literal, name, _spec, _conversion in parsed:
            at += len(literal)
            if name is None:
                at += literal.endswith(("{", "}"))  # a doubled brace
            else:
                _check_place(text, at, name, source)
                at += len(name) + 2
            yield literal, name
    except ValueError as error:
        if isinstance(error, TemplateError):
            raise
        while text[at] not in "{}":
            at += 1
        raise _error(text, at, str(error), source) from None


def _check_place(text: str, at: int, name: str, source: str) -> None:
    if not text.startswith(f"{{{name}}}", at):
        raise _error(text, at, f"place {name!r} has a conversion or a format", source)
    if not name.isidentifier():
        raise _error(text, at, f"place {name!r} is no name", source)


def _error(text: str, at: int, problem: str, source: str) -> TemplateError:
    return TemplateError(
        source, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), problem, _LEGAL
    )
