"""What may be done to a turn: nothing, a summary, or anything."""

from enum import IntEnum


class ResourceClass(IntEnum):
    """Order the resource classes by how much of a turn must survive (seed 004 §2.3).

    >>> ResourceClass.DROPPABLE < ResourceClass.REQUIRED < ResourceClass.PRESERVED
    True
    """

    DROPPABLE = 0
    """May vanish from the view: acknowledgements, empty results."""

    REQUIRED = 1
    """May be summarised, must leave a trace."""

    PRESERVED = 2
    """Stays word for word: system prompts, the task, standing constraints."""
