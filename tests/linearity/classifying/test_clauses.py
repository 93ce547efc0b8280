"""Constraints are found by how their words stand in a sentence: after a colon, under a condition, about every reply, as what somebody likes."""

import pytest

from polycontext.linearity import constraint_sentences

STATED = {
    "a clause after a colon": [
        "This is an important constraint: don't touch the lockfile.",
        "House rule: shoes off at the door.",
        "Currency: Swiss francs.",
    ],
    "an order under a condition": [
        "When a sensor goes offline, send me a message.",
        "Before you push, run the tests.",
        "Ask me before you delete anything.",
        "If you are unsure about a date, ask.",
        "Could you please ask me before you order anything?",
    ],
    "every one of a kind": [
        "Every email ends with my initials.",
        "All prices in euros, please.",
        "Any file you create goes into the tmp folder.",
    ],
    "how to answer": [
        "Please reply in bullet points only.",
        "Keep answers under 100 words.",
        "No emojis.",
        "Speak to me like a friend would.",
    ],
    "what somebody likes": [
        "I prefer the morning train.",
        "I can't stand cilantro.",
        "I'm allergic to shellfish, what could I order there?",
        "I only fly with hand luggage, is that enough?",
    ],
    "for as long as": [
        "For the rest of this session call me Captain.",
        "Until I say otherwise, the lamp stays on.",
        "As long as we work on this, use simple words.",
    ],
    "a hard limit": [
        "My budget is 900 dollars, not more.",
        "At most three options at a time.",
        "Nothing after 6 pm.",
        "Only read, no writes.",
        "No dependencies other than numpy.",
    ],
    "German": [
        "Frag mich, bevor du etwas löschst.",
        "Alle Preise in Franken.",
        "Ich bin Vegetarierin, was gibt es da?",
        "Höchstens drei Sätze.",
        "Wichtig: keine neuen Pakete.",
    ],
    "French": [
        "Demande-moi avant de supprimer un fichier.",
        "Chaque réponse doit tenir en trois phrases.",
        "Je suis végétarien, que puis-je commander ?",
        "Pas d'emojis.",
    ],
    "Spanish": [
        "Pregúntame antes de borrar nada.",
        "Todos los precios en euros.",
        "No soporto el ruido, ¿hay algo más tranquilo?",
        "Mi presupuesto es de 500 euros.",
    ],
    "Chinese": ["删除任何东西之前先问我。", "每个回答不超过一百字。", "我吃素，可以点什么？", "只用标准库。"],
    "Japanese": ["何かを削除する前に聞いてください。", "価格はすべてユーロで。", "辛いものが苦手です。", "予算は五万円です。"],
}
NOT_STATED = [
    "I love how this turned out!",
    "Which of these do you prefer?",
    "He said never to call on a Friday.",
    "The manual says you must restart it.",
    "Every summer the lake gets crowded.",
    "Show me all flights on Monday.",
    "Before we finish, could you add one bag?",
    "I'll get back to you as soon as I have it.",
    "There has to be some flexibility.",
    "What is the maximum file size?",
    "Ignore what I said about the colours.",
    "Forget all previous messages.",
    "Alle Tests sind grün.",
    "Tous les tests passent.",
    "Todas las pruebas pasan.",
    "所有测试都通过了。",
    "二番目の案が好きです。",
]
STORY = "I grew up by the sea. We had a boat. My father fished. I learned to sail. Then we moved. The house was small. "


@pytest.mark.parametrize(("form", "content"), [(form, content) for form, all_of in STATED.items() for content in all_of])
def test_a_constraint_is_found_by_its_form(form: str, content: str) -> None:
    """Each form is found, and quoted whole."""
    assert constraint_sentences(content) == (content,), form


@pytest.mark.parametrize("content", NOT_STATED)
def test_what_is_asked_once_or_told_is_no_constraint(content: str) -> None:
    """A single task, a tale, a question and the words of others state nothing; talk of forgetting neither."""
    assert constraint_sentences(content) == ()


@pytest.mark.parametrize(
    "quote", ['"Never trust a map"', "“Never trust a map”", "«Never trust a map»", "`never --trust a map`", "「絶対に触るな」"]
)
def test_what_is_quoted_states_nothing(quote: str) -> None:
    """The words are somebody else's; what stands around them is still read, and quoted with them."""
    assert constraint_sentences(f"Translate {quote} for me.") == ()
    assert constraint_sentences(f"Never print {quote} again.") == (f"Never print {quote} again.",)


def test_a_quotation_is_not_broken_into_sentences() -> None:
    """Its inner full stops end nothing, so that half of it is no sentence of the user's."""
    assert constraint_sentences('He wrote "It works. Never touch it. Bye." and left.') == ()


@pytest.mark.parametrize(
    "line",
    [
        "> never reply to this",
        "2026-03-01 12:00:00 must restart",
        "ERROR must not be empty",
        "$ git commit --never must",
        '{"rule": "always"}',
        "<b>never</b>",
        "ValueError: must be int",
    ],
)
def test_what_is_pasted_states_nothing(line: str) -> None:
    """Mail that is quoted, logs, commands, data, markup and errors are no orders; the line after them may be."""
    assert constraint_sentences(line) == ()
    assert constraint_sentences(f"{line}\nNever push.") == ("Never push.",)


def test_what_is_said_again_counts_once() -> None:
    """Whatever its capitals and signs."""
    assert constraint_sentences("Never push. NEVER push! Hello. never push") == ("Never push.",)


def test_liking_something_in_a_tale_is_no_wish() -> None:
    """In a long story of many sentences a preference is part of the story; an order to the reader still stands out."""
    assert constraint_sentences("I love short answers.") == ("I love short answers.",)
    assert constraint_sentences(STORY + "I love short answers.") == ()
    assert constraint_sentences(STORY + "Please keep your answers short.") == ("Please keep your answers short.",)


def test_a_sentence_without_end_is_none() -> None:
    """Two thousand characters without a full stop are a dump; whoever states a rule stops before."""
    assert constraint_sentences("Never push " + "x " * 900) != ()
    assert constraint_sentences("Never push " + "x " * 1000) == ()


def test_a_sentence_ends_where_it_is_still_a_constraint() -> None:
    """A long turn gives its constraint sentence alone."""
    assert constraint_sentences(STORY + "You must not sell the boat. " + STORY) == ("You must not sell the boat.",)


def test_what_an_element_of_output_holds_states_nothing() -> None:
    """Until it is closed; rules that stand in an element of that name are the user's."""
    assert constraint_sentences("<output>\nYou must not stop.\n</output>\nNever push.") == ("Never push.",)
    assert constraint_sentences("<output>You must not stop.</output>") == ()
    assert constraint_sentences("<rules>\nNever push.\n</rules>") == ("Never push.",)
    assert constraint_sentences("29:always import it\n330\tNever call it.") == ()
