"""Templates: text with named places that is filled in once, and the sentences of a persona.

A place is ``{name}`` and nothing else. `str.format` would also follow attributes and indices, and
so expose the internals of every value to anyone who can edit a template. Values are inserted as
text and are not parsed again. Templates come from the user's folders or the package
(docs/nodes.md).

The sentences of a persona are data in `templates/_persona.md`: a heading for each eigenvector and a
line for each band. Eigenvectors without sentences use those under ``default``.
"""

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeAlias

from attrs import define, field, frozen

from polycontext.base import CallerError, advised, is_number, require

_LEGAL = "{name} for a value, {{ and }} for braces"
_BLANK = "\n\n"
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

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
        return advised(f"{where}: {self.problem}", f"Use {self.legal}")


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
    polycontext.errors.TemplateError: hello.md:1:7: '{name.__class__}' is no place...
    """

    text: str
    source: str
    _paragraphs: tuple[tuple[Piece, ...], ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_paragraphs", tuple(_paragraphs(self.text, self.source)))

    @property
    def pieces(self) -> Iterator[Piece]:
        """Return the literals, each with the name of the value that follows it."""
        return _pieces(self.text, 0, len(self.text), self.source)

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the values that the template uses."""
        return frozenset(name for _, name in self.pieces if name is not None)

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
    """Yield the pieces of ``text[at:end]``."""
    literal = ""
    for found in _BRACES.finditer(text, at, end):
        literal += text[at : found.start()]
        at, (place, name) = found.end(), found.group(0, 1)
        if place in ("{{", "}}"):
            literal += place[0]
        elif name is not None and name.isidentifier():
            yield literal, name
            literal = ""
        else:
            raise _error(text, found.start(), f"{place!r:.60} is no place", source)
    if literal := literal + text[at:end]:
        yield literal, None


def _error(text: str, at: int, problem: str, source: str) -> TemplateError:
    return TemplateError(
        source, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), problem, _LEGAL
    )


LOW_BELOW = 0.35
HIGH_ABOVE = 0.65


class Band(StrEnum):
    """The band of a coordinate from 0 to 1.

    Low is below 0.35 and high above 0.65; the edges belong to the middle.
    """

    LOW = "low"
    MIDDLE = "middle"
    HIGH = "high"


def band_of(value: float) -> Band:
    """Return the band of a coordinate from 0 to 1.

    >>> [band_of(value).value for value in (0.0, 0.35, 0.65, 1.0)]
    ['low', 'middle', 'middle', 'high']
    """
    if value < LOW_BELOW:
        return Band.LOW
    return Band.HIGH if value > HIGH_ABOVE else Band.MIDDLE


def describe_persona(eigenvectors: Mapping[str, float], templates: Mapping[str, Template]) -> str:
    """Return one sentence per eigenvector in the given order; a sentence may be empty.

    The keys of `templates` are names such as ``warmth.high``. Templates may use ``{name}`` and
    ``{value}``.

    Raises:
        InvalidOptionError: A coordinate is not a number from 0 to 1, or a name is not one line of
            text.
    """
    return " ".join(_sentence(name, value, templates) for name, value in eigenvectors.items())


def _sentence(name: str, value: float, templates: Mapping[str, Template]) -> str:
    require(
        "eigenvectors",
        name,
        isinstance(name, str) and name.strip() and name.isprintable(),
        "names of one line that can be read",
    )
    require(f"eigenvectors[{name!r:.60}]", value, is_number(value, 0, 1), "a number from 0 to 1")
    band = band_of(value)
    template = templates.get(f"{name}.{band}") or templates[f"default.{band}"]
    return template.fill({"name": name, "value": f"{value:.2f}"})


def read_persona(text: str, source: str) -> Iterator[tuple[str, Template]]:
    r"""Yield the templates of a persona file with their names.

    Raises:
        TemplateError: A line is neither a heading nor a band, or a template is invalid.

    >>> [
    ...     (name, template.text)
    ...     for name, template in read_persona("# warmth\nlow: Be cool.\n", "_persona.md")
    ... ]
    [('warmth.low', 'Be cool.')]
    """
    name = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("# "):
            name = line[2:].strip()
        elif line.strip():
            band, colon, sentence = line.partition(":")
            if not name or not colon or band not in tuple(Band):
                raise TemplateError(
                    source,
                    number,
                    1,
                    f"line {line!r:.60}",
                    f"'# eigenvector', below it {', '.join(f'{b}: ...' for b in Band)}",
                )
            text = sentence.strip()
            try:
                template = Template(text, f"{source}:{number}")
            except TemplateError as error:
                raise TemplateError(
                    source, number, line.index(text) + error.column, error.problem, error.legal
                ) from None
            yield f"{name}.{band}", template


FRAME, INSTRUCTIONS = "node", "node_"
"""The section around the layers of a node, and the start of the names of nodes' instructions."""

SECTIONS = {
    **{each: {each} for each in ("constraints", "conversation", "task")},
    **{each: {each} for each in ("step", "refusal", "schema")},
    FRAME: {"entities", "conversation", "reasoning", "task"},
}
"""The parts of a prompt that have their own template, such as ``_task.md``, with its places."""

_SUFFIX = ".md"


Library: TypeAlias = Mapping[str, Mapping[str, Template]]
"""Templates by kind, which is ``system``, ``persona`` or ``section``, and by name."""


def merge(libraries: Sequence[Library]) -> Library:
    """Return one library with each template from the first library that has it."""
    return {kind: ChainMap(*(dict(each[kind]) for each in libraries)) for kind in _READERS}


@cache
def package_library() -> Library:
    """Return the templates that the package ships; they are read once."""
    return read_folder(files("polycontext.nodes.prompts") / "templates")


def read_folder(folder: Traversable) -> Library:
    """Read every ``*.md`` file directly in `folder`.

    File names are agent types; ``_*.md`` files hold the persona and the sections.

    Raises:
        TemplateError: There is no such folder, a file is not UTF-8, a ``_*.md`` is unknown, or a
            template is invalid.
    """
    if not folder.is_dir():
        raise TemplateError(str(folder), 0, 0, "is not a folder", "a folder of *.md templates")
    library: dict[str, dict[str, Template]] = {kind: {} for kind in _READERS}
    for entry in folder.iterdir():
        if not (entry.name.endswith(_SUFFIX) and entry.is_file()):
            continue
        text, source = _text(entry), str(Path(str(folder)) / entry.name)
        name = entry.name.removesuffix(_SUFFIX)
        if name == "_persona":
            library["persona"] = dict(read_persona(text, source))
        else:
            kind, name = ("section", name[1:]) if name.startswith("_") else ("system", name)
            library[kind][name] = _READERS[kind](name, text, source)
    return library


def _text(entry: Traversable) -> str:
    try:
        # Some editors put a byte order mark in front, which is no part of the text.
        return entry.read_text(encoding="utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        raise TemplateError(
            str(entry), 0, 0, f"is not UTF-8 text ({error.reason} at byte {error.start})", "UTF-8"
        ) from None


def library_of(given: Mapping[str, Mapping[str, str]]) -> Library:
    """Return the library of templates given as text; raise `TemplateError` for an invalid one."""
    return {
        kind: {
            name: _READERS[kind](name, text, f"{kind}_templates[{name!r}]")
            for name, text in texts.items()
        }
        for kind, texts in given.items()
    }


def _system(_: str, text: str, source: str) -> Template:
    if not text.strip():
        raise TemplateError(source, 0, 0, "is empty", "a template with text")
    return Template(text, source)


def _persona(name: str, text: str, source: str) -> Template:
    if name.rpartition(".")[2] not in tuple(Band):
        raise TemplateError(
            source,
            0,
            0,
            f"{name!r:.60} names no band",
            f"an eigenvector's name, then {', '.join(f'.{b}' for b in Band)}",
        )
    return Template(text, source)


def _section(name: str, text: str, source: str) -> Template:
    """Return the template of a section.

    Raise `TemplateError` for an unknown section, or a template without the section's own places.
    """
    template = Template(text, source)
    if name.startswith(INSTRUCTIONS):
        return template
    if name not in SECTIONS:
        legal = f"{', '.join(SECTIONS)}, {INSTRUCTIONS} and the name of a node"
        raise TemplateError(source, 0, 0, f"no section is called {name!r:.60}", legal)
    places = SECTIONS[name]
    if places - template.names or (name == FRAME and template.names - places):
        told = ", ".join(f"{{{each}}}" for each in sorted(places))
        problem = f"the section does not name {'exactly ' * (name == FRAME)}{told}"
        raise TemplateError(source, 0, 0, problem, f"a template with {told} in it")
    return template


_READERS = {"system": _system, "persona": _persona, "section": _section}
"""How the text of a template of each kind is read and checked."""
