"""What the laws of the window share."""

from collections.abc import Callable

from polycontext.linearity import PolycontextError


def refusal_of(attempt: Callable[[], object]) -> type[PolycontextError] | None:
    """Return the kind of error that refuses `attempt`, None where it is accepted."""
    try:
        attempt()
    except PolycontextError as error:
        return type(error)
    return None
