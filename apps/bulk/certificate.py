"""A certificate of loss: how many arguments of the next call vanish from the view at a budget.

A recorded tool call shows what the model needed at that moment. An argument counts if it stood in
the messages before the call; it is lost if it no longer stands in their projection. Projections are
deterministic, so recordings show what will be lost in conversations like them.
"""

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from attrs import frozen

from polycontext.base import require
from polycontext.polynomial import ContextOverflowError
from polycontext.window import Turn

from .bounds import count_bound, share_bound
from .figures import Figures
from .lines import pieces_of
from .pieces import Engine, LineWork
from .pool import Pool
from .rows import Request, Row, RowCompressor

SHORTEST = 3
"""The length of the shortest argument that counts: shorter ones stand in most texts by chance."""


@frozen
class Loss:
    """What one conversation loses: the share of its arguments at each budget."""

    arguments: int
    shares: tuple[float, ...]


@frozen
class BudgetLoss:
    """The loss at one budget over all conversations.

    `lost` is the mean over the conversations of the share of their arguments that is lost, `bound`
    the bound of its expectation; `affected` counts conversations that lose anything, and
    `affected_bound` bounds the chance of that.
    """

    max_tokens: int
    lost: float
    bound: float
    affected: int
    affected_bound: float


@frozen
class Certificate:
    """What the recordings show about each budget, from the largest.

    `smallest` is the smallest budget that passed: at most `at_most` of the arguments vanish, with
    the confidence `level`. None if even the largest failed.
    """

    conversations: int
    arguments: int
    level: float
    at_most: float
    budgets: tuple[BudgetLoss, ...]
    smallest: int | None


def measure(row: Row, compressors: Sequence[RowCompressor]) -> Loss:
    """Return what a conversation loses with each compressor.

    Raises:
        PolycontextError: the row holds no valid messages.
    """
    request = compressors[0].request(row)
    parsed = request.wire.parse(request.inline, repair=True)
    needs = [*_needs(parsed.turns, parsed.places)]
    total = sum(len(values) for _, values in needs)
    lost = [_lost(request, needs, each) if needs else 0 for each in compressors]
    return Loss(total, tuple(each / total if total else 0.0 for each in lost))


def _needs(turns: Sequence[Turn], places: Sequence[int]) -> Iterator[tuple[int, set[str]]]:
    """Yield the place of each message that calls tools, and the arguments that stand before it."""
    said = _Said()
    for turn, place in zip(turns, places, strict=True):
        if turn.tool_calls:
            values = {value for call in turn.tool_calls for value in _values(call.arguments)}
            standing = said.standing(values)
            if standing:
                yield place, standing
        said.add(_text(turn))


def _lost(
    request: Request, needs: Sequence[tuple[int, set[str]]], compressor: RowCompressor
) -> int:
    """Return how many values do not stand in the view of what is before the call that needs them.

    From the last call on: if a beginning of the conversation fits, so does every shorter one.
    """
    lost = 0
    for place, values in reversed(needs):
        try:
            view = compressor.fit(request, request.inline[:place])
        except ContextOverflowError:
            lost += len(values)  # no request can be sent at all
            continue
        if not view.changed:
            break
        said = _Said()
        for turn in request.wire.parse(view.messages, repair=True).turns:
            said.add(_text(turn))
        lost += len(values - said.standing(values))
    return lost


def _text(turn: Turn) -> str:
    calls = "\n".join(call.arguments for call in turn.tool_calls)
    return f"{turn.content or ''}\n{calls}\n"


def _values(arguments: str) -> Iterator[str]:
    """Yield the texts and numbers in a call's arguments."""
    try:
        pending = [json.loads(arguments)]
    except ValueError:
        return
    while pending:
        match pending.pop():
            case bool() | None:
                pass
            case dict() as inner:
                pending.extend(inner.values())
            case list() as inner:
                pending.extend(inner)
            case value if len(str(value)) >= SHORTEST:
                yield str(value)
            case _:
                pass


_WORD = re.compile(r"\w+")


class _Said:
    """What was said so far, with the places of each word: it is read once for all calls."""

    def __init__(self) -> None:
        self._texts, self._starts, self._end = list[str](), list[int](), 0
        self._places: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._starts.append(self._end)
        for word in _WORD.finditer(text):
            self._places[word[0]].append(self._end + word.start())
        self._end += len(text)

    def standing(self, values: Iterable[str]) -> set[str]:
        """Return the values that stand in a text and are not part of a longer word there."""
        return {value for value in values if self._stands(value)}

    def _stands(self, value: str) -> bool:
        words = list(_WORD.finditer(value))
        if not words:
            return any(value in text for text in self._texts)
        # It is sought where the rarest of its words stands.
        found = [(self._places.get(word[0], ()), word.start()) for word in words]
        places, offset = min(found, key=lambda each: len(each[0]))
        for place in places:
            number = bisect_right(self._starts, place) - 1
            if _is_at(place - self._starts[number] - offset, value, self._texts[number]):
                return True
        return False


def _is_at(start: int, value: str, text: str) -> bool:
    end = start + len(value)
    around = text[max(0, start - 1) : max(0, start)] + text[end : end + 1]
    return start >= 0 and text.startswith(value, start) and not _WORD.search(around)


def certify(
    losses: Iterable[Loss],
    budgets: Sequence[int],
    *,
    at_most: float = 0.05,
    level: float = 0.95,
) -> Certificate:
    """Return the certificate of measured conversations, which must be independent of each other.

    The bounds hold for any distribution and any number of conversations. Budgets are tested from
    the largest down to the first that fails, so that the smallest one that passed holds at `level`,
    too, however many were tested.

    Args:
        losses: what `measure` returned; conversations without arguments are left out.
        budgets: the budgets of `losses`, from the largest to the smallest.
        at_most: the share of arguments that may vanish.
        level: the confidence, such as 0.95.

    Raises:
        InvalidOptionError: an option is out of range, or the budgets do not fall.
    """
    require("level", level, 0 < level < 1, "a share between 0 and 1")
    require("at_most", at_most, 0 < at_most < 1, "a share between 0 and 1")
    falling = all(a > b for a, b in pairwise(budgets))
    require("budgets", budgets, budgets and falling, "numbers of tokens, the largest first")
    counted = [each for each in losses if each.arguments]
    told, smallest, passing = list[BudgetLoss](), None, True
    for index, budget in enumerate(budgets):
        shares = [each.shares[index] for each in counted]
        affected = sum(share > 0 for share in shares)
        bound = share_bound(shares, level)
        told.append(
            BudgetLoss(
                budget,
                sum(shares) / max(1, len(shares)),
                bound,
                affected,
                count_bound(affected, len(shares), level),
            )
        )
        passing = passing and bound <= at_most
        smallest = budget if passing else smallest
    arguments = sum(each.arguments for each in counted)
    return Certificate(len(counted), arguments, level, at_most, tuple(told), smallest)


@frozen
class MeasureLines(LineWork):
    """Measures lines of JSON; what becomes of a row is a line with its loss."""

    compressors: tuple[RowCompressor, ...]

    def line_of(self, line: bytes, figures: Figures) -> bytes:
        """Return the loss of a row."""
        loss = measure(json.loads(line.decode()), self.compressors)
        figures.rows += 1
        return json.dumps([loss.arguments, loss.shares]).encode()


def certify_file(
    source: Path,
    compressors: Sequence[RowCompressor],
    *,
    at_most: float = 0.05,
    level: float = 0.95,
    engine: Engine | None = None,
) -> tuple[Certificate, int]:
    """Return the certificate of a file of lines, and how many of its rows could not be measured.

    The compressors differ in their budgets, which fall.

    Raises:
        InvalidDataError: the file is missing or damaged.
        InvalidOptionError: an option is out of range, or the file is not JSONL.
    """
    work, losses, rejected = MeasureLines(tuple(compressors)), list[Loss](), 0
    for done in (engine or Pool()).map(work, pieces_of(source, compressors[0].most_row_bytes)):
        told = map(json.loads, done.data.splitlines())
        losses += (Loss(arguments, tuple(shares)) for arguments, shares in told)
        rejected += len(done.rejected)
    budgets = [each.max_tokens or 0 for each in compressors]
    return certify(losses, budgets, at_most=at_most, level=level), rejected
