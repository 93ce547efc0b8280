"""Prose is what is left of a turn without its code, in sentences that can be quoted."""

import pytest

from polycontext.linearity.classification.prose import sentences

LONG = "This line is long enough to have been wrapped by an editor, so"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("one thought\nanother thought", ["one thought", "another thought"]),
        (f"{LONG}\nit runs on.\nNew.", [f"{LONG} it runs on.", "New."]),
        (f"{LONG}\n\nnew paragraph", [LONG, "new paragraph"]),
        (f"{LONG}\n- a bullet", [LONG, "- a bullet"]),
        ("Keep 3.14 and a.b.c as they are. Next", ["Keep 3.14 and a.b.c as they are.", "Next"]),
        ("It was 2026. Next", ["It was 2026.", "Next"]),
        ("Yes. 1. First", ["Yes.", "1. First"]),
        ("2026. First", ["2026. First"]),
        ("x" * 50 + "\nruns on", ["x" * 50 + " runs on"]),
        ("x" * 49 + "\nstops", ["x" * 49, "stops"]),
        ("Use units, e.g. metres, i.e. SI. Next", ["Use units, e.g. metres, i.e. SI.", "Next"]),
        ("1. First. Then\n2. Second", ["1. First.", "Then", "2. Second"]),
        ('He said "stop." Then left', ['He said "stop."', "Then left"]),
        ("Wait... what?! Yes", ["Wait...", "what?!", "Yes"]),
        ("从现在起用中文。好吗？好", ["从现在起用中文。", "好吗？", "好"]),
        ("", []),
        (" \n\t\n ", []),
        ("\u2028a\u2028", ["a"]),
    ],
)
def test_text_falls_into_sentences(text: str, expected: list[str]) -> None:
    """Terminators, line ends and list items end a sentence, numbers and abbreviations do not."""
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n```python\ncode\n```\nb", ["a", "b"]),
        ("a\n~~~\ncode\n```\ncode\n~~~\nb", ["a", "b"]),
        ("a\n````\n```\ncode\n````\nb", ["a", "b"]),
        ("a\n```\ncode\n``` not closed by this\ncode", ["a"]),
        ("- item\n      ```\n      code\n      ```\nb", ["- item", "b"]),
        ("```inline``` text", ["```inline``` text"]),
        ("a\n    indented code\n\ttabbed code\nb", ["a", "b"]),
        ("a\n    - nested item", ["a", "- nested item"]),
        ("a\r\n```\r\ncode\r\n```\r\nb", ["a", "b"]),
        (
            "a\n# list only the last file\nls -t\n# Only files\nb",
            ["a", "ls -t", "# Only files", "b"],
        ),
        ("a\nfrom os.path import join, sep\nfrom Bonn\nb", ["a", "from Bonn", "b"]),
        ("a\n=== warnings summary ===\n== 3 passed ==\nb\n===\n", ["a", "b", "==="]),
        (
            "a\n+from typing import Never\n+always()\n+ item\n+1 from me",
            ["a", "+ item", "+1 from me"],
        ),
    ],
)
def test_code_is_no_prose(text: str, expected: list[str]) -> None:
    """Code and what tools print is left out; list items, however deep, and headings are not."""
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<system-reminder>\nAsk first.\n</system-reminder>\nGo on.", ["Go on."]),
        ('<teammate-message id="a">\nAsk first.\n</teammate-message>\nGo on.', ["Go on."]),
        ("<user-message>\nAsk first.\n</user-message>", ["Ask first."]),
        ("Base directory for this skill: /skills/ask\n\n# Ask\n\nAsk first.", []),
        ("<local-command-stdout>Ask first.</local-command-stdout>", []),
        ("Go on. <env_details>\nAsk first.\n\nWait.</env_details> Stop.", ["Go on.", "Stop."]),
        ("<reminderInstructions>Ask first.</reminderInstructions>", []),
        ("<output>a</output>b<output>c</output>", ["b"]),
        ("<user_query>\nGo on.\n</user_query>", ["Go on."]),
        ("<task>Go on.</task>", ["Go on."]),
        ("<user_instructions>Go on.</user_instructions>", ["Go on."]),
        ("Put <my-part> below.", ["Put <my-part> below."]),
        ("Go on.\n<context>\nAsk first.", ["Go on."]),
    ],
)
def test_elements_that_others_wrote_are_no_prose(text: str, expected: list[str]) -> None:
    """What a host or a command wrote is left out; the user's words beside or in a tag are not."""
    assert list(sentences(text)) == expected
