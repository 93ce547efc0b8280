"""Only what decides nothing and holds nothing may be lost."""

import pytest

from polycontext.linearity.classification.classifier import is_acknowledgement, is_empty_result

ACKNOWLEDGEMENTS = [
    *(
        "ok",
        "OK.",
        "Okay!",
        "thanks!",
        "Thank you so much!",
        "thx",
        "got it",
        "Got it, thanks.",
        "great, thank you",
        "Perfect!!",
    ),
    *(
        "I see...",
        "ah, I see",
        "noted",
        "Understood.",
        "That's great, thank you for your help!",
        "You’re welcome!",
        "no problem :)",
    ),
    *(
        "👍",
        "👍🏽👍🏽",
        "❤️",
        "🙏🙏",
        "ok 👍",
        "thanks 😊!",
        "“Thanks!”".replace("“", '"').replace("”", '"'),
        "*thanks*",
    ),
    *(
        "Danke!",
        "alles klar, vielen Dank",
        "Merci beaucoup",
        "¡Gracias!".replace("¡", ""),
        "muchas gracias",
    ),
    *(
        "好的，谢谢！",
        "明白了",
        "謝謝",
        "ありがとうございます！",
        "了解です。",
        "감사합니다",
        "Спасибо!",
    ),
]
DECISIONS = [
    *(
        "yes",
        "no",
        "Yes, thanks",
        "no thanks",
        "sure",
        "go ahead",
        "correct",
        "agreed",
        "2",
        "ok 2",
        "option b",
        "+1",
        "👎",
        "❌",
        "✅",
    ),
    *(
        "ok?",
        "great, now delete it",
        "thanks, but not yet",
        "sounds good",
        "the first one",
        "好",
        "はい",
        "ja",
        "oui",
        "sí",
        "why",
        "ok $5",
    ),
]
NOTHING_SAID = ["", " \n", "...", "!!!", "that's", "for this", "and", "so much"]


@pytest.mark.parametrize("content", ACKNOWLEDGEMENTS)
def test_a_bare_acknowledgement_is_recognised(content: str) -> None:
    """Thanks, seen and well done, in any case, with any punctuation and friendly emoji."""
    assert is_acknowledgement(content)


@pytest.mark.parametrize("content", DECISIONS)
def test_a_decision_is_no_acknowledgement(content: str) -> None:
    """Decisions, numbers, choices, questions and tasks are not acknowledgements."""
    assert not is_acknowledgement(content)


@pytest.mark.parametrize("content", NOTHING_SAID)
def test_a_text_without_an_acknowledgement_is_none(content: str) -> None:
    """Blanks, dots and the words around thanks say nothing by themselves."""
    assert not is_acknowledgement(content)


def test_a_long_text_is_no_acknowledgement() -> None:
    """A text over the length limit is no acknowledgement, and a megabyte is rejected quickly."""
    assert is_acknowledgement("thanks " * 11 + "ok!")
    assert not is_acknowledgement("thanks " * 11 + "ok!!")
    assert not is_acknowledgement("👍" * 1_000_000)


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n\t",
        "null",
        "None",
        "[]",
        " [ ] ",
        "{}",
        "{\n}",
        "()",
        '""',
        "''",
        "undefined",
        "N/A",
        "[[]]",
    ],
)
def test_an_empty_result_holds_nothing(content: str) -> None:
    """Blank text and the empty values of common notations."""
    assert is_empty_result(content)


def test_a_wide_result_is_not_taken_for_an_empty_one() -> None:
    """Up to sixteen characters are looked at."""
    assert is_empty_result("[" + " " * 14 + "]")
    assert not is_empty_result("[" + " " * 15 + "]")


@pytest.mark.parametrize(
    "content",
    [
        "0",
        "0.0",
        "false",
        "[0]",
        '{"results": []}',
        "ok",
        "Error",
        "no results found",
        "-",
        "null and void",
    ],
)
def test_a_result_that_says_something_is_not_empty(content: str) -> None:
    """Zero and false are answers; so is whatever was put into words."""
    assert not is_empty_result(content)
