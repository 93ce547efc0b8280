"""The pill: the text ``[@name]`` in a document, with the properties that make it one (seed 001)."""

from enum import StrEnum

from attrs import Factory, evolve, field, frozen

from polycontext.window.pills._names import check_name
from polycontext.window.pills.errors import InvalidPillNameError

PILL_FACE = "sly-agent-q-context-pill-face"
PILL_KEYMAP = "sly-agent-q-context-pill-map"


class PillType(StrEnum):
    """Say what kind of context a pill names."""

    FILE = "file"
    SYMBOL = "symbol"
    BUFFER = "buffer"


def as_type(value: object, name: str = "") -> PillType:
    """Return the pill type that `value` names; raise `InvalidPillNameError` for the pill `name` otherwise."""
    try:
        return PillType(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidPillNameError(name, f"unknown type {value!r}", ", ".join(PillType)) from None


@frozen
class TextProperties:
    """Hold what every character of a pill carries (seed 001, "Text Properties"); None is a property that was lost.

    `pill` is the name, `face` how it looks, `rear_nonsticky` that text typed behind it does not join it,
    `keymap` what clicking and deleting do.
    """

    pill: str | None = None
    face: str | None = None
    rear_nonsticky: bool | None = None
    keymap: str | None = None

    @classmethod
    def of(cls, name: str) -> "TextProperties":
        """Return the properties of a sound pill.

        >>> TextProperties.of("src/agent.py").pill
        'src/agent.py'
        """
        return cls(name, PILL_FACE, rear_nonsticky=True, keymap=PILL_KEYMAP)


def _sound(pill: "Pill") -> TextProperties:
    return TextProperties.of(pill.name)


@frozen
class Pill:
    """Hold one pill of a document: its name, its type, where it starts (in characters), and its text properties.

    Raises:
        InvalidPillNameError: the name cannot stand in a pill, or the type is unknown.

    >>> pill = Pill("src/agent.py", start=8)
    >>> pill.text, pill.end
    ('[@src/agent.py]', 23)
    """

    name: str = field(converter=check_name)
    type: PillType = field(default=PillType.FILE, converter=as_type)
    start: int = 0
    text_properties: TextProperties = field(default=Factory(_sound, takes_self=True), kw_only=True)

    @property
    def text(self) -> str:
        """Return what stands in the document: ``[@name]``."""
        return f"[@{self.name}]"

    @property
    def end(self) -> int:
        """Return the position behind the closing bracket."""
        return self.start + len(self.name) + 3

    @property
    def is_sound(self) -> bool:
        """Tell whether the text properties are those that a pill of this name has."""
        return self.text_properties == TextProperties.of(self.name)

    def shifted(self, characters: int) -> "Pill":
        """Return the same pill so many characters further on."""
        return evolve(self, start=self.start + characters) if characters else self

    def repaired(self) -> "Pill":
        """Return the same pill with its properties made anew."""
        return self if self.is_sound else evolve(self, text_properties=TextProperties.of(self.name))
