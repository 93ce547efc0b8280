"""Shorten one text until it fits a number of tokens."""

from polycontext.pressure._segments import safe_cut
from polycontext.window import TokenCounter


def clip(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """Return the longest start of `text` found that fits, cut between words where one fits, else between letters.

    Law: ``counter.count(clip(text, n, counter)) <= n``, or the result is empty.

    >>> class Letters:
    ...     exact = False
    ...
    ...     def count(self, text: str) -> int:
    ...         return len(text)
    >>> clip("the second word", 12, Letters()), clip("incomprehensible", 4, Letters())
    ('the second', 'inco')
    """
    if counter.count(text) <= max_tokens:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        middle = (fits + over) // 2
        if counter.count(text[:middle]) <= max_tokens:
            fits = middle
        else:
            over = middle
    return _tidy(text, fits, max_tokens, counter)


def _tidy(text: str, end: int, max_tokens: int, counter: TokenCounter) -> str:
    end = safe_cut(text, end)
    parts_word = end < len(text) and not text[end].isspace()
    word_end = text.rfind(" ", 0, end) if parts_word else end
    for candidate in (text[: max(word_end, 0)].rstrip(), text[:end]):
        if candidate and counter.count(candidate) <= max_tokens:
            return candidate
    return ""
