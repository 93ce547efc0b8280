"""Find the rules in a turn that stand for the rest of the conversation.

A marker word is looked for, not understood: the share of the window that such
turns may preserve (see `default_classifier`) is what bounds a misreading.
"""

from collections.abc import Iterator

from polycontext.linearity.classifying.phrases import (
    CJK_DECOYS,
    CJK_MARKERS,
    CJK_POLITE,
    KEYS,
    PHRASES,
    POLITE_OPENERS,
    POLITE_WORDS,
    START,
)
from polycontext.linearity.classifying.prose import is_bullet, sentences, words


def states_constraint(content: str) -> bool:
    """Tell whether `content` states a standing constraint: "from now on", "never", "must" and their like (design §4).

    Whole words count, in English, German, French, Spanish, Chinese and
    Japanese; code does not, questions only when they are polite orders. Linear in the length of `content`.

    Law: ``states_constraint(c) == bool(constraint_sentences(c))``.

    >>> states_constraint("From now on, answer in French.")
    True
    >>> states_constraint("Never mind, it works.")
    False
    """
    return next(_constraints(content), None) is not None


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and once each; items of a list they announce follow them.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return tuple(dict.fromkeys(_constraints(content)))


def _constraints(content: str) -> Iterator[str]:
    if not _may_state(content):
        return
    announced = False
    for sentence in sentences(content):
        listed = announced and is_bullet(sentence)
        stated = listed or _states(sentence)
        if stated:
            yield sentence
        announced = listed or (stated and sentence.endswith((":", "：")))


def _may_state(content: str) -> bool:
    return not KEYS.isdisjoint(words(content)) or _has_cjk_marker(content)


def _states(sentence: str) -> bool:
    said = words(sentence)
    if sentence.rstrip("\"'”’»)]").endswith(("?", "？")) and not _is_polite(sentence, said):
        return False
    return any(PHRASES.meanings([START, *said])) or _has_cjk_marker(sentence)


def _is_polite(sentence: str, said: list[str]) -> bool:
    asked = bool(said) and said[0] in POLITE_OPENERS
    return asked or not POLITE_WORDS.isdisjoint(said) or any(mark in sentence for mark in CJK_POLITE)


def _has_cjk_marker(sentence: str) -> bool:
    if sentence.isascii():
        return False
    for decoy in CJK_DECOYS:
        sentence = sentence.replace(decoy, " ")
    return any(marker in sentence for marker in CJK_MARKERS)
