"""Print layer 1 for a prompt."""

from polycontext.nodes._parts import printed
from polycontext.nodes.entities.modes import EntityMode
from polycontext.nodes.entities.parts import do_not_read, entity_parts, visible_entities
from polycontext.nodes.entities.snapshot import EntityContext

NOTHING = "No entities."
"""What stands where there is nothing to show."""


def format_entity_context(ctx: EntityContext, mode: EntityMode | str) -> str:
    """Return `ctx` as text that shows of each tier what `ENTITY_TABLE` grants the mode (seed 003 layer 1).

    Raises:
        UnknownModeError: no such mode; names the legal ones.

    >>> from polycontext.nodes.entities import EntitySnapshot
    >>> soup = EntitySnapshot("recipe_1", "recipes", "Soup", "read", 1, 2)
    >>> print(format_entity_context(EntityContext(active=(soup,)), "refs_and_labels"))
    ### Active
    - recipe_1: "Soup"
    >>> print(format_entity_context(EntityContext(active=(soup,)), "do_not_read"))
    DO NOT re-read: recipe_1
    """
    if EntityMode.of(mode) is EntityMode.DO_NOT_READ:
        return do_not_read(visible_entities(ctx, mode)) or "DO NOT re-read: nothing"
    return printed(entity_parts(ctx, mode), NOTHING)
