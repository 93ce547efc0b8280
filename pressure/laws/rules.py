"""The laws of compressing about rules."""

from collections.abc import Iterator

from polycontext.base.law import agree, holds, law
from polycontext.window import ContextWindow, Turn
from polycontext.window.rules import RULES_TITLE

from ..gist import is_summary
from .projectors import Compressor

_RULES = "docs/rules.md"


@law(_RULES)
def a_rule_that_stands_is_in_every_view(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """Compressing leaves every rule that stands in the view, whole, wherever it was before."""
    after = projector.compress(window, target).window
    before, shown = (_spoken(each) for each in (window, after))
    for rule in window.rules.standing:
        text = plain_words(rule.text)
        holds(text not in before or text in shown, f"{rule.text!r} in the view", shown)
    agree(after.rules.all, window.rules.all)


@law(_RULES)
def a_rule_that_has_ended_is_not_printed_as_standing(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """The summary of a compression lists the rules that stand, and no other."""
    standing = {plain_words(rule.text) for rule in window.rules.standing}
    known = {turn.resource_id for turn in window.all_turns()}
    for turn in projector.compress(window, target).window.all_turns():
        if is_summary(turn) and turn.resource_id not in known:
            for text in _listed(turn):
                holds(text in standing, "a rule that stands", text, standing=standing)


def _listed(gist: Turn) -> Iterator[str]:
    """Yield the rules that a summary lists."""
    for line in gist.text.partition(f"{RULES_TITLE}\n")[2].replace("\n ", " ").splitlines():
        speaker, _, text = line.partition(": ")
        if not speaker.startswith("user"):
            return
        yield plain_words(text)


def _spoken(window: ContextWindow) -> str:
    return plain_words(" ".join(turn.text for turn in window.all_turns()))


def plain_words(text: str) -> str:
    """Return `text` with its white space normalised."""
    return " ".join(text.split())
