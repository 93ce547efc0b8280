"""Which detail of which tier a mode shows: the "who consumes what" of seed 003 layer 1, as data."""

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType

from polycontext.nodes.entities.errors import UnknownModeError


class Tier(StrEnum):
    """Name the parts of an `EntityContext`."""

    ACTIVE = "active"
    GENERATED = "generated"
    RETAINED = "retained"
    TOMBSTONES = "tombstones"


class Detail(Enum):
    """Say how much of an entity is shown."""

    NONE = "none"
    REFS = "refs"
    LABELS = "labels"
    REFS_AND_LABELS = "refs and labels"
    FULL = "full"


class EntityMode(StrEnum):
    """Name the ways to show an entity context, each made for one reader."""

    FULL = "full"
    """Act: full data of the work at hand."""

    REFS_AND_LABELS = "refs_and_labels"
    """Think: what is there to plan with."""

    LABELS_ONLY = "labels_only"
    """Reply, by the name its builder uses."""

    REPLY = "reply"
    """Reply: names to talk about, no refs."""

    DO_NOT_READ = "do_not_read"
    """Think: one line of refs that need no reading."""

    CURATION = "curation"
    """Understand: everything, with ages and reasons."""

    @classmethod
    def of(cls, mode: "EntityMode | str") -> "EntityMode":
        """Return the mode of this name; raise `UnknownModeError` naming the legal ones."""
        try:
            return cls(mode)
        except ValueError:
            raise UnknownModeError(mode, tuple(cls)) from None


def _row(active: Detail, generated: Detail, retained: Detail, tombstones: Detail) -> Mapping[Tier, Detail]:
    return MappingProxyType(dict(zip(Tier, (active, generated, retained, tombstones), strict=True)))


_BOTH, _LABELS, _REFS = Detail.REFS_AND_LABELS, Detail.LABELS, Detail.REFS

ENTITY_TABLE: Mapping[EntityMode, Mapping[Tier, Detail]] = MappingProxyType(
    {
        EntityMode.FULL: _row(Detail.FULL, Detail.FULL, Detail.NONE, Detail.NONE),
        EntityMode.REFS_AND_LABELS: _row(_BOTH, _BOTH, _REFS, _REFS),
        EntityMode.LABELS_ONLY: _row(_LABELS, _LABELS, Detail.NONE, Detail.NONE),
        EntityMode.REPLY: _row(_LABELS, _LABELS, Detail.NONE, Detail.NONE),
        EntityMode.DO_NOT_READ: _row(_REFS, _REFS, _REFS, Detail.NONE),
        EntityMode.CURATION: _row(Detail.FULL, Detail.FULL, Detail.FULL, Detail.FULL),
    }
)
"""What each mode shows (seed 003 layer 1, "Who Consumes What"); tombstones, of which the seed is silent, to those who plan and curate."""
