"""Truncation: the most useful part of a single text within a limit."""

from polycontext.window import EstimatingCounter, Role, TokenCounter, Turn

from .choice import Chooser, Fitter
from .pieces import clip, excerpt
from .summariser import ExtractiveSummariser, more_than

MOST_CHARS_A_TOKEN = 16
"""The most characters of a token, assumed when only the start of a text is kept."""

SAMPLE = 4_000
"""The length of the sample that compares the estimate of tokens with their count."""


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
    ...         log, 40, TiktokenCounter("o200k_base"), whole="result 7", wanted="What of step 512?"
    ...     )
    ... )
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
    estimated = EstimatingCounter()
    turn = Turn(Role.TOOL, shown, tool_call_id="cut")
    candidates = ExtractiveSummariser().read([turn], counter=estimated)
    scores = candidates.score(wanted) if wanted else [0.0] * len(candidates.units)
    if candidates.units and not candidates.entries[0].records:
        # The first and last lines characterise a text.
        scores[0] = scores[-1] = max(1.0, *scores)
    sample = shown[:SAMPLE]
    estimate = max(1.0, estimated.count(sample) / max(1, counter.count(sample)))
    wide = more_than(room) * estimate
    order = Chooser(candidates.entries, candidates.units, candidates.weights(), scores).choose(wide)
    body = Fitter(candidates.entries, candidates.units, room, counter).fit(order) or clip(
        text[: MOST_CHARS_A_TOKEN * room], room, counter
    )
    return body + last if body and counter.count(body + last) <= max_tokens else body
