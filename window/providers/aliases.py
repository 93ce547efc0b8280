"""Names and ids that a provider refuses, spelled anew: the same way each time, and no two of one turn alike."""

import re
from collections.abc import Iterable
from functools import lru_cache

_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")
_NO_NAME = re.compile(r"[\s<|\\/>]+")
_LONGEST_NAME = 64


def aliases(names: Iterable[str], longest: int | None = None, *, any_sign: bool = False) -> dict[str, str]:
    """Return for each name that holds more than letters, digits, ``_`` and ``-``, or is too long, one that does not.

    `longest` is how many characters the provider takes; with `any_sign` it minds nothing else. Law: all names, spelled anew
    or not, stay different.

    >>> aliases(["f:1", "f_1", "ok"]), aliases(["search_web", "search_all"], 6)
    ({'f:1': 'f_1_2'}, {'search_web': 'search', 'search_all': 'sear_2'})
    """
    given = list(dict.fromkeys(names))
    taken, found = set(given), dict[str, str]()
    for name in given:
        if (not any_sign and _OUTSIDE.search(name)) or (longest is not None and len(name) > longest):
            found[name] = _free(name if any_sign else _OUTSIDE.sub("_", name), taken, longest)
            taken.add(found[name])
    return found


@lru_cache(maxsize=1024)
def speaker(name: str) -> str:
    r"""Return the name of who speaks as OpenAI takes it: no white space, none of ``< | \\ / >``, at most 64 characters.

    >>> speaker("Ada Lovelace"), speaker("ada")
    ('Ada_Lovelace', 'ada')
    """
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME]


def _free(name: str, taken: set[str], longest: int | None) -> str:
    candidate, number = name[:longest], 2
    while candidate in taken:
        ending = f"_{number}"
        candidate, number = (name[: longest - len(ending)] if longest is not None else name) + ending, number + 1
    return candidate
