"""A persona in words: each eigenvector falls into a band, each band has a sentence (docs/prompts.md).

The sentences are data, in `templates/_persona.md`: a heading for each eigenvector, a line for each
band. Those under ``default`` speak for eigenvectors that have none of their own.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

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
        InvalidOptionError: a coordinate that is no number from 0 to 1, or a name that is no text of one line.
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
                    source, number, 1, f"line {line!r:.60}", f"'# eigenvector', below it {', '.join(f'{b}: ...' for b in Band)}"
                )
            text = sentence.strip()
            try:
                template = Template(text, f"{source}:{number}")
            except TemplateError as error:
                raise TemplateError(source, number, line.index(text) + error.column, error.problem, error.legal) from None
            yield f"{name}.{band}", template
