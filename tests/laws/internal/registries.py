"""The laws of the registry: refs become ids and back, and no id is shown."""

from typing import Any

from polycontext.base import PolycontextError
from polycontext.base.law import agree, holds, law
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.names import RefRefusedError
from tests.laws.outcomes import outcome

_IDS = 'docs/nodes.md, "Ids"'
_FOUND_ANYWHERE = 8
"""The least length of an id that is hidden inside texts."""


@law(_IDS)
def refs_become_ids_and_back(registry: SessionIdRegistry) -> None:
    """A ref becomes the id of its entity, and the id this ref; one without an id is refused."""
    for ref in registry:
        fields = {"it": registry.get(ref).type}
        sent = outcome(registry.to_ids, {"it": ref}, fields)
        if isinstance(sent, type):
            agree((sent, outcome(registry.id_of, ref)), (RefRefusedError,) * 2, ref=ref)
        else:
            agree(sent, {"it": registry.id_of(ref)}, ref=ref)
            agree(registry.to_refs(sent, fields), {"it": ref}, ref=ref)


@law(_IDS)
def no_known_id_is_shown(registry: SessionIdRegistry, content: str) -> None:
    """A text in which ids are hidden has none of eight characters or more, and stays as it is."""
    ids = [str(each) for ref in registry if not isinstance(each := _id(registry, ref), type)]
    shown = registry.hide_ids(f"{content} {' '.join(ids)}")
    words = shown.split()
    left = [each for each in ids if len(each) >= _FOUND_ANYWHERE and each in words]
    agree(left, [], shown=shown)
    agree(registry.hide_ids(shown), shown)


@law(_IDS)
def a_ref_is_assigned_once(registry: SessionIdRegistry) -> None:
    """An entity that is read again keeps its ref; one that was deleted gets a new one."""
    for ref in registry:
        kind, found = registry.get(ref).type, _id(registry, ref)
        if isinstance(found, type):
            continue
        agree(registry.read(kind, found, turn=9)[1], ref)
        _, again = registry.delete(ref, turn=9).read(kind, found, turn=9)
        earlier = {*registry, *(each.ref for each in registry.tombstones)}
        holds(again not in earlier, "a ref that no entity had", again, ref=ref)


def _id(registry: SessionIdRegistry, ref: str) -> Any:
    return outcome(registry.id_of, ref, refusals=(PolycontextError,))
