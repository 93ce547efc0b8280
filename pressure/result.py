"""What a compression did, reported honestly."""

from attrs import frozen

from polycontext.pressure.columns import Kind, columns_of
from polycontext.pressure.edit import Edit
from polycontext.pressure.gisting import Rejection
from polycontext.pressure.plan import Plan
from polycontext.pressure.reach import Reach
from polycontext.window import ContextWindow


@frozen(repr=False)
class CompressionResult:
    """Report a compression: the window it made, and what it cost (design §6).

    Token counts are whole windows. `dropped` and `gisted` are resource ids of turns;
    what is neither is kept. `rejections` name summaries that were not taken.
    """

    window: ContextWindow
    plan: Plan
    reach: Reach
    edit: Edit
    tokens_after: int
    dropped: tuple[str, ...]
    gisted: tuple[str, ...]
    rejections: tuple[Rejection, ...] = ()

    @property
    def reached(self) -> bool:
        """Tell whether the tokens are within what was wanted."""
        return self.tokens_after <= self.plan.tokens_wanted

    @property
    def tokens_before(self) -> int:
        """Return the tokens before."""
        return self.plan.tokens_before

    @property
    def floor(self) -> int:
        """Return the tokens that no plan could have got below."""
        return self.plan.floor

    @property
    def irreducible(self) -> tuple[str, ...]:
        """Return the ids of the turns that never yield: PRESERVED, open, or the last user turn."""
        columns = columns_of(self.plan.window, self.reach)
        fixed = (atom for atom, kind in enumerate(columns.kinds) if kind is Kind.FIXED)
        return tuple(turn.resource_id for atom in fixed for turn in columns.atoms.turns_of(atom))

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the ids of the turns that stand unchanged."""
        gone = {*self.dropped, *self.gisted}
        return tuple(turn.resource_id for turn in self.plan.window.all_turns() if turn.resource_id not in gone)

    @property
    def first_changed(self) -> int | None:
        """Return the index of the first turn that changed; a provider's prompt cache holds what is before it.

        None where nothing did. Law: not before what the plan named, and behind it only where a gist was rejected.
        """
        return min((splice.start for splice in self.edit.splices), default=None)

    @property
    def tokens_saved(self) -> int:
        """Return tokens before - tokens after."""
        return self.tokens_before - self.tokens_after

    def payback_turns(self, cache_discount: float = 0.9) -> float:
        """Return after how many turns the saving has paid for the lost prompt cache.

        `cache_discount` is what a provider takes off cached tokens. A turn then costs
        tokens x (1 - discount); the first one after the compression pays the changed part in full.
        """
        if self.first_changed is None:
            return 0.0
        prefix = self.plan.window.seek(self.first_changed).tokens
        saved = self.tokens_saved * (1.0 - cache_discount)
        return (self.tokens_after - prefix) * cache_discount / saved if saved > 0 else float("inf")

    def __repr__(self) -> str:
        state = "reached" if self.reached else f"not reached, floor {self.floor}"
        return (
            f"CompressionResult({self.tokens_before} -> {self.tokens_after} tokens, wanted {self.plan.tokens_wanted}: {state}, "
            f"{len(self.dropped)} dropped, {len(self.gisted)} gisted)"
        )
