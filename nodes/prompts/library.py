"""Where templates come from: the folders of a user, and the package's own behind them."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType

from attrs import field, frozen

from .persona import Band, read_persona
from .template import Template, TemplateError

SECTIONS = ("constraints", "conversation", "task")
"""The parts of a prompt that have a template of their own, in a file called ``_constraints.md`` and so on."""

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
        merged = TemplateLibrary({**merged.system, **each.system}, {**merged.persona, **each.persona}, {**merged.sections, **each.sections})
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
        entry.name.removesuffix(_SUFFIX): _text(entry) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX) and entry.is_file()
    }
    parts = {name.removeprefix("_"): text for name, text in texts.items() if name.startswith("_")}
    persona = parts.pop("persona", "")
    source = Path(str(folder))
    return TemplateLibrary(
        {name: _system(text, str(source / f"{name}.md")) for name, text in texts.items() if not name.startswith("_")},
        dict(read_persona(persona, str(source / "_persona.md"))),
        {name: _section(name, text, str(source / f"_{name}.md")) for name, text in parts.items()},
    )


def _text(entry: Traversable) -> str:
    try:
        # Some editors put a byte order mark in front, which is no part of the text.
        return entry.read_text(encoding="utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        raise TemplateError(str(entry), 0, 0, f"is no UTF-8 text ({error.reason} at byte {error.start})", "UTF-8") from None


def given_library(system: Mapping[str, str], persona: Mapping[str, str], sections: Mapping[str, str]) -> TemplateLibrary:
    """Return the templates that a caller gave as text; raise `TemplateError` where one is none."""
    return TemplateLibrary(
        {name: _system(text, f"system_templates[{name!r}]") for name, text in system.items()},
        {name: _persona(name, text, f"persona_templates[{name!r}]") for name, text in persona.items()},
        {name: _section(name, text, f"section_templates[{name!r}]") for name, text in sections.items()},
    )


def _system(text: str, source: str) -> Template:
    if not text.strip():
        raise TemplateError(source, 0, 0, "is empty", "a template that says something")
    return Template(text, source)


def _persona(name: str, text: str, source: str) -> Template:
    if name.rpartition(".")[2] not in tuple(Band):
        raise TemplateError(source, 0, 0, f"{name!r:.60} names no band", f"an eigenvector's name, then {', '.join(f'.{b}' for b in Band)}")
    return Template(text, source)


def _section(name: str, text: str, source: str) -> Template:
    """Return the template of a section; raise `TemplateError` where it is unknown, or would lose what it is there for."""
    if name not in SECTIONS:
        raise TemplateError(source, 0, 0, f"no section is called {name!r:.60}", ", ".join(SECTIONS))
    template = Template(text, source)
    if name not in template.names:
        raise TemplateError(source, 0, 0, f"the section does not name {{{name}}}", f"a template with {{{name}}} in it")
    return template
