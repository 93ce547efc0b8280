"""A layer as parts: what each stands under, and its entries, which a short room may cut one by one."""

from collections.abc import Iterable

from attrs import field, frozen

from polycontext.linearity import ResourceClass


@frozen
class Entry:
    """Hold one entry of a part; `short` is what may stand for it, with others, where room is short."""

    text: str
    short: str = ""
    resource_class: ResourceClass = ResourceClass.REQUIRED


@frozen
class Part:
    """Hold a heading and the entries below it."""

    heading: str
    entries: tuple[Entry, ...] = field(converter=tuple[Entry, ...])

    def __str__(self) -> str:
        return "\n".join([f"### {self.heading}", *(entry.text for entry in self.entries)])


def part(heading: str, texts: Iterable[str], resource_class: ResourceClass = ResourceClass.REQUIRED) -> Part:
    """Return a part of plain entries; blank ones are left out."""
    return Part(heading, [Entry(text, resource_class=resource_class) for text in texts if text])


def filled(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts that have entries."""
    return tuple(each for each in parts if each.entries)


def printed(parts: Iterable[Part], nothing: str) -> str:
    """Return the parts as text, a blank line between them, or `nothing` where there are none."""
    return "\n\n".join(map(str, parts)) or nothing
