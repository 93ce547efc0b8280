"""Formatters of custom items: how a kind of the caller's own is shown to a model (seed 000, L-004).

A custom item names its kind in ``metadata["kind"]``. A registered function writes what
stands below its heading; without one it is fenced as text is.
"""

from collections.abc import Callable

from polycontext.window.errors import InvalidTurnError
from polycontext.window.items.errors import FormatterError
from polycontext.window.items.item import ContextItem, ItemType
from polycontext.window.turn import check_text

Formatter = Callable[[ContextItem], str]

KIND = "kind"
_FORMATTERS: dict[str, Formatter] = {}


def register_formatter(kind: str, formatter: Formatter) -> None:
    """Let `formatter` write the body of every custom item whose ``metadata["kind"]`` is `kind`; a later one replaces it.

    What it writes stands in prompts as it is: a formatter that quotes content fences it itself.

    >>> register_formatter("doctest-ticket", lambda item: f"Ticket: {item.content}")
    >>> formatted(ContextItem("the printer burns", "custom", {"kind": "doctest-ticket"}))
    'Ticket: the printer burns'
    """
    _FORMATTERS[kind] = formatter


def formatted(item: ContextItem) -> str | None:
    """Return what the registered formatter of a custom item writes; None where there is none.

    Raises:
        FormatterError: it raised, or returned what is no storable text.
    """
    kind = (item.metadata or {}).get(KIND)
    formatter = _FORMATTERS.get(kind) if isinstance(kind, str) and item.type is ItemType.CUSTOM else None
    if formatter is None:
        return None
    try:
        return check_text(formatter(item), "text")
    except InvalidTurnError as error:
        raise FormatterError(str(kind), item.id, error.problem) from None
    except Exception as error:
        raise FormatterError(str(kind), item.id, f"it raised {type(error).__name__}: {error}") from error
