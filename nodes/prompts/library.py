"""Where templates come from, the folders of a user or else the package, and the persona that they put in words (docs/nodes.md).

A persona's sentences are data, in `templates/_persona.md`: a heading for each eigenvector, a line
for each band. Those under ``default`` speak for eigenvectors that have none of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType

from attrs import field, frozen

from polycontext.linearity import InvalidOptionError

from .template import Template, TemplateError

LOW_BELOW = 0.35
HIGH_ABOVE = 0.65


class Band(StrEnum):
    """Say where on the scale from 0 to 1 a coordinate lies: below 0.35, above 0.65, or between (both edges included)."""

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
    """Return a sentence for each eigenvector, in the order given; empty where there is none.

    `templates` are called ``warmth.high`` and so on; they may name ``{name}`` and ``{value}``.

    Raises:
        InvalidOptionError: a coordinate that is no number from 0 to 1, or a name that is no text of
            one line.
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
    r"""Iterate over the templates of a persona file, each with its name.

    Raises:
        TemplateError: a line that is neither a heading nor a band, or a template that is none.

    >>> [(name, template.text) for name, template in read_persona("# warmth\nlow: Be cool.\n", "_persona.md")]
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
"""The parts of a prompt that have a template of their own, in a file called ``_constraints.md`` and
so on."""

_SUFFIX = ".md"


def _read_only(templates: Mapping[str, Template]) -> Mapping[str, Template]:
    return MappingProxyType(dict(templates))


@frozen(eq=False)
class TemplateLibrary:
    """Hold templates by name: of agent types, of personas (``warmth.high``), of sections."""

    system: Mapping[str, Template] = field(factory=dict, converter=_read_only)
    persona: Mapping[str, Template] = field(factory=dict, converter=_read_only)
    sections: Mapping[str, Template] = field(factory=dict, converter=_read_only)


def merge(libraries: Sequence[TemplateLibrary]) -> TemplateLibrary:
    """Return one library in which the first that has a template gives it."""
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
    """Return the templates that the package ships, read once."""
    return read_folder(files("polycontext.nodes.prompts") / "templates")


def read_folder(folder: Traversable) -> TemplateLibrary:
    """Read every ``*.md`` directly in `folder`: agent types by their file names, persona and sections from ``_*.md``.

    Raises:
        TemplateError: no folder, no UTF-8 text, an unknown ``_*.md``, or a template that is none.
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
    """Return the templates that a caller gave as text; raise `TemplateError` where one is none."""
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

    Raise `TemplateError` where it is unknown, or would lose what it is there for.
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
