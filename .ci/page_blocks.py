"""Replace the generated blocks of a hand-written page."""

from collections.abc import Mapping


def replace_blocks(page: str, blocks: Mapping[str, str]) -> str:
    r"""Return the text of a page with each block between its markers.

    Raises:
        ValueError: The page has no markers for a block.

    >>> replace_blocks("<!-- a -->\nold\n<!-- end of a -->\n", {"a": "new\n"})
    '<!-- a -->\n\nnew\n\n<!-- end of a -->\n'
    """
    for name, block in blocks.items():
        before, begins, rest = page.partition(f"<!-- {name} -->\n")
        _, ends, after = rest.partition(f"<!-- end of {name} -->")
        if not ends:
            raise ValueError(
                f"The page has no markers for {name}. Add `<!-- {name} -->` and `<!-- end of "
                f"{name} -->`."
            )
        page = f"{before}{begins}\n{block}\n{ends}{after}"
    return page
