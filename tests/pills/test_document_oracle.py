"""The document agrees with a plain list of characters and their properties after every edit."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from polycontext.pills import PillDocument, document_from_json, document_to_json
from polycontext.pills.errors import DuplicatePillError
from polycontext.pills.pill import Pill, PillType, TextProperties
from polycontext.window import PositionError

NAMES = st.sampled_from(["a", "b.py", "src/c.py", "*scratch*", "app/[id]/x", "é日"])
TEXTS = st.text(st.sampled_from("ab [@]\né日"), max_size=6)
PLACES = st.floats(0, 1)

Cell = tuple[str, tuple[str, PillType] | None]


def cells_of(name: str, pill_type: PillType) -> list[Cell]:
    """Return the characters of a pill, each with the pill it belongs to."""
    return [(char, (name, pill_type)) for char in f"[@{name}]"]


class DocumentAgainstCells(RuleBasedStateMachine):
    """Edit both; the cells know nothing of spans, only which character belongs to which pill."""

    def __init__(self) -> None:
        super().__init__()
        self.document = PillDocument()
        self.cells: list[Cell] = []

    def at(self, place: float) -> int:
        """Return a position of the text."""
        return round(place * len(self.cells))

    def splits(self, at: int) -> bool:
        """Tell whether `at` is inside of a pill."""
        return (
            0 < at < len(self.cells)
            and self.cells[at][1] is not None
            and self.cells[at - 1][1] == self.cells[at][1]
        )

    def names(self) -> list[str]:
        """Return the names of the pills in the cells, in order."""
        return list(dict.fromkeys(pill[0] for _, pill in self.cells if pill))

    def without(self, name: str) -> list[Cell]:
        """Return the cells that do not belong to that pill."""
        return [cell for cell in self.cells if cell[1] is None or cell[1][0] != name]

    @rule(place=PLACES, text=TEXTS)
    def insert_text(self, place: float, text: str) -> None:
        """Insert text that belongs to no pill; inside a pill it is refused."""
        at = self.at(place)
        if self.splits(at):
            with pytest.raises(PositionError):
                self.document.insert_text(at, text)
            return
        self.document = self.document.insert_text(at, text)
        self.cells[at:at] = [(char, None) for char in text]

    @rule(place=PLACES, name=NAMES, pill_type=st.sampled_from(PillType))
    def insert_pill(self, place: float, name: str, pill_type: PillType) -> None:
        """Put a pill where text may stand; a second of its name is refused."""
        at = self.at(place)
        if self.splits(at) or name in self.names():
            with pytest.raises((PositionError, DuplicatePillError)):
                self.document.insert_pill(name, at, pill_type)
            return
        self.document = self.document.insert_pill(name, at, pill_type)
        self.cells[at:at] = cells_of(name, pill_type)

    @rule(place=PLACES, names=st.lists(NAMES, max_size=3, unique=True), text=TEXTS)
    def paste(self, place: float, names: list[str], text: str) -> None:
        """Each of its pills that is not attached comes in; the others are text."""
        at = self.at(place)
        other = PillDocument(text)
        for name in names:
            other = other.insert_pill(name, type="symbol")
        if self.splits(at):
            with pytest.raises(PositionError):
                self.document.insert_document(at, other)
            return
        new = [cells_of(name, PillType.SYMBOL) for name in names]
        attached = self.names()
        cells = [
            (char, None if pill and pill[0] in attached else pill)
            for part in new
            for char, pill in part
        ]
        self.document = self.document.insert_document(at, other)
        self.cells[at:at] = [*((char, None) for char in text), *cells]

    @rule(data=st.data())
    def remove_pill(self, data: st.DataObject) -> None:
        """All characters of the pill go."""
        if self.names():
            name = data.draw(st.sampled_from(self.names()))
            self.document = self.document.remove_pill(name)
            self.cells = self.without(name)

    @rule(data=st.data(), new_name=NAMES, pill_type=st.sampled_from(PillType))
    def update_pill(self, data: st.DataObject, new_name: str, pill_type: PillType) -> None:
        """Let the new pill stand where the old one stood."""
        if self.names():
            name = data.draw(st.sampled_from(self.names()))
            if new_name != name and new_name in self.names():
                with pytest.raises(DuplicatePillError):
                    self.document.update_pill(name, new_name=new_name)
                return
            start = next(at for at, (_, pill) in enumerate(self.cells) if pill and pill[0] == name)
            self.document = self.document.update_pill(name, new_name=new_name, type=pill_type)
            self.cells = self.without(name)
            self.cells[start:start] = cells_of(new_name, pill_type)

    @rule(first=PLACES, last=PLACES)
    def delete_range(self, first: float, last: float) -> None:
        """Take the range, and with it every other character of a pill that it touches."""
        start, end = sorted((self.at(first), self.at(last)))
        touched = {pill for _, pill in self.cells[start:end] if pill}
        self.document = self.document.delete_range(start, end)
        self.cells = [
            cell
            for at, cell in enumerate(self.cells)
            if not start <= at < end and cell[1] not in touched
        ]

    @rule(place=PLACES)
    def delete_key(self, place: float) -> None:
        """DEL takes what stands there, where it is a pill."""
        at = self.at(place)
        pill = self.cells[at][1] if at < len(self.cells) else None
        self.document = self.document.press("DEL", at)
        if pill:
            self.cells = self.without(pill[0])

    @rule()
    def save_and_load(self) -> None:
        """Write the document as JSON and read it again."""
        loaded = document_from_json(document_to_json(self.document))
        assert loaded == self.document
        self.document = loaded

    @invariant()
    def every_character_has_the_property_it_should(self) -> None:
        """Only the text of a pill, with its brackets, carries name and properties."""
        assert self.document.to_text() == "".join(char for char, _ in self.cells)
        for at, (_, pill) in enumerate(self.cells):
            assert self.document.text_properties(at) == (
                TextProperties.of(pill[0]) if pill else None
            )
        for each in self.document.pills:
            assert self.document.text[each.start : each.end] == f"[@{each.name}]"

    @rule(shifts=st.lists(st.integers(-3, 3), max_size=6), lost=st.booleans())
    def damage_and_recover(self, shifts: list[int], *, lost: bool) -> None:
        """Damage places and properties; recovery finds the same pills by their names."""
        wrong = [*shifts, *([0] * len(self.document.pills))]
        damaged = [
            Pill(
                pill.name,
                pill.type,
                pill.start + shift,
                text_properties=TextProperties() if lost else pill.text_properties,
            )
            for pill, shift in zip(self.document.pills, wrong, strict=False)
        ]
        recovered = PillDocument.recover(self.document.text, reversed(damaged))
        assert {pill.name: pill.type for pill in recovered.pills} == {
            pill.name: pill.type for pill in self.document.pills
        }
        assert recovered == recovered.recover(recovered.text, recovered.pills)
        assert all(pill.is_sound for pill in recovered.pills)
        if not any(wrong[: len(damaged)]):
            assert recovered == self.document

    @invariant()
    def presence_is_membership(self) -> None:
        """Invariant 4: the context list holds the pills of the text, in order, each once."""
        types = {pill[0]: pill[1] for _, pill in self.cells if pill}
        assert list(self.document.context) == self.names()
        assert {pill.name: pill.type for pill in self.document.pills} == types

    @invariant()
    def the_text_alone_attaches_as_much(self) -> None:
        """Parse the text: what is attached is attached again; repairing only adds."""
        document = self.document
        assert set(document.context) <= set(PillDocument.parse(document.to_text()).context)
        assert set(document.pills) <= set(document.repair().pills)
        assert document.repair().repair() == document.repair()


TestDocumentAgainstCells = pytest.mark.no_cover(DocumentAgainstCells.TestCase)
