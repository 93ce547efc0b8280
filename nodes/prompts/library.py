"""Load templates from the user's folders or the package, and word personas (docs/nodes.md).

The sentences of a persona are data in `templates/_persona.md`: a heading for each eigenvector and a
line for each band. Eigenvectors without sentences use those under ``default``.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType

from attrs import field, frozen

from polycontext.base import InvalidOptionError

from .template import Template, TemplateError

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
    if not (isinstance(name, str) and name.strip() and name.isprintable()):
        raise InvalidOptionError("eigenvectors", name, "names of one line that can be read")
    # A bool is an int, and `nan` is neither below 0 nor above 1.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidOptionError(f"eigenvectors[{name!r:.60}]", value, "a number from 0 to 1")
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


SECTIONS = ("constraints", "conversation", "task")
"""The parts of a prompt that have their own template, in files such as ``_constraints.md``."""

_SUFFIX = ".md"


def _read_only(templates: Mapping[str, Template]) -> Mapping[str, Template]:
    return MappingProxyType(dict(templates))


@frozen(eq=False)
class TemplateLibrary:
    """Templates by name: of agent types, personas (``warmth.high``) and sections."""

    system: Mapping[str, Template] = field(factory=dict, converter=_read_only)
    persona: Mapping[str, Template] = field(factory=dict, converter=_read_only)
    sections: Mapping[str, Template] = field(factory=dict, converter=_read_only)


def merge(libraries: Sequence[TemplateLibrary]) -> TemplateLibrary:
    """Return one library with each template from the first library that has it."""
    merged = TemplateLibrary()
    for each in reversed(libraries):
        merged = TemplateLibrary(
            {**merged.system, **each.system},
            {**merged.persona, **each.persona},
            {**merged.sections, **each.sections},
        )
    return merged


@cache
def package_library() -> TemplateLibrary:
    """Return the templates that the package ships; they are read once."""
    return read_folder(files("polycontext.nodes.prompts") / "templates")


def read_folder(folder: Traversable) -> TemplateLibrary:
    """Read every ``*.md`` file directly in `folder`.

    File names are agent types; ``_*.md`` files hold the persona and the sections.

    Raises:
        TemplateError: There is no such folder, a file is not UTF-8, a ``_*.md`` is unknown, or a
            template is invalid.
    """
    if not folder.is_dir():
        raise TemplateError(str(folder), 0, 0, "is no folder", "a folder of *.md templates")
    texts = {
        entry.name.removesuffix(_SUFFIX): _text(entry)
        for entry in folder.iterdir()
        if entry.name.endswith(_SUFFIX) and entry.is_file()
    }
    parts = {name.removeprefix("_"): text for name, text in texts.items() if name.startswith("_")}
    persona = parts.pop("persona", "")
    source = Path(str(folder))
    return TemplateLibrary(
        {
            name: _system(text, str(source / f"{name}.md"))
            for name, text in texts.items()
            if not name.startswith("_")
        },
        dict(read_persona(persona, str(source / "_persona.md"))),
        {name: _section(name, text, str(source / f"_{name}.md")) for name, text in parts.items()},
    )


def _text(entry: Traversable) -> str:
    try:
        # Some editors put a byte order mark in front, which is no part of the text.
        return entry.read_text(encoding="utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        raise TemplateError(
            str(entry), 0, 0, f"is no UTF-8 text ({error.reason} at byte {error.start})", "UTF-8"
        ) from None


def library_of(
    system: Mapping[str, str], persona: Mapping[str, str], sections: Mapping[str, str]
) -> TemplateLibrary:
    """Return the library of templates given as text; raise `TemplateError` for an invalid one."""
    return TemplateLibrary(
        {name: _system(text, f"system_templates[{name!r}]") for name, text in system.items()},
        {
            name: _persona(name, text, f"persona_templates[{name!r}]")
            for name, text in persona.items()
        },
        {
            name: _section(name, text, f"section_templates[{name!r}]")
            for name, text in sections.items()
        },
    )


def _system(text: str, source: str) -> Template:
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

    Raise `TemplateError` for an unknown section, or a template without the section's own place.
    """
    if name not in SECTIONS:
        raise TemplateError(source, 0, 0, f"no section is called {name!r:.60}", ", ".join(SECTIONS))
    template = Template(text, source)
    if name not in template.names:
        raise TemplateError(
            source,
            0,
            0,
            f"the section does not name {{{name}}}",
            f"a template with {{{name}}} in it",
        )
    return template
