"""Keys and clicks on pills."""

import pytest

from polycontext.pills import PillDocument
from polycontext.pills.pill import PILL_KEYMAP, Pill, TextProperties

LOOK = PillDocument("look at ").insert_pill("src/agent.py")


@pytest.mark.parametrize("key", ["mouse-1", "RET"])
def test_a_click_visits_the_pill(key: str) -> None:
    """The visitor gets the pill, and nothing changes."""
    visited: list[Pill] = []
    assert LOOK.press(key, 8, visited.append) == LOOK
    assert visited == list(LOOK.pills)
    assert LOOK.press("x", 8, visited.append) == LOOK
    assert len(visited) == 1


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
        "a", "a-face-of-mine", rear_nonsticky=True, keymap=PILL_KEYMAP
    )
    assert [pill.name for pill in visited] == ["a", "a"]
    assert document.press("x", 1) is document
