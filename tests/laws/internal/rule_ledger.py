"""The laws of the ledger of rules."""

from polycontext.base.law import agree, law
from polycontext.pressure.laws.rules import plain_words
from polycontext.window import ContextWindow, Role, Turn

_RULES = "docs/rules.md"
_NO_MARKS = str.maketrans("", "", "\"'`“”„«»‘’「」『』<>")
_LONGEST_QUOTATION = 2_000
_MENTIONS = ('Did I say "{}"?', 'They asked why I said "{}".', 'She says: "{}". And you?')


@law(_RULES)
def only_the_user_changes_the_rules(window: ContextWindow, turn: Turn) -> None:
    """A system turn, an answer or a result states, replaces and revokes nothing."""
    if turn.role is not Role.USER:
        agree(window.append(turn).rules.all, window.rules.all)


@law(_RULES)
def a_quotation_changes_no_rule(window: ContextWindow, turn: Turn) -> None:
    """A user turn that only quotes other words states, replaces and revokes nothing."""
    said = Turn(Role.USER, f'The sign says "{_quotable(turn.text)}", I think.')
    if not window.open_calls:
        agree(window.append(said).rules.all, window.rules.all)


@law(_RULES)
def a_mention_changes_no_rule(window: ContextWindow) -> None:
    """A question or a report about a rule that stands states, replaces and revokes nothing."""
    for rule in () if window.open_calls else window.rules.standing:
        for mention in _MENTIONS:
            said = Turn(Role.USER, mention.format(_quotable(rule.text)))
            agree(window.append(said).rules.all, window.rules.all)


def _quotable(text: str) -> str:
    return plain_words(text).translate(_NO_MARKS)[:_LONGEST_QUOTATION]
