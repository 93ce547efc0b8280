"""By which rules each vendor caches prompts: what is marked, what is cached by itself, from how many tokens on, for how long.

Sources: platform.claude.com, "Prompt caching" (breakpoints, look-back, floors by model); developers.openai.com, "Prompt caching"
(1,024 tokens, steps of 128, half an hour from GPT-5.6 on). Read in November 2026.
"""

import re
from collections.abc import Mapping

from attrs import frozen

from polycontext.window.providers import Provider

from .prefix_cache import FLOOR, LOOK_BACK, MINUTE, STEP

MOST_MARKS = 4
"""Breakpoints that a request to Anthropic may have."""

FLOORS: Mapping[str, int] = {
    "claude-haiku-4-5": 4096,
    "claude-opus-4-5": 4096,
    "claude-opus-4-6": 4096,
    "claude-opus-4-7": 2048,
    "claude-opus-5": 512,
}
"""Tokens from which on a model of Anthropic's caches, where that is not 1,024; of later models no page that was read says it."""

_HALF_AN_HOUR = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")


@frozen
class CacheRules:
    """Hold the rules of one vendor for one model.

    `marked` caches what stands before a breakpoint and looks back `look_back` blocks from each; otherwise everything is cached by itself
    in steps of `step` tokens, for `seconds`. Below `floor` tokens nothing is.

    >>> rules_of(Provider.ANTHROPIC, "claude-haiku-4-5").floor, rules_of(Provider.OPENAI, "gpt-6-sol").seconds
    (4096, 1800.0)
    """

    marked: bool
    floor: int = FLOOR
    step: int = STEP
    look_back: int = LOOK_BACK
    seconds: float = 5 * MINUTE


def rules_of(provider: Provider, model: str | None = None) -> CacheRules:
    """Return the rules for requests in this format; of a model that is not known, the usual ones."""
    if provider is Provider.ANTHROPIC:
        return CacheRules(marked=True, floor=FLOORS.get(model or "", FLOOR))
    return CacheRules(marked=False, seconds=30 * MINUTE if _HALF_AN_HOUR.match(model or "") else 5 * MINUTE)
