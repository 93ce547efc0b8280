"""What is read of a sentence: its words, without titles and speakers."""

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification.model import own_model
from polycontext.linearity.classification.vocabulary import words_of


def test_the_verbs_of_orders_are_read() -> None:
    """Those of all languages, from a file each."""
    assert own_model().words.verbs >= {"push", "schreib*", "réponds", "escribe", "写"}


def test_french_words_part_at_their_apostrophe() -> None:
    """English ones do not."""
    said = ["dès", "qu'", "une", "page", "n'", "est", "pas", "là", ",", "don't", "stop"]
    assert words_of("Dès qu'une page n’est pas là, don't stop") == said


def test_a_title_ends_no_sentence() -> None:
    """The name that follows belongs to it."""
    assert constraint_sentences("Never call Dr. Weber at home.") == (
        "Never call Dr. Weber at home.",
    )


def test_the_name_of_a_speaker_is_no_part_of_a_sentence() -> None:
    """A speaker's name before a colon is not part of the sentence.

    In minutes, speakers give each other orders, so only a lasting order counts.
    """
    assert constraint_sentences("Project Manager: don't delete a slide.") == ()
    assert constraint_sentences("House Rules: no force pushes.") == (
        "House Rules: no force pushes.",
    )
    assert constraint_sentences("Project Manager: never delete a slide.") == (
        "Project Manager: never delete a slide.",
    )
