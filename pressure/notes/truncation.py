"""Truncation: the most useful lines and sentences of a single text within a limit."""

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

from polycontext.window import TokenCounter

from ..terms import relevance, terms_of
from .items import MARK
from .pieces import clip, excerpt, most
from .record_lines import record_text, worth_by_kind
from .records import parse_records
from .thinning import Piece, order_of, pieces_of, printed

MOST_CHARS_A_TOKEN = 16
"""The most characters of a token, assumed when only the start of a text is kept."""

_BLANK = re.compile(r"\n{3,}")
_WANTED = 100.0
"""The worth of a term that is asked for."""


def truncate(
    text: str, max_tokens: int, counter: TokenCounter, *, wanted: str = "", whole: str = ""
) -> str:
    r"""Return the most useful part of `text` within `max_tokens`.

    The result is `text` itself if it fits and has no more than `MOST_CHARS_A_TOKEN` characters a
    token (a longer text is not counted), and empty if no part fits. `wanted` is the user's request:
    passages with its words come first, wherever they are. `whole` states how to get the full text
    in a last line, which is left out if it would take half of the tokens. Time is linear in the
    text.

    Laws: ``counter.count(truncate(text, n, counter)) <= n``; truncating to the same number again
    changes nothing.

    >>> from polycontext.window import TiktokenCounter
    >>> log = "".join(f"step {n} is done\n" for n in range(1_000))
    >>> print(
    ...     truncate(
    ...         log, 50, TiktokenCounter("o200k_base"), whole="result 7", wanted="What of step 512?"
    ...     )
    ... )
    step 0 is done
    step 1 is done
    step 2 is done
    [… 509 lines]
    step 512 is done
    [… 486 lines]
    step 999 is done
    [the whole: result 7]
    """
    if max_tokens <= 0:
        return ""
    if len(text) <= MOST_CHARS_A_TOKEN * max_tokens and counter.count(text) <= max_tokens:
        return text
    last = f"\n[the whole: {whole}]" if whole else ""
    if 2 * counter.count(last) > max_tokens:
        last = ""
    room = max_tokens - (counter.count(last) + 1 if last else 0)
    body = _chosen(excerpt(_BLANK.sub("\n\n", text), wanted), room, counter, wanted) or clip(
        text[: MOST_CHARS_A_TOKEN * room], room, counter
    )
    return body + last if body and counter.count(body + last) <= max_tokens else body


def _chosen(text: str, room: int, counter: TokenCounter, wanted: str) -> str:
    lead, value = parse_records(text)
    if value is not None:
        asked_for = {*terms_of(wanted)}

        def worth(term: str) -> float:
            return _WANTED if term in asked_for else worth_by_kind(term)

        told = record_text(
            value, worth, lambda told: counter.count(f"{lead}\n{told}".strip()) <= room
        )
        if told:
            return f"{lead}\n{told}".strip()
        text = f"{lead}\n{record_text(value, worth)}".strip()
    pieces = [*pieces_of(text)]
    order = _ranked(pieces, wanted)
    sizes = accumulate(len(pieces[place].text) for place in order)
    limit = sum(1 for _ in takewhile(lambda size: size <= MOST_CHARS_A_TOKEN * room, sizes))
    # The marks take room, too, so the number of pieces is found by counting what is printed.
    count = most(limit, lambda number: counter.count(printed(pieces, order[:number])) <= room)
    if count:
        return printed(pieces, order[:count])
    return clip(pieces[order[0]].text, room, counter, f" {MARK}") if order else ""


def _ranked(pieces: Sequence[Piece], wanted: str) -> list[int]:
    """Return the indices of the pieces, those first that the user wants."""
    order = order_of(pieces)
    if not wanted:
        return order
    asked = relevance([piece.text for piece in pieces], wanted)
    least = max(asked, default=0.0) / 2
    found = [place for place, score in enumerate(asked) if score > least]
    best = sorted(found, key=lambda place: -asked[place])
    return [*dict.fromkeys((*best, *order))]
