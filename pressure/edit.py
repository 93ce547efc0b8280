"""What a compression changes, as data: enough to do it again without a model."""

from attrs import frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.window import ContextWindow, Splice


@frozen
class Edit:
    """Hold the runs of turns replaced (disjoint, in order) and the ids of the DROPPABLE turns that left."""

    splices: tuple[Splice, ...] = ()
    dropped: tuple[str, ...] = ()


def apply_edit(window: ContextWindow, edit: Edit, *, compressed: bool) -> ContextWindow:
    """Return `window` edited, gists and drops entered in its ledger.

    Law: the same edit on the same window gives the same window.
    """
    ledger: LinearityMap = window.linearity
    for splice in edit.splices:
        for turn in splice.turns:
            if turn.resource_id not in ledger:
                ledger = ledger.tag(turn.resource_id, ResourceClass.REQUIRED, provenance="gist", when=turn.timestamp)
    for resource_id in edit.dropped:
        ledger = ledger.drop(resource_id)
    return window.splice(edit.splices, linearity=ledger, compressed=compressed)
