"""The rule that gives a turn its class, and the one that is used when nobody brings another.

A rule sees one turn: its role, its content and a few facts as metadata. It is a
pure function, so that replaying a journal classifies as it did the first time.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from polycontext.linearity.classifying.constraints import states_constraint
from polycontext.linearity.classifying.small_talk import is_acknowledgement, is_empty_result
from polycontext.linearity.resource_class import ResourceClass


class Classifier(Protocol):
    """Give a turn its resource class; any function of this shape will do.

    `metadata` holds the turn's own metadata and these facts, each of them optional:
    `first_user` (bool: the first user turn), `has_calls`, `has_parts`, `gist` (bool),
    `answers_question` (bool: the turn before asked something), `tokens` (of this turn),
    `constraint_tokens` (of all constraint turns preserved so far) and
    `preserved_share_tokens` (how many tokens those may take together).
    """

    def __call__(self, role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        """Return the class of the turn."""
        ...


def default_classifier(role: str, content: str, metadata: Mapping[str, Any]) -> ResourceClass:
    """Return the class of a turn by the default rule (design §4).

    Gists are REQUIRED whatever they say. PRESERVED: system turns, turns with
    parts, the first user turn, and user turns that state a standing constraint
    while their share lasts. DROPPABLE: acknowledgements that answer no
    question, blank turns without tool calls, empty results. All else is REQUIRED, an unknown role too.

    >>> default_classifier("user", "Book a flight to Oslo.", {"first_user": True}).name
    'PRESERVED'
    >>> default_classifier("user", "thanks!", {}).name
    'DROPPABLE'
    """
    if metadata.get("gist") is True:
        return ResourceClass.REQUIRED
    if role == "system" or metadata.get("has_parts") is True:
        return ResourceClass.PRESERVED
    if role == "user":
        return _user_class(content, metadata)
    if role == "tool":
        return ResourceClass.DROPPABLE if is_empty_result(content) else ResourceClass.REQUIRED
    if role == "assistant" and metadata.get("has_calls") is not True and _says_nothing(content, metadata):
        return ResourceClass.DROPPABLE
    return ResourceClass.REQUIRED


def _user_class(content: str, metadata: Mapping[str, Any]) -> ResourceClass:
    if metadata.get("first_user") is True:
        return ResourceClass.PRESERVED
    if _says_nothing(content, metadata):
        return ResourceClass.DROPPABLE
    if _share_lasts(metadata) and states_constraint(content):
        return ResourceClass.PRESERVED
    return ResourceClass.REQUIRED


def _says_nothing(content: str, metadata: Mapping[str, Any]) -> bool:
    if is_acknowledgement(content):
        return metadata.get("answers_question") is not True
    return not content.strip()


def _share_lasts(metadata: Mapping[str, Any]) -> bool:
    known: list[Any] = [metadata.get(key) for key in ("constraint_tokens", "tokens", "preserved_share_tokens")]
    if None in known:
        return True
    spent, tokens, share = known
    return bool(spent + tokens <= share)
