"""When two values are the same: as JSON is, so that 1 is not true, 1 is not 1.0, and the order of keys says nothing."""

from enum import Enum
from typing import Any, Literal

from polycontext.nodes.agent_context._json import canonical


class Missing(Enum):
    """Stand for no value at all, which null is not."""

    ABSENT = "absent"


ABSENT: Literal[Missing.ABSENT] = Missing.ABSENT


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same; values that are shared cost nothing."""
    if left is right:
        return True
    return left is not ABSENT and right is not ABSENT and canonical(left) == canonical(right)


def present(value: Any) -> Any:
    """Return a value for a reader who knows no `ABSENT`."""
    return None if value is ABSENT else value
