# ruff: noqa: RUF001 - punctuation of other scripts is the subject
"""Find the rules in a turn that stand for the rest of the conversation.

A marker word is looked for, not understood: the share of the window that such
turns may preserve (see `default_classifier`) is what bounds a misreading.
"""

from collections.abc import Iterator

from polycontext.linearity._phrases import CJK_DECOYS, CJK_MARKERS, CJK_POLITE, PHRASES, POLITE_OPENERS, POLITE_WORDS, START
from polycontext.linearity._prose import is_bullet, sentences, words


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
    announced = False
    for sentence in sentences(content):
        listed = announced and is_bullet(sentence)
        stated = listed or _states(sentence)
        if stated:
            yield sentence
        announced = listed or (stated and sentence.endswith((":", "：")))


def _states(sentence: str) -> bool:
    said = words(sentence)
    if sentence.rstrip("\"'”’»)]").endswith(("?", "？")) and not _is_polite(sentence, said):
        return False
    return _has_phrase([START, *said]) or (not sentence.isascii() and _has_cjk_marker(sentence))


def _is_polite(sentence: str, said: list[str]) -> bool:
    asked = bool(said) and said[0] in POLITE_OPENERS
    return asked or not POLITE_WORDS.isdisjoint(said) or any(mark in sentence for mark in CJK_POLITE)


def _has_phrase(said: list[str]) -> bool:
    place = 0
    while place < len(said):
        width, states = _longest_phrase(said, place)
        if states:
            return True
        place += width
    return False


def _longest_phrase(said: list[str], place: int) -> tuple[int, bool]:
    width, states = 1, False
    node = PHRASES
    for end in range(place, len(said)):
        longer = node.next.get(said[end])
        if longer is None:
            break
        node = longer
        if node.states is not None:
            width, states = end + 1 - place, node.states
    return width, states


def _has_cjk_marker(sentence: str) -> bool:
    for decoy in CJK_DECOYS:
        sentence = sentence.replace(decoy, " ")
    return any(marker in sentence for marker in CJK_MARKERS)
