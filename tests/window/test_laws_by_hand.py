"""The comonad laws of the context window, written out without the library's law helpers."""

from hypothesis import given

from polycontext.testing import windows
from polycontext.window import ContextWindow


def verify_comonad_laws(window: ContextWindow) -> bool:
    """
    Verify Store Comonad laws.

    1. Left Identity:  extract . duplicate = id
    2. Right Identity: fmap extract . duplicate = id
    3. Associativity:  duplicate . duplicate = fmap duplicate . duplicate
    """
    # Left Identity
    snapshots = window.duplicate()
    current_snapshot = snapshots[window.position]
    assert current_snapshot.value == window.extract()

    # Right Identity
    extracted_values = [s.value for s in snapshots]
    direct_values = [window.seek(i).extract() for i in range(len(window) + 1)]
    assert extracted_values == direct_values

    # Associativity (nested duplicate)
    twice = snapshots.duplicate()
    mapped = snapshots.map(lambda s: s.duplicate())
    assert len(twice) == len(mapped) == len(window) + 1
    assert twice.pos == mapped.pos == window.position
    for outer in range(len(window) + 1):
        assert twice[outer].pos == mapped[outer].pos == outer
        for inner in range(len(window) + 1):
            assert twice[outer][inner] == mapped[outer][inner]

    return True


@given(windows(max_atoms=5))
def test_the_laws_hold_at_every_position(window: ContextWindow) -> None:
    """Whatever the conversation and the focus, the three laws hold."""
    assert all(verify_comonad_laws(window.seek(position)) for position in range(len(window) + 1))
