"""The laws of the readers: what leaves is valid, and nothing private reaches the props."""

from polycontext.nodes.laws.readers import (
    nothing_private_reaches_props,
    props_say_what_was_said,
    rendering_changes_nothing,
    what_leaves_is_the_readers_own,
    what_leaves_is_valid,
    what_leaves_is_within_budget,
    what_leaves_says_what_the_view_says,
)

__all__ = [
    "nothing_private_reaches_props",
    "props_say_what_was_said",
    "rendering_changes_nothing",
    "what_leaves_is_the_readers_own",
    "what_leaves_is_valid",
    "what_leaves_is_within_budget",
    "what_leaves_says_what_the_view_says",
]
