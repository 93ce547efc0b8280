"""The pill: the text ``[@name]`` in a document, with its properties (docs/attachments.md)."""

import re
from collections.abc import Iterator
from enum import StrEnum

from attrs import Factory, evolve, field, frozen

from .errors import InvalidPillNameError

PILL_FACE = "sly-agent-q-context-pill-face"
PILL_KEYMAP = "sly-agent-q-context-pill-map"

BINDINGS = {"mouse-1": "visit", "RET": "visit", "DEL": "remove", "backspace": "remove"}
"""What each key does on a pill with this keymap."""

LONGEST_NAME = 1024
"""The most characters of a name."""

# Brackets are balanced, two deep: `app/[[...slug]]/page.tsx` is a file. "[@" never occurs inside a
# name, so no pill can be nested. Quantifiers are possessive, so hostile text is scanned once.
_PLAIN = r"[^\[\]\n\r]"
_NAME = rf"(?:{_PLAIN}|\[(?!@)(?:{_PLAIN}|\[(?!@){_PLAIN}*+\])*+\])++"
_WHOLE = re.compile(_NAME)
_PILL = re.compile(rf"\[@({_NAME})\]")
_ADDRESS = re.compile(r"[A-Za-z]:|[A-Za-z][\w+.-]*:/")
"""A drive letter, or the scheme of a URL."""


def check_name(name: object) -> str:
    """Return `name` if it is valid in a pill.

    Raises:
        InvalidPillNameError: The name is empty, begins or ends with a blank, is not printable, has
            unbalanced brackets, or is longer than `LONGEST_NAME`.
    """
    if not isinstance(name, str):
        raise InvalidPillNameError(repr(name), f"{type(name).__name__} is not text", "a str")
    problem = _problem(name)
    if problem:
        raise InvalidPillNameError(
            name,
            problem,
            f"1 to {LONGEST_NAME} printable characters, brackets in pairs, no blank at an end",
        )
    return name


def is_path(name: str) -> bool:
    r"""Return whether `name` is a relative path to a file that means the same on every system.

    It may not be absolute or lead upwards.

    >>> [
    ...     name
    ...     for name in ("src/agent.py", "../a", "/a", "C:a", "~/a", "a/", "a\\b", "a.", "a /b")
    ...     if is_path(name)
    ... ]
    ['src/agent.py']
    """
    steps = name.split("/")
    # Windows drops dots and blanks from the end of a name; this also excludes "..".
    kept = all(step == "." or step.rstrip(". ") == step for step in steps)
    return (
        kept
        and steps[-1] not in ("", ".")
        and name[0] not in "/~"
        and "\\" not in name
        and not _ADDRESS.match(name)
    )


def check_path(name: str) -> str:
    """Return `name` if it is a path from a root to a file.

    Raises `InvalidPillNameError` otherwise.
    """
    if not is_path(name):
        raise InvalidPillNameError(
            name,
            "is not a path from a root",
            "a path such as src/agent.py, without .., drive or backslash",
        )
    return name


def is_name(name: str) -> bool:
    """Return whether `name` is valid in a pill."""
    return _problem(name) is None


def find_pills(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and name of every pill written in `text`, in order."""
    for match in _PILL.finditer(text):
        if is_name(match[1]):
            yield match.start(), match[1]


def _problem(name: str) -> str | None:
    if not name or name != name.strip():
        return "is empty or has a blank at an end"
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters"
    if not name.isprintable():
        return "has a character that cannot be printed"
    # Counted too, because Python before 3.11.4 matches "a[b" with a possessive pattern.
    paired = name.count("[") == name.count("]") and _WHOLE.fullmatch(name)
    return None if paired else "has a bracket without its partner, or a pill inside"


class PillType(StrEnum):
    """The kind of context that a pill names."""

    FILE = "file"
    SYMBOL = "symbol"
    BUFFER = "buffer"


def as_type(value: object, name: str = "") -> PillType:
    """Return the pill type that `value` names.

    Raises `InvalidPillNameError` for the pill `name` if there is none.
    """
    try:
        return PillType(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidPillNameError(name, f"unknown type {value!r}", ", ".join(PillType)) from None


@frozen
class TextProperties:
    """The properties of every character of a pill (docs/attachments.md).

    `pill` is the name, `face` the appearance, and `keymap` the effect of clicking and deleting.
    `rear_nonsticky` means that text typed after the pill does not join it. None means that a
    property was lost.
    """

    pill: str | None = None
    face: str | None = None
    rear_nonsticky: bool | None = None
    keymap: str | None = None

    @classmethod
    def of(cls, name: str) -> "TextProperties":
        """Return the properties of a sound pill called `name`.

        >>> TextProperties.of("src/agent.py").pill
        'src/agent.py'
        """
        return cls(name, PILL_FACE, rear_nonsticky=True, keymap=PILL_KEYMAP)


@frozen
class Pill:
    """A pill of a document: its name, type, start (in characters) and text properties.

    Raises:
        InvalidPillNameError: The name is not valid in a pill, or the type is unknown.

    >>> pill = Pill("src/agent.py", start=8)
    >>> pill.text, pill.end
    ('[@src/agent.py]', 23)
    """

    name: str = field(converter=check_name)
    type: PillType = field(default=PillType.FILE, converter=as_type)
    start: int = 0
    text_properties: TextProperties = field(
        default=Factory(lambda pill: TextProperties.of(pill.name), takes_self=True), kw_only=True
    )

    @property
    def text(self) -> str:
        """Return the text of the pill in the document: ``[@name]``."""
        return f"[@{self.name}]"

    @property
    def end(self) -> int:
        """Return the position after the closing bracket."""
        return self.start + len(self.name) + 3

    @property
    def is_sound(self) -> bool:
        """Return whether the text properties are the default ones of a pill with this name."""
        return self.text_properties == TextProperties.of(self.name)

    def repaired(self) -> "Pill":
        """Return the same pill with its default properties."""
        return self if self.is_sound else evolve(self, text_properties=TextProperties.of(self.name))
