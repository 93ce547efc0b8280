"""The law of the sentences that state a constraint."""

from polycontext.base.law import agree, law
from polycontext.linearity.classification.constraints import constraint_sentences, states_constraint


@law('docs/linearity.md, "The rule that classifies"')
def a_constraint_can_be_quoted(content: str) -> None:
    """A text states a constraint exactly if some of its sentences do.

    Each of these sentences occurs in the text, white space aside.
    """
    quotes, text = constraint_sentences(content), "".join(content.split())
    agree(states_constraint(content), bool(quotes))
    agree([quote for quote in quotes if "".join(quote.split()) not in text], [])
