"""Which names can stand in a pill, and where pills stand in a text."""

import re
from collections.abc import Iterator

from polycontext.window.pills.errors import InvalidPillNameError

LONGEST_NAME = 1024
"""Characters."""

# Brackets are balanced, two deep: `app/[[...slug]]/page.tsx` is a file. "[@" never stands inside of a name, so no pill
# can hide in another. Possessive, so that hostile text is read once.
_PLAIN = r"[^\[\]\n\r]"
_NAME = rf"(?:{_PLAIN}|\[(?!@)(?:{_PLAIN}|\[(?!@){_PLAIN}*+\])*+\])++"
_WHOLE = re.compile(_NAME)
_PILL = re.compile(rf"\[@({_NAME})\]")


def check_name(name: object) -> str:
    """Return `name` if it can stand in a pill.

    Raises:
        InvalidPillNameError: empty, blank at an end, not printable, brackets that do not
            pair, or longer than `LONGEST_NAME`.
    """
    if not isinstance(name, str):
        raise InvalidPillNameError(repr(name), f"{type(name).__name__} is not text", "a str")
    problem = _problem(name)
    if problem:
        raise InvalidPillNameError(name, problem, f"1 to {LONGEST_NAME} printable characters, brackets in pairs, no blank at an end")
    return name


def is_name(name: str) -> bool:
    """Tell whether `name` can stand in a pill."""
    return _problem(name) is None


def find_pills(text: str) -> Iterator[tuple[int, str]]:
    """Yield position and name of every pill written in `text`, in order."""
    for match in _PILL.finditer(text):
        if is_name(match[1]):
            yield match.start(), match[1]


def _problem(name: str) -> str | None:
    if not name or name != name.strip():
        return "is empty or has a blank at an end"
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters"
    if not name.isprintable():
        return "has a character that cannot be printed"
    return None if _WHOLE.fullmatch(name) else "has a bracket without its partner, or a pill inside"
