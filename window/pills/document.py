"""The pill document: what stands in an input buffer, as an immutable text with pills in it (docs/attachments.md).

Four invariants hold after any sequence of edits: every pill carries its name and
properties, every pill stands in its brackets, what is typed behind a pill does not
join it, and a name is in `context` exactly while its pill is in the text. Only
`insert_pill`, `parse`, `repair` and `recover` make pills: ``[@name]`` typed by hand is text.
Positions count characters.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Literal, TypeVar

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.linearity.json_data import check_text

from ..errors import PositionError
from .errors import DuplicatePillError
from .pill import (
    Keymap,
    Pill,
    PillAction,
    PillType,
    TextProperties,
    as_type,
    check_path,
    find_pills,
    keymap_of,
)

T = TypeVar("T")

Duplicate = Literal["error", "update"]
"""What to do with a pill whose name is attached: refuse it, or update the one that is there."""


def _storable(text: object) -> str:
    return check_text(text, "$.text")


@frozen
class PillDocument:
    """Hold text and the pills in it; every edit returns another document.

    Raises:
        InvalidDataError: the text is not storable, or a pill is not where it says.
        DuplicatePillError: two pills of one name.

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

        A name's second time stays text.

        Text does not say what type a pill has; `type_of` does, from its name.

        Law: ``parse(d.to_text())`` attaches every name that d attaches.

        >>> PillDocument.parse("compare [@a.py] with [@b.py]").context
        ('a.py', 'b.py')
        """
        return cls(text)._with_found(type_of)

    @classmethod
    def recover(cls, text: str, pills: Iterable[Pill]) -> "PillDocument":
        """Return the document of `text` with every one of `pills` made anew that is still written in it.

        Where a pill says it starts is believed as far as it goes: of several places where its name
        is written, the nearest is it. Properties are made anew, a pill that is written nowhere is
        gone, and the first of a name counts.

        Laws: ``recover(d.text, d.pills) == d`` for a sound document; every pill of what is
        recovered is sound.

        Raises:
            InvalidDataError: the text is not storable.

        >>> PillDocument.recover("look at [@a.py]", [Pill("a.py", start=3), Pill("gone.py")]).context
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
        """Return the context list: the names of all pills, in the order they stand."""
        return tuple(pill.name for pill in self.pills)

    def to_text(self) -> str:
        """Return the text, pills written as ``[@name]``."""
        return self.text

    def pill_at(self, position: int) -> Pill | None:
        """Return the pill that the character at `position` belongs to."""
        self._check(position)
        return next((pill for pill in self.pills if pill.start <= position < pill.end), None)

    def text_at(self, position: int) -> str:
        """Return what DEL would take away at `position`: a whole pill, one character, or nothing at the end."""
        pill = self.pill_at(position)
        return pill.text if pill else self.text[position : position + 1]

    def text_properties(self, position: int) -> TextProperties | None:
        """Return the properties of the character at `position`, None on plain text.

        Law: ``text_properties(pill.end)`` is never that pill's.
        """
        pill = self.pill_at(position)
        return pill.text_properties if pill else None

    def pill(self, name: str) -> Pill:
        """Return the pill of that name.

        Raises:
            UnknownNameError: there is none.
        """
        for pill in self.pills:
            if pill.name == name:
                return pill
        raise UnknownNameError(
            "pill", name, self.context, tuple(get_close_matches(name, self.context))
        )

    # --- editing ---------------------------------------------------------

    def insert_text(self, at: int, text: str) -> "PillDocument":
        """Return the document with `text` at `at`; it never joins a pill.

        Raises:
            PositionError: outside of the text, or inside of a pill.
        """
        return self._replaced(self._check_gap(at), at, _storable(text))

    def insert_document(self, at: int, other: "PillDocument") -> "PillDocument":
        """Return the document with the text of another one at `at`, and its pills: what pasting does. A pill whose name is attached here stays text.

        Law: ``d.insert_document(at, PillDocument(t)) == d.insert_text(at, t)``.

        Raises:
            PositionError: outside of the text, or inside of a pill.

        >>> PillDocument.parse("see [@a.py]").insert_document(0, PillDocument.parse("[@b.py] [@a.py] ")).context
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
        """Return the document with the pill ``[@name]`` at `at`, by default at the end.

        With ``duplicate="update"`` a name that is attached stays where it is, and its pill is made
        anew, of this type.

        Raises:
            InvalidPillNameError: the name cannot stand in a pill, that of a file is not a path from
                a root, or the type is unknown.
            DuplicatePillError: the name is attached, and not to be updated.
            PositionError: outside of the text, or inside of another pill.
            InvalidOptionError: `duplicate` is neither of both.

        >>> document = PillDocument("see ").insert_pill("Agent").insert_pill("Agent", type="symbol", duplicate="update")
        >>> document.to_text(), document.pill("Agent").type.value
        ('see [@Agent]', 'symbol')
        """
        if duplicate not in ("error", "update"):
            raise InvalidOptionError("duplicate", duplicate, "'error' or 'update'")
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
        """Return the document without a pill, given by itself or by its name.

        Raises:
            UnknownNameError: it is not in the document.
        """
        found = self.pill(pill.name if isinstance(pill, Pill) else pill)
        return self._replaced(found.start, found.end, "")

    def update_pill(
        self, name: str, *, new_name: str | None = None, type: PillType | str | None = None
    ) -> "PillDocument":
        """Return the document whose pill `name` names something else, in the same place.

        Raises:
            UnknownNameError: there is no such pill.
            InvalidPillNameError, DuplicatePillError: as `insert_pill`.
        """
        old = self.pill(name)
        kind = old.type if type is None else type
        return self.remove_pill(old).insert_pill(
            name if new_name is None else new_name, old.start, kind
        )

    def delete_range(self, start: int, end: int) -> "PillDocument":
        """Return the document without the characters from `start` up to `end`.

        A pill touched anywhere goes as a whole.

        Raises:
            PositionError: outside of the text, or `end` before `start`.
        """
        self._check(start)
        self._check(end)
        if end < start:
            raise PositionError(end, f"is before the start {start}", f"{start}..{len(self.text)}")
        if start == end:
            return self
        touched = [pill for pill in self.pills if max(pill.start, start) < min(pill.end, end)]
        # A pill that is touched anywhere goes as a whole, and what lies between pills with it.
        if touched:
            start, end = min(start, touched[0].start), max(end, touched[-1].end)
        return self._replaced(start, end, "")

    def repair(self) -> "PillDocument":
        """Return the document with lost or changed text properties made anew.

        What still reads ``[@name]`` is a pill again, whatever became of its properties.

        Law: ``d.repair().repair() == d.repair()``, and every pill of it is sound.
        """
        sound = evolve(self, pills=[pill.repaired() for pill in self.pills])
        return sound._with_found(lambda _: PillType.FILE)

    # --- acting ----------------------------------------------------------

    def visit(self, name: str, visitor: Callable[[Pill], T]) -> T:
        """Call `visitor` with the pill of that name, and return what it returns: what a click does.

        Raises:
            UnknownNameError: there is no such pill.
        """
        return visitor(self.pill(name))

    def press(
        self,
        key: str,
        at: int,
        visitor: Callable[[Pill], object] = lambda _: None,
        keymaps: Iterable[Keymap] = (),
    ) -> "PillDocument":
        """Return the document after `key` at `at`, by the keymap of the pill there.

        Elsewhere a key does nothing.

        A pill that names a keymap which is not defined is given the default one, with a logged
        warning.

        >>> PillDocument.parse("see [@a.py]").press("DEL", 6).to_text()
        'see '
        """
        pill = self.pill_at(at)
        if pill is None:
            return self
        keymap = keymap_of(pill, keymaps)
        action = keymap.bindings.get(key)
        if action is PillAction.REMOVE:
            return self.remove_pill(pill)
        if action is PillAction.VISIT:
            visitor(pill)
        if keymap.name == pill.text_properties.keymap:
            return self
        bound = evolve(pill, text_properties=evolve(pill.text_properties, keymap=keymap.name))
        return evolve(self, pills=[bound if each is pill else each for each in self.pills])

    # --- parts -----------------------------------------------------------

    def _with_found(self, type_of: Callable[[str], PillType | str]) -> "PillDocument":
        """Return the document in which every written pill is one, first come first."""
        kept = {pill.start: pill for pill in self.pills}
        names = set(self.context)
        for start, name in find_pills(self.text):
            if name not in names:
                kept[start] = Pill(name, as_type(type_of(name), name), start)
                names.add(name)
        return PillDocument(self.text, [kept[start] for start in sorted(kept)])

    def _replaced(self, start: int, end: int, new: str, pill: Pill | None = None) -> "PillDocument":
        """Return the document with `new` instead of start..end, which no pill may reach into."""
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
        if (
            isinstance(position, bool)
            or not isinstance(position, int)
            or not 0 <= position <= len(self.text)
        ):
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
