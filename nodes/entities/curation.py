"""What Understand decided to keep in mind, and why: every decision is logged (seed 003 layer 1)."""

from enum import StrEnum

from attrs import field, frozen

from polycontext.nodes._values import chosen, is_text, is_text_or_none, whole_from


class CurationAction(StrEnum):
    """Say what Understand did."""

    RETAIN = "retain"
    DEMOTE = "demote"
    DROP = "drop"
    CLEAR = "clear"


def _action(value: CurationAction | str) -> CurationAction:
    return chosen(CurationAction, "action", value)


@frozen
class CurationEntry:
    """Hold one decision: in which turn, about which ref (None where it was about all), and why."""

    turn: int = field(validator=whole_from(0))
    action: CurationAction = field(converter=_action)
    ref: str | None = field(validator=is_text_or_none)
    reason: str = field(validator=is_text)
