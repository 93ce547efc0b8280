"""How two changes of one context become one: by namespace and key, and nothing is lost in silence."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._frozen import FrozenMap, step_of
from polycontext.nodes.agent_context._kinds import Kind, Shape
from polycontext.nodes.agent_context._merged_arrays import Sides, merged_array
from polycontext.nodes.agent_context._patch import JSON_DATA, entry_kind, field_value
from polycontext.nodes.agent_context._record import changed, layout
from polycontext.nodes.agent_context._same import ABSENT, same
from polycontext.nodes.agent_context.audit import AuditContext
from polycontext.nodes.agent_context.context import AgentContext
from polycontext.nodes.agent_context.context_patch import diff


def merge(base: AgentContext, ours: AgentContext, theirs: AgentContext) -> AgentContext:
    """Return a context with what two agents each made of `base`.

    Keys, and entries of maps, that only one of them changed are taken from it. Arrays of records with ids merge by id,
    other arrays by place; what both appended is kept, ours first. The trail goes on from ours: what theirs
    adds to it is recorded as one diff, so that it still leads here.

    Laws: ``merge(a, a, b) == b == merge(a, b, a)``; patches of different keys merge to what they do in either order.

    Raises:
        MergeConflictError: both changed one thing, differently; names the path and the three values.
    """
    trail = ours.audit
    own, other = (changed(side, audit=base.audit) for side in (ours, theirs))
    merged: AgentContext = _merged_record(Sides("$", base, own, other))
    if theirs.audit is base.audit or same(theirs.audit, base.audit):
        return changed(merged, audit=trail)
    return changed(merged, audit=_merged_trail(base.audit, ours, theirs, changed(merged, audit=trail)))


def _merged_trail(base: AuditContext, ours: AgentContext, theirs: AgentContext, merged: AgentContext) -> AuditContext:
    runs = merged_array(Sides("$.audit.agent_runs", base.agent_runs, ours.audit.agent_runs, theirs.audit.agent_runs))
    new = [record for record in theirs.audit.diffs if not any(record is old or same(record, old) for old in base.diffs)]
    agents = ", ".join(dict.fromkeys(record.agent_id for record in new))
    remainder = diff(ours, merged, agent_id=agents, timestamp=max((record.timestamp for record in new), default=UNIX_EPOCH))
    if not (new and remainder):
        return changed(ours.audit, agent_runs=runs)
    return changed(ours.audit, agent_runs=runs, diffs=(*ours.audit.diffs, remainder.record()))


def _merged(kind: Kind, sides: Sides) -> Any:
    result = sides.shared()
    if result is not None:
        return result[0]
    if kind.shape is Shape.MAP and sides.all_are(FrozenMap):
        return _merged_entries(entry_kind(kind), sides)
    if kind.shape is Shape.ARRAY:
        return merged_array(sides)
    if kind.shape is Shape.OBJECT and sides.all_are(kind.record):
        return _merged_record(sides)
    result = sides.settled()
    if result is None:
        raise sides.conflict()
    return result[0]


def _merged_record(sides: Sides) -> Any:
    kinds = layout(type(sides.base)).kinds
    values = {name: _merged(kind, sides.at(name, field_value, name)) for name, kind in kinds.items()}
    extras = sides.at("", getattr, "extras")
    shared = extras.shared()
    unknown = _merged_entries(JSON_DATA, extras) if shared is None else shared[0]
    merged = changed(sides.base, **{name: value for name, value in values.items() if value is not field_value(sides.base, name)})
    return merged if unknown is merged.extras else evolve(merged, extras=unknown)


def _merged_entries(kind: Kind, sides: Sides) -> FrozenMap[Any]:
    maps: tuple[Mapping[str, Any], ...] = (sides.ours, sides.theirs, sides.base)
    keys = dict.fromkeys(key for entries in maps for key in entries)
    values = {key: _merged(kind, sides.at(step_of(key), _entry, key)) for key in keys}
    return FrozenMap({key: value for key, value in values.items() if value is not ABSENT})


def _entry(entries: Mapping[str, Any], key: str) -> Any:
    return entries.get(key, ABSENT)
