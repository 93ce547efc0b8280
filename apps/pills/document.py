"""The pill document: the immutable text of an input buffer with pills (docs/attachments.md).

Four invariants hold after any sequence of edits: every pill carries its name and properties, every
pill is enclosed in its brackets, text typed after a pill does not join it, and a name is in
`context` exactly while its pill is in the text. Only `insert_pill`, `parse`, `repair` and `recover`
create pills: ``[@name]`` typed by hand is text. Positions count characters.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError, UnknownNameError, is_whole, require, similar
from polycontext.base.json_data import check_text
from polycontext.window import PositionError

from .errors import DuplicatePillError
from .pill import (
    BINDINGS,
    PILL_KEYMAP,
    Pill,
    PillType,
    TextProperties,
    as_type,
    check_path,
    find_pills,
)

T = TypeVar("T")

_log = logging.getLogger(__name__)

Duplicate = Literal["error", "update"]
"""How to handle a name that is already attached: raise an error, or update the existing pill."""


def _storable(text: object) -> str:
    return check_text(text, "$.text")


@frozen
class PillDocument:
    """An immutable text with pills; every edit returns a new document.

    Raises:
        InvalidDataError: The text is not storable, or a pill is not at its stated position.
        DuplicatePillError: Two pills have the same name.

    >>> document = PillDocument("look at ").insert_pill("src/agent.py")
    >>> document.to_text(), document.context
    ('look at [@src/agent.py]', ('src/agent.py',))
    >>> document.delete_range(10, 11).to_text()
    'look at '
    """

    text: str = field(default="", converter=_storable)
    pills: tuple[Pill, ...] = field(default=(), converter=tuple[Pill, ...])

    def __attrs_post_init__(self) -> None:
        end, names = 0, set[str]()
        for index, pill in enumerate(self.pills):
            if pill.start < end or not self.text.startswith(pill.text, pill.start):
                raise InvalidDataError(
                    f"$.pills[{index}]",
                    f"{pill.text} does not stand at {pill.start}",
                    "pills as they stand, in order",
                )
            if pill.name in names:
                raise _duplicate(pill)
            end = pill.end
            names.add(pill.name)

    @classmethod
    def parse(
        cls, text: str, type_of: Callable[[str], PillType | str] = lambda _: PillType.FILE
    ) -> "PillDocument":
        """Return the document in which every ``[@name]`` of `text` is a pill.

        Further occurrences of a name stay text. Since the text does not contain types, `type_of`
        returns the type of a pill for its name.

        Law: ``parse(d.to_text())`` attaches every name that d attaches.

        >>> PillDocument.parse("compare [@a.py] with [@b.py]").context
        ('a.py', 'b.py')
        """
        return cls(text)._with_found(type_of)

    @classmethod
    def recover(cls, text: str, pills: Iterable[Pill]) -> "PillDocument":
        """Return the document of `text` with those of `pills` that the text still contains.

        If a name occurs several times, the occurrence nearest to the pill's `start` is used.
        Properties are restored to their defaults. Pills that do not occur in the text are dropped,
        as are further pills of the same name.

        Laws: ``recover(d.text, d.pills) == d`` for a sound document; every recovered pill is sound.

        Raises:
            InvalidDataError: The text is not storable.

        >>> PillDocument.recover(
        ...     "look at [@a.py]", [Pill("a.py", start=3), Pill("gone.py")]
        ... ).context
        ('a.py',)
        """
        written: dict[str, list[int]] = {}
        for start, name in find_pills(_storable(text)):
            written.setdefault(name, []).append(start)
        found: dict[str, Pill] = {}
        for pill in pills:
            if pill.name in written and pill.name not in found:
                found[pill.name] = evolve(
                    pill.repaired(), start=_nearest(written[pill.name], pill.start)
                )
        return cls(text, sorted(found.values(), key=lambda pill: pill.start))

    # --- reading ---------------------------------------------------------

    @property
    def context(self) -> tuple[str, ...]:
        """Return the context list: the names of all pills, in document order."""
        return tuple(pill.name for pill in self.pills)

    def to_text(self) -> str:
        """Return the text, with pills written as ``[@name]``."""
        return self.text

    def pill_at(self, position: int) -> Pill | None:
        """Return the pill that contains the character at `position`, or None."""
        self._check(position)
        return next((pill for pill in self.pills if pill.start <= position < pill.end), None)

    def text_at(self, position: int) -> str:
        """Return what DEL removes at `position`: a pill, a character, or nothing at the end."""
        pill = self.pill_at(position)
        return pill.text if pill else self.text[position : position + 1]

    def text_properties(self, position: int) -> TextProperties | None:
        """Return the properties of the character at `position`, or None on plain text.

        Law: ``text_properties(pill.end)`` is never that pill's.
        """
        pill = self.pill_at(position)
        return pill.text_properties if pill else None

    def pill(self, name: str) -> Pill:
        """Return the pill called `name`.

        Raises:
            UnknownNameError: No pill has this name.
        """
        for pill in self.pills:
            if pill.name == name:
                return pill
        raise UnknownNameError("pill", name, self.context, similar(name, self.context))

    # --- editing ---------------------------------------------------------

    def insert_text(self, at: int, text: str) -> "PillDocument":
        """Return the document with `text` inserted at `at`; it never joins a pill.

        Raises:
            PositionError: The position is outside the text, or inside a pill.
        """
        return self._replaced(self._check_gap(at), at, _storable(text))

    def insert_document(self, at: int, other: "PillDocument") -> "PillDocument":
        """Return the document with the text and pills of `other` inserted at `at`, as on pasting.

        A pill whose name is already attached here becomes text.

        Law: ``d.insert_document(at, PillDocument(t)) == d.insert_text(at, t)``.

        Raises:
            PositionError: The position is outside the text, or inside a pill.

        >>> PillDocument.parse("see [@a.py]").insert_document(
        ...     0, PillDocument.parse("[@b.py] [@a.py] ")
        ... ).context
        ('b.py', 'a.py')
        """
        room = self.insert_text(at, other.text)
        new = [
            evolve(pill, start=pill.start + at)
            for pill in other.pills
            if pill.name not in self.context
        ]
        return evolve(room, pills=sorted([*room.pills, *new], key=lambda pill: pill.start))

    def insert_pill(
        self,
        name: str,
        at: int | None = None,
        type: PillType | str = PillType.FILE,
        *,
        duplicate: Duplicate = "error",
    ) -> "PillDocument":
        """Return the document with the pill ``[@name]`` inserted at `at`, by default at the end.

        With ``duplicate="update"``, a name that is already attached keeps its position, and its
        pill is rebuilt with the given type.

        Raises:
            InvalidPillNameError: The name is not valid in a pill, a file's name is not a path from
                a root, or the type is unknown.
            DuplicatePillError: The name is already attached and `duplicate` is "error".
            PositionError: The position is outside the text, or inside another pill.
            InvalidOptionError: `duplicate` is neither "error" nor "update".

        >>> document = (
        ...     PillDocument("see ")
        ...     .insert_pill("Agent")
        ...     .insert_pill("Agent", type="symbol", duplicate="update")
        ... )
        >>> document.to_text(), document.pill("Agent").type.value
        ('see [@Agent]', 'symbol')
        """
        require("duplicate", duplicate, duplicate in ("error", "update"), "'error' or 'update'")
        start = self._check_gap(len(self.text) if at is None else at)
        pill = Pill(name, as_type(type, name), start)
        if pill.type is PillType.FILE:
            check_path(name)
        if name in self.context:
            if duplicate == "update":
                return self.update_pill(name, type=pill.type)
            raise _duplicate(pill)
        return self._replaced(start, start, pill.text, pill)

    def remove_pill(self, pill: str | Pill) -> "PillDocument":
        """Return the document without the given pill, which may be named or passed as an object.

        Raises:
            UnknownNameError: The pill is not in the document.
        """
        found = self.pill(pill.name if isinstance(pill, Pill) else pill)
        return self._replaced(found.start, found.end, "")

    def update_pill(
        self, name: str, *, new_name: str | None = None, type: PillType | str | None = None
    ) -> "PillDocument":
        """Return the document with another name or type for the pill `name`, in the same position.

        Raises:
            UnknownNameError: No pill has this name.
            InvalidPillNameError, DuplicatePillError: As for `insert_pill`.
        """
        old = self.pill(name)
        kind = old.type if type is None else type
        return self.remove_pill(old).insert_pill(
            name if new_name is None else new_name, old.start, kind
        )

    def delete_range(self, start: int, end: int) -> "PillDocument":
        """Return the document without the characters from `start` up to `end`.

        A pill that overlaps the range is removed as a whole.

        Raises:
            PositionError: A position is outside the text, or `end` is before `start`.
        """
        self._check(start)
        self._check(end)
        if end < start:
            raise PositionError(end, f"is before the start {start}", f"{start}..{len(self.text)}")
        if start == end:
            return self
        touched = [pill for pill in self.pills if max(pill.start, start) < min(pill.end, end)]
        # Extend the range to whole pills at both ends.
        if touched:
            start, end = min(start, touched[0].start), max(end, touched[-1].end)
        return self._replaced(start, end, "")

    def repair(self) -> "PillDocument":
        """Return the document with lost or changed text properties restored.

        Every ``[@name]`` in the text becomes a pill again, whatever happened to its properties.

        Law: ``d.repair().repair() == d.repair()``, and every pill of it is sound.
        """
        sound = evolve(self, pills=[pill.repaired() for pill in self.pills])
        return sound._with_found(lambda _: PillType.FILE)

    # --- acting ----------------------------------------------------------

    def visit(self, name: str, visitor: Callable[[Pill], T]) -> T:
        """Call `visitor` with the pill `name` and return its result, as a click does.

        Raises:
            UnknownNameError: No pill has this name.
        """
        return visitor(self.pill(name))

    def press(
        self, key: str, at: int, visitor: Callable[[Pill], object] = lambda _: None
    ) -> "PillDocument":
        """Return the document after pressing `key` at `at`: RET or a click visits a pill.

        DEL removes it. Outside pills, the document is returned unchanged. A pill whose keymap is
        not defined gets the default keymap, and a warning is logged.

        >>> PillDocument.parse("see [@a.py]").press("DEL", 6).to_text()
        'see '
        """
        pill = self.pill_at(at)
        if pill is None:
            return self
        lost = pill.text_properties.keymap
        if lost != PILL_KEYMAP:
            _log.warning("keymap %r of pill %r is not defined", lost, pill.name)
        action = BINDINGS.get(key)
        if action == "remove":
            return self.remove_pill(pill)
        if action == "visit":
            visitor(pill)
        if lost == PILL_KEYMAP:
            return self
        bound = evolve(pill, text_properties=evolve(pill.text_properties, keymap=PILL_KEYMAP))
        return evolve(self, pills=[bound if each is pill else each for each in self.pills])

    # --- parts -----------------------------------------------------------

    def _with_found(self, type_of: Callable[[str], PillType | str]) -> "PillDocument":
        """Return the document with a pill for the first occurrence of every written name."""
        kept = {pill.start: pill for pill in self.pills}
        names = set(self.context)
        for start, name in find_pills(self.text):
            if name not in names:
                kept[start] = Pill(name, as_type(type_of(name), name), start)
                names.add(name)
        return PillDocument(self.text, [kept[start] for start in sorted(kept)])

    def _replaced(self, start: int, end: int, new: str, pill: Pill | None = None) -> "PillDocument":
        """Return the document with `new` in place of start..end, which may not cut into a pill."""
        before = [each for each in self.pills if each.end <= start]
        behind = [
            evolve(each, start=each.start + len(new) - (end - start))
            for each in self.pills
            if each.start >= end
        ]
        return PillDocument(
            self.text[:start] + new + self.text[end:], [*before, *([pill] if pill else []), *behind]
        )

    def _check(self, position: int) -> None:
        if not is_whole(position, 0, len(self.text)):
            raise PositionError(position, "is outside of the text", f"0..{len(self.text)}")

    def _check_gap(self, position: int) -> int:
        pill = self.pill_at(position)
        if pill and position > pill.start:
            raise PositionError(
                position,
                f"is inside of the pill {pill.text}",
                f"up to {pill.start} or from {pill.end} on",
            )
        return position


def _nearest(places: Iterable[int], place: int) -> int:
    return min(places, key=lambda each: abs(each - place))


def _duplicate(pill: Pill) -> DuplicatePillError:
    return DuplicatePillError(
        pill.name, "has a pill already", "update_pill for the one that is there, or another name"
    )
