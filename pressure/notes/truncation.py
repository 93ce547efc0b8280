"""Cut one text to a number of tokens in whole units, as where a tool's result is too long to be read whole."""

from polycontext.window import Role, TokenCounter, Turn

from .choice import Chooser, Fitter
from .excerpts import excerpt
from .pieces import clip
from .summariser import Candidates, Estimate
from .units import read

MOST_CHARS_A_TOKEN = 16
"""How many characters a token has at most where only a start of the text is kept."""

SAMPLE = 4_000
"""How many characters tell how far the estimate of tokens is from their count."""


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
    shown = excerpt(text, wanted)
    entries, units = read([Turn(Role.TOOL, shown, tool_call_id="cut")], 0, 0, Estimate())
    candidates = Candidates(entries, tuple(units), 1, 1)
    asked = candidates.asked(wanted) if wanted else [0.0] * len(candidates.units)
    if candidates.units and not candidates.entries[0].records:
        # A text is known by its beginning and its end.
        asked[0] = asked[-1] = max(1.0, *asked)
    wide = max(1.4 * room, room + 64) * _overestimate(shown[:SAMPLE], counter)
    order = Chooser(candidates.entries, candidates.units, candidates.weights(), asked).choose(wide)
    body = Fitter(candidates.entries, candidates.units, room, counter).fitted(order) or clip(
        text[: MOST_CHARS_A_TOKEN * room], room, counter
    )
    return body + last if body and counter.count(body + last) <= max_tokens else body


def _overestimate(sample: str, counter: TokenCounter) -> float:
    """Return how many times its tokens a text is estimated to have, 1 where they are more."""
    return max(1.0, Estimate().count(sample) / max(1, counter.count(sample)))
