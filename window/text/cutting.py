"""Cut one text to a number of tokens along its structure, as where a tool's result is too long to be read whole.

What is kept stands as it stood, in its order; marks say where something is left
out, and how much. Pieces are taken by rank until the tokens are used up, counted
and not estimated.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from attrs import frozen

from polycontext.window import TokenCounter
from polycontext.window.text.pieces import UNIT, Piece, pieces_of
from polycontext.window.text.ranking import ranked
from polycontext.window.text.segments import LEAD, Span, clip, lead_in, most, safe_cut
from polycontext.window.text.terms import STRONG, kind_of, terms_of

MOST_CHARS_A_TOKEN = 16
"""How many characters a token has at most where only a start of the text is kept."""

_TRIES = 12
_WORD_REACH = 12
_CLOSING = frozenset("]}")
_UNIT = re.compile(UNIT, re.DOTALL)


def cut(text: str, max_tokens: int, counter: TokenCounter, *, wanted: str = "", whole: str = "") -> str:
    r"""Return the most useful part of `text` within `max_tokens`: `text` itself where it fits, empty where nothing does.

    `wanted` is what the reader asked for: pieces that hold its identifiers and
    rare words come first. `whole` says in a last line how to get the whole text;
    there is no such line where it would take half of the tokens. Takes time
    linear in the text, and counts no more of it than a few times what is kept.

    Laws: ``counter.count(cut(text, n, counter)) <= n``; cutting to the same number again changes nothing.

    >>> from polycontext.window import TiktokenCounter
    >>> log = "".join(f"step {n} is done\n" for n in range(1_000))
    >>> print(cut(log, 60, TiktokenCounter("o200k_base"), whole="result 7"))
    step 0 is done
    step 1 is done
    step 2 is done
    step 3 is done
    step 4 is done
    step 5 [… 993 lines left out]
    step 998 is done
    step 999 is done
    [the whole: result 7]
    """
    if max_tokens <= 0:
        return ""
    tokens, characters = _measured(text, max_tokens, counter)
    if tokens <= max_tokens:
        return text
    last = f"[the whole: {whole}]" if whole else ""
    if last and 2 * counter.count(last) > max_tokens:
        last = ""
    pieces = pieces_of(text)
    room = max_tokens * characters / tokens
    order = ranked(text, pieces, wanted, room)
    return _Cutter(text, pieces, [piece.start for piece in pieces], last, max_tokens, counter).best(order, room)


def _measured(text: str, max_tokens: int, counter: TokenCounter) -> Span:
    """Return the tokens and characters of `text`, or of a start of it that cannot fit."""
    step = 4 * max_tokens + 64
    tokens = slack = at = 0
    while at < len(text) and tokens <= max_tokens + slack:
        tokens += counter.count(text[at : at + step])
        slack, at = slack + 8, at + step
    return (tokens, at) if tokens > max_tokens + slack else (counter.count(text), len(text))


@frozen
class _Cutter:
    """Print selections of `pieces` of `text`, which start at `starts`, with marks and the `last` line, within `max_tokens`."""

    text: str
    pieces: Sequence[Piece]
    starts: Sequence[int]
    last: str
    max_tokens: int
    counter: TokenCounter

    def best(self, order: Sequence[int], room: float) -> str:
        """Return as much as fits of what comes first in `order`; about so many characters have `room`."""
        kept = self._longest_start(order, room)
        taken, tokens = set(order[:kept]), self._tokens(order[:kept])
        enough = self.max_tokens - self.max_tokens // 100
        for index in order[kept : kept + _TRIES]:
            if tokens < enough and self._may_join(index, taken) and (longer := self._tokens({*taken, index})) <= self.max_tokens:
                taken.add(index)
                tokens = longer
        lengthened = self._lengthened(order[: kept + _TRIES], taken) if tokens < enough or not taken else ""
        if lengthened or taken:
            return lengthened or self._print(taken)
        return clip(self.text[: MOST_CHARS_A_TOKEN * self.max_tokens], self.max_tokens, self.counter)

    def _longest_start(self, order: Sequence[int], room: float) -> int:
        """Return how many of `order` fit: guess by their characters and halve what is open, in turns."""
        bills = [0, *accumulate(self.pieces[index].end - self.pieces[index].start + 1 for index in order)]
        fits, over, worth, by_bill = 0, len(bills), room * 0.9, True
        while over - fits > 1:
            guess = bisect_right(bills, worth) - 1 if by_bill else (fits + over) // 2
            guess = min(max(guess, fits + 1), over - 1)
            tokens = self._tokens(order[:guess])
            if tokens > self.max_tokens:
                over = guess
            else:
                fits = guess
                if self.max_tokens - tokens <= self.max_tokens // 200:
                    break
            worth, by_bill = bills[guess] * self.max_tokens / max(1, tokens), not by_bill
            if over == len(bills):
                # Half of a long text is far too much to count: go on by the bill, and a little beyond it.
                worth, by_bill = worth * 1.1 + 1, True
        return fits

    def _may_join(self, index: int, taken: set[int]) -> bool:
        above = self.pieces[index].above
        return index not in taken and (above in taken or not above)

    def _lengthened(self, order: Sequence[int], taken: set[int]) -> str:
        """Return `taken` with the start of one more piece, best of one that goes on where a taken one ends; empty where none fits."""
        single = [index for index in {index + 1 for index in (0, *taken)} | set(order) if 0 < index < len(self.pieces)]
        single = [index for index in single if not self.pieces[index].unit and self._may_join(index, taken)]
        for index in sorted(single, key=lambda index: (index - 1 not in taken, index))[:_TRIES]:
            start, end = self.pieces[index].start, self.pieces[index].end
            stops = [unit.end() for unit in _UNIT.finditer(self.text, start, end) if safe_cut(self.text, unit.end()) == unit.end()]
            count = most(len(stops), lambda n: self._tokens(taken, (start, stops[n - 1])) <= self.max_tokens)  # noqa: B023 - called at once
            for stop in (_word_end(self.text, stops[count - 1]), stops[count - 1]) if count else ():
                text = self._print(taken, (start, stop))
                if self.text[start:stop].strip() and self.counter.count(text) <= self.max_tokens:
                    return text
        return ""

    def _tokens(self, indices: Iterable[int], part: Span = (0, 0)) -> int:
        return self.counter.count(self._print(indices, part))

    def _print(self, indices: Iterable[int], part: Span = (0, 0)) -> str:
        """Return the pieces at `indices`, and the span `part`, in order with marks between them."""
        printed, at, marked = [], 0, False
        for start, end in sorted(self._spans({0, *indices}, part)):
            if at < start:
                mark = self._mark(at, start)
                short = start - at <= len(mark)
                printed.append(self.text[at:start] if short else self._spaced(mark if marked else f"{mark[:-1]} left out]", at, start))
                marked |= not short
            printed.append(self.text[max(at, start) : end])
            at = max(at, end)
        return "".join(printed) + ("" if not self.last else self.last if self.text[-1] == "\n" else f"\n{self.last}")

    def _spans(self, indices: set[int], part: Span) -> Iterator[Span]:
        yield part
        for index in indices:
            piece = self.pieces[index]
            yield (piece.start if index - 1 in indices else self._lead(index)), piece.end
            if piece.close:
                yield piece.close

    def _lead(self, index: int) -> int:
        """Return where to start copying a piece within a line, so that an identifier at its start keeps what stands to its left."""
        piece, before = self.pieces[index], self.pieces[index - 1]
        if before.above != piece.above or before.unit or index < 2 or self.text[piece.start - 1] == "\n":  # noqa: PLR2004 - 1 is the first
            return piece.start
        head = self.text[piece.start : min(piece.end, piece.start + LEAD)]
        strong = next((term for term in terms_of(head) if kind_of(term) in STRONG), None)
        anchor = None if strong is None else piece.start + head.index(strong)
        lead = max(before.start, lead_in(self.text, piece.start, anchor))
        within = self.pieces[piece.above].unit not in {"keys", "items"} or _CLOSING.isdisjoint(self.text[lead : piece.start])
        return lead if within else piece.start

    def _mark(self, start: int, end: int) -> str:
        """Say how much is left out between two places: items of what they are in, lines, or letters within a line."""
        first = bisect_left(self.starts, start, 1)
        above = self.pieces[self.pieces[first].above] if first < len(self.pieces) and self.starts[first] < end else None
        if above and above.unit in {"keys", "items"}:
            after = bisect_left(self.starts, end, 1)
            sibling = after < len(self.pieces) and self.pieces[after].above == self.pieces[first].above
            left = (self.pieces[after].nth if sibling else above.items) - self.pieces[first].nth
            return f"[… {left:,} of {above.items:,} {above.unit}]"
        lines = self.text.count("\n", start, end) if above and above.unit != "letters" else 0
        left, unit = (lines, "line") if lines else (end - start, "letter")
        return f"[… {left:,} {unit}{'s' if left > 1 else ''}]"

    def _spaced(self, mark: str, start: int, end: int) -> str:
        """Return `mark` apart from what stands on its sides; on a line of its own where whole lines are left out."""
        before = "" if start == 0 or self.text[start - 1].isspace() else " "
        after = "\n" if self.text[end - 1] == "\n" else "" if end == len(self.text) or self.text[end].isspace() else " "
        return f"{before}{mark}{after}"


def _word_end(text: str, place: int) -> int:
    """Return the last end of a word up to `place`, or `place` where it is far."""
    if place == len(text) or not (text[place - 1].isalnum() and text[place].isalnum()):
        return place
    end = next((end for end in range(place, max(0, place - _WORD_REACH), -1) if not text[end - 1].isalnum()), place)
    return safe_cut(text, end)
