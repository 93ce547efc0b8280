"""Condense one text to a bound of tokens, so that no single message can fill a prompt that keeps it."""

from polycontext.pressure import ExtractiveSummariser, Summariser
from polycontext.window import Role, TokenCounter, Turn, default_counter

_EXTRACTIVE = ExtractiveSummariser()


def condense(
    text: str, max_tokens: int, *, role: Role = Role.ASSISTANT, counter: TokenCounter | None = None, summariser: Summariser = _EXTRACTIVE
) -> str:
    """Return `text` as it is where it takes at most `max_tokens`, what matters most of it otherwise.

    `role` is who said it. A summary that is empty or too long is replaced by an extract.

    Law: the result takes at most `max_tokens`, and is empty only where `text` is or no start of it fits.

    >>> condense("Three soups.", 10)
    'Three soups.'
    """
    counter = counter or default_counter()
    text = text.strip()
    if counter.count(text) <= max_tokens:
        return text
    turn = Turn(role, text)
    for one in (summariser, _EXTRACTIVE):
        # The label of the speaker, which a reader of one message does not need, is cut off and not missed.
        short = one.summarise([turn], max_tokens, counter=counter).removeprefix(f"{role}: ").strip()
        if short and counter.count(short) <= max_tokens:
            return short
    return ""
