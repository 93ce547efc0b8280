"""The words of a sentence, and the lists of words that this package reads from its tables.

A line of a table is ``name: word; word``. A line that begins with a space continues the previous
line, and a line that begins with ``#`` is a comment.
"""

import re
from functools import cache
from pathlib import Path

_MARKS = ",;:—–()¿¡…，；：、"
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words; each character is a word."""
_TOKEN, _ASCII_TOKEN = (
    re.compile(
        rf"[{_UNSPACED}]|(?<![-'`./])(?<!{letter}){letter}(?:{letter}|[-'`./])*|[{_MARKS}]"
        rf"|(?<=\s)-(?=\s)"
    )
    for letter in (rf"[^\W{_UNSPACED}]", "[a-z0-9_]")
)
_ELIDED = re.compile(r"\b((?:[cdjlmnst]|qu)')(?=\w)")


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case and the marks that break it into clauses.

    An elided word, such as "l'" in French "l'eau", is a word of its own.

    >>> words_of("One rule: don't push, ever!")
    ['one', 'rule', ':', "don't", 'push', ',', 'ever']
    """
    plain = sentence.lower().replace("’", "'")
    if "'" in plain:
        plain = _ELIDED.sub(r"\1 ", plain)
    tokens = (_ASCII_TOKEN if plain.isascii() else _TOKEN).findall(plain)
    return [each if each.isalnum() else each.rstrip("./-`").strip("_") or each for each in tokens]


def own_lists(name: str) -> dict[str, list[str]]:
    """Return the lists of a file of this library's tables."""
    lists: dict[str, list[str]] = {}
    text = re.sub(r"^#.*\n", "", own_data("tables", f"{name}.txt").decode(), flags=re.MULTILINE)
    for line in text.replace("\n ", ";").splitlines():
        listed, _, words = line.partition(":")
        lists.setdefault(listed, []).extend(filter(None, map(str.strip, words.split(";"))))
    return lists


@cache
def verbs() -> frozenset[str]:
    """Return the verbs that orders begin with."""
    languages = ("en", "de", "fr", "es", "zh")
    return frozenset(verb for language in languages for verb in own_lists(language)["verb"])


def own_data(folder: str, name: str) -> bytes:
    """Return the bytes of a file in a folder of this package."""
    return Path(__file__).parent.joinpath(folder, name).read_bytes()
