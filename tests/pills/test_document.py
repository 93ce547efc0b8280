"""The pill document, including every row of the table of errors in docs/attachments.md."""

from collections.abc import Callable

import pytest

from polycontext.base import CallerError, InvalidDataError
from polycontext.pills import PillDocument
from polycontext.pills.errors import InvalidPillNameError
from polycontext.pills.pill import Pill, PillType, TextProperties
from polycontext.window import PositionError

LOOK = PillDocument("look at ").insert_pill("src/agent.py")


def test_a_pill_carries_the_text_properties_of_the_seed() -> None:
    """They have the names that Emacs knows; `test_document_oracle` shows which characters do."""
    assert LOOK.text_properties(8) == TextProperties(
        pill="src/agent.py",
        face="sly-agent-q-context-pill-face",
        rear_nonsticky=True,
        keymap="sly-agent-q-context-pill-map",
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a ",
        " a",
        "a\nb",
        "a\0b",
        "a\tb",
        "a[b",
        "a]b",
        "]a[",
        "[[[a]]]",
        "[@a]",
        "a[@b]",
        "\ud800",
        "\u202ea",
        "a\u200bb",
        "x" * 1025,
    ],
)
def test_an_invalid_name_is_refused(name: str) -> None:
    """An invalid name raises the user-facing message with a note, and changes nothing."""
    with pytest.raises(InvalidPillNameError) as caught:
        LOOK.insert_pill(name)
    assert str(caught.value) == "Invalid context name"
    assert isinstance(caught.value, CallerError | ValueError)
    assert caught.value.name == name
    assert "Use 1 to 1024 printable characters" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "name",
    [
        "../etc/passwd",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "C:\\secret",
        "file:///etc/passwd",
        "a/../../b",
        "a\\b",
        "src/",
    ],
)
def test_a_file_outside_of_every_root_is_refused_at_once(name: str) -> None:
    """A file outside every root is refused on insert and update; a saved document still opens."""
    document = PillDocument("see ").insert_pill("src/agent.py")
    edits: tuple[Callable[[], object], ...] = (
        lambda: document.insert_pill(name),
        lambda: document.insert_pill(name, duplicate="update"),
        lambda: document.update_pill("src/agent.py", new_name=name),
    )
    for edit in edits:
        with pytest.raises(InvalidPillNameError, match="is not a path from a root"):
            edit()
    assert document.to_text() == "see [@src/agent.py]"
    assert PillDocument(f"[@{name}]", [Pill(name)]).context == (name,)
    assert PillDocument().insert_pill(name, type="symbol").context == (name,)


@pytest.mark.parametrize(
    "name",
    [
        "make-context-item",
        "*scratch*",
        "a b.txt",
        "x" * 1024,
        "日本/語.md",
        "app/[[...slug]]/page.tsx",
        "@types/node",
        "a@b",
    ],
)
def test_a_valid_name_comes_back_from_the_text(name: str) -> None:
    """Files, symbols and buffers of any script, with blanks, and brackets in pairs."""
    document = PillDocument("see ").insert_pill(name).insert_text(4, "[@[")
    assert PillDocument.parse(document.to_text()).context == (name,)


def test_lost_and_changed_properties_are_made_anew() -> None:
    """Repair restores corrupt properties and lost pills and leaves the rest unchanged."""
    corrupt = Pill("a", "symbol", 0, text_properties=TextProperties(pill="b", face="plain"))
    document = PillDocument("[@a] [@lost] [@b] [@a]", [corrupt, Pill("b", PillType.BUFFER, 13)])
    assert [pill.is_sound for pill in document.pills] == [False, True]
    repaired = document.repair()
    assert repaired.pills == (
        Pill("a", PillType.SYMBOL, 0),
        Pill("lost", PillType.FILE, 5),
        Pill("b", PillType.BUFFER, 13),
    )
    assert repaired.repair() == repaired
    assert repaired.text == document.text


@pytest.mark.parametrize("position", [-1, 24, True, 1.5, None])
def test_a_position_outside_is_refused(position: int) -> None:
    """Every operation that takes one says what is legal."""
    for act in (
        LOOK.pill_at,
        LOOK.text_at,
        LOOK.text_properties,
        lambda at: LOOK.insert_text(at, "x"),
        lambda at: LOOK.delete_range(at, 23),
    ):
        with pytest.raises(PositionError, match=r"is outside of the text. Use 0\.\.23\.$"):
            act(position)


@pytest.mark.parametrize(
    ("text", "pills", "place"),
    [
        (None, [], "$.text: NoneType is not text"),
        ("a\ud800", [], "$.text: lone surrogate U+D800 at character 1"),
        ("[@a]", [Pill("a", PillType.FILE, 1)], "$.pills[0]: [@a] does not stand at 1"),
        ("[@a]", [Pill("a", PillType.FILE, -4)], "$.pills[0]"),
        ("[@a][@b]", [Pill("b", PillType.FILE, 4), Pill("a")], "$.pills[1]"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(
    text: str, pills: list[Pill], place: str
) -> None:
    """A pill stands where it says, in order, in text that can be stored."""
    with pytest.raises(InvalidDataError) as caught:
        PillDocument(text, pills)
    assert str(caught.value).startswith(place)
