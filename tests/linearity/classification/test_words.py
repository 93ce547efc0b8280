"""What is read of a sentence: its words, without titles and speakers."""

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification.model import own_model


def test_the_verbs_of_orders_are_read() -> None:
    """Those of all languages, from a file each."""
    assert own_model().words.verbs >= {"push", "schreib*", "réponds", "escribe", "写"}


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
