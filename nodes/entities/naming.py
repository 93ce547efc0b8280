"""How refs are named: ``recipes`` gives ``recipe_1``, and ``gen_recipe_1`` while it is not saved."""

import re
from collections.abc import Mapping

GENERATED = "gen_"
"""What stands before the ref of an entity that has no database id yet."""

_IRREGULAR = {
    "children": "child",
    "cookies": "cookie",
    "menus": "menu",
    "movies": "movie",
    "news": "news",
    "people": "person",
    "series": "series",
}
_ENDINGS = ((r"(?<=\w{2})ies$", "y"), (r"(?<=ss|sh|ch)es$", ""), (r"(?<=x)es$", ""), (r"(?<=[^sui])s$", ""))


def singular(word: str) -> str:
    """Return the singular of an English plural by its ending, its last word alone; source: seed 003 layer 1.

    ``-ies`` becomes ``-y``; ``-sses -shes -ches -xes`` lose ``-es``; any other
    ``-s`` goes, unless it stands in ``-ss -us -is``. A few irregular words are known; for the
    others a registry takes `ref_names`.

    >>> [singular(word) for word in ("recipes", "categories", "dishes", "meal_plans", "inventory", "status", "people")]
    ['recipe', 'category', 'dish', 'meal_plan', 'inventory', 'status', 'person']
    """
    head, last = re.fullmatch(r"(.*[_.-])?(.*)", word).groups(default="")  # type: ignore[union-attr]
    if last in _IRREGULAR:
        return head + _IRREGULAR[last]
    for ending, instead in _ENDINGS:
        if re.search(ending, last):
            return head + re.sub(ending, instead, last)
    return word


def ref_name(type: str, ref_names: Mapping[str, str]) -> str:  # noqa: A002  the seed's word
    """Return what stands before the number in refs of `type`: the caller's name for it, or its singular.

    >>> ref_name("public.meal-plans", {}), ref_name("octopi", {"octopi": "octopus"})
    ('public_meal_plan', 'octopus')
    """
    return ref_names.get(type) or re.sub(r"[.-]", "_", singular(type))


def numbered(ref: str) -> tuple[str, int] | None:
    """Return what `ref` was made of, its prefix and its number, or None if it has not the form of a ref.

    >>> numbered("gen_recipe_12"), numbered("recipe"), numbered("recipe_012")
    (('gen_recipe', 12), None, None)
    """
    match = re.fullmatch(r"([^\W\d]\w*)_([1-9][0-9]{0,17})", ref)
    return (match[1], int(match[2])) if match else None
