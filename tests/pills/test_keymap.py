"""Keys and clicks on pills."""

import logging

import pytest

from polycontext.pills import PillDocument
from polycontext.pills.pill import (
    DEFAULT_KEYMAP,
    Keymap,
    Pill,
    PillAction,
    PillType,
    TextProperties,
    keymap_of,
)

LOOK = PillDocument("look at ").insert_pill("src/agent.py")


@pytest.mark.parametrize("key", ["mouse-1", "RET"])
def test_a_click_visits_the_pill(key: str) -> None:
    """The visitor gets the pill, and nothing changes."""
    visited: list[Pill] = []
    assert LOOK.press(key, 8, visited.append) == LOOK
    assert visited == list(LOOK.pills)
    assert LOOK.press("x", 8, visited.append) == LOOK
    assert len(visited) == 1


def test_an_unknown_keymap_falls_back_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The pill behaves as any other, and the log says why."""
    pill = Pill("a", PillType.FILE, 0, text_properties=TextProperties("a", keymap="vanished-map"))
    with caplog.at_level(logging.WARNING):
        assert PillDocument("[@a]", [pill]).press("DEL", 0) == PillDocument()
    assert "keymap 'vanished-map' of pill 'a' is not defined" in caplog.text


def test_pressing_a_key_replaces_an_unknown_keymap_in_the_document(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An unknown keymap is replaced by the default with one warning; all else is unchanged."""
    lost = Pill(
        "a",
        text_properties=TextProperties(
            "a", "a-face-of-mine", rear_nonsticky=True, keymap="vanished-map"
        ),
    )
    document, visited = PillDocument("[@a] [@b]", [lost, Pill("b", start=5)]), list[Pill]()
    with caplog.at_level("WARNING"):
        for key in ("x", "RET", "RET"):
            document = document.press(key, 1, visited.append)
    assert caplog.text.count("vanished-map") == 1
    assert document.text_properties(1) == TextProperties(
        "a", "a-face-of-mine", rear_nonsticky=True, keymap=DEFAULT_KEYMAP.name
    )
    assert [pill.name for pill in visited] == ["a", "a"]
    assert document.press("x", 1) is document


def test_a_keymap_of_your_own_is_found_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    """A pill that names it obeys it, others keep theirs, and nothing is logged."""
    mine = Keymap("mine", {"x": "remove"})
    pill = Pill("a", text_properties=TextProperties("a", keymap="mine"))
    assert keymap_of(pill, [mine]).bindings == {"x": PillAction.REMOVE}
    assert PillDocument("[@a]", [pill]).press("x", 0, keymaps=[mine]) == PillDocument()
    assert keymap_of(Pill("b"), [mine]) is DEFAULT_KEYMAP
    assert caplog.text == ""


def test_the_default_keymap_may_be_defined_anew() -> None:
    """A keymap of your own under its name is what pills obey."""
    deaf = Keymap(DEFAULT_KEYMAP.name, {})
    assert LOOK.press("DEL", 12, keymaps=[deaf]) == LOOK
