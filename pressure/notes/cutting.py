"""Cut one text to a number of tokens in whole units, as where a tool's result is too long to be read whole."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from polycontext.pressure.notes.choice import Chooser, Fitter
from polycontext.pressure.notes.cues import says_failure
from polycontext.pressure.notes.pieces import clip
from polycontext.pressure.notes.printing import left_out
from polycontext.pressure.notes.summariser import Candidates
from polycontext.pressure.notes.terms import relevance
from polycontext.pressure.notes.units import MOST_CHARS, read
from polycontext.window import Role, TokenCounter, Turn

MOST_CHARS_A_TOKEN = 16
"""How many characters a token has at most where only a start of the text is kept."""

ENDS, EDGE_BOOST = 4, 2.0
"""How many units at the beginning and at the end of a text are worth more, and how much more."""

_EDGE, _LONG_LINE, _CHOSEN_CHARS = 40, 2_000, MOST_CHARS // 2


class _Estimate:
    """Estimate tokens by characters, where counting every unit of a long text would cost more than it brings."""

    exact = False

    def count(self, text: str) -> int:
        return len(text) // 4 + 1


def cut(text: str, max_tokens: int, counter: TokenCounter, *, wanted: str = "", whole: str = "") -> str:
    r"""Return the most useful part of `text` within `max_tokens`: `text` itself where it fits, empty where nothing does.

    `wanted` is what the reader asked for: what holds its words comes first, wherever it stands. `whole` says in a last line how to
    get the whole text; there is no such line where it would take half of the tokens. Time is linear in the text.

    Laws: ``counter.count(cut(text, n, counter)) <= n``; cutting to the same number again changes nothing.

    >>> from polycontext.window import TiktokenCounter
    >>> log = "".join(f"step {n} is done\n" for n in range(1_000))
    >>> print(cut(log, 40, TiktokenCounter("o200k_base"), whole="result 7", wanted="What of step 512?"))
    step 0 is done
    step 1 is done
    … step 512 is done
    … step 999 is done
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
    candidates = _candidates(focused(text, wanted))
    asked = candidates.asked(wanted) if wanted else [0.0] * len(candidates.units)
    if candidates.units and not candidates.entries[0].records:
        # A text is known by its beginning and its end.
        asked[0] = asked[-1] = max(1.0, *asked)
    order = Chooser(candidates.entries, candidates.units, candidates.weights(), asked).choose(max(1.4 * room, room + 64))
    body = Fitter(candidates.entries, candidates.units, room, counter).fitted(order) or clip(
        text[: MOST_CHARS_A_TOKEN * room], room, counter
    )
    return body + last if body and counter.count(body + last) <= max_tokens else body


def _candidates(text: str) -> Candidates:
    entries, units = read([Turn(Role.TOOL, text, tool_call_id="cut")], 0, 0, _Estimate())
    ends = {*range(ENDS), *range(len(units) - ENDS, len(units))}
    raised = (unit._replace(boost=unit.boost * EDGE_BOOST) if place in ends else unit for place, unit in enumerate(units))
    return Candidates(entries, tuple(raised), 1, 1)


def focused(text: str, wanted: str) -> str:
    """Return a `text` too long to be read in detail without the lines that speak least of what is `wanted`; its ends and failures stay."""
    if len(text) <= MOST_CHARS or not wanted:
        return text
    lines = text.splitlines()
    if len(lines) <= 2 * _EDGE:
        return text
    scores = [score + says_failure(line.lstrip()) for score, line in zip(relevance(lines, wanted), lines, strict=True)]
    order = [*range(_EDGE), *range(len(lines) - _EDGE, len(lines)), *sorted(range(len(lines)), key=lambda place: -scores[place])]
    kept, size = set[int](), 0
    for place in order:
        if size > _CHOSEN_CHARS:
            break
        size += min(len(lines[place]), _LONG_LINE) if place not in kept else 0
        kept.add(place)
    return "\n".join(_with_marks(lines, sorted(kept)))


def _with_marks(lines: list[str], kept: Iterable[int]) -> Iterator[str]:
    for before, place in pairwise((-1, *kept, len(lines))):
        if place - before > 1:
            yield left_out(place - before - 1, "line")
        if place < len(lines):
            yield lines[place]
