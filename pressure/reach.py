"""How far compression may reach: what stays recent, and how much room gists get."""

from attrs import define, frozen

from polycontext.linearity import CallerError
from polycontext.pressure.gist import MIN_GIST_TOKENS


@define(slots=False, eq=False)
class ReachError(CallerError, ValueError):
    """Refuse an option of compression outside its range."""

    name: str
    value: object
    legal: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r}; legal: {self.legal}"


@frozen
class Reach:
    """Bound what compression touches.

    `keep_recent` turns at the end yield last, or as many as fit into
    `keep_recent_tokens` where that is given. All gists together get `gist_share` of
    the window; more than `fan_in` of one level side by side fold into one of the next.
    """

    keep_recent: int = 6
    keep_recent_tokens: int | None = None
    gist_share: float = 0.2
    fan_in: int = 4

    def __attrs_post_init__(self) -> None:
        _require("keep_recent", self.keep_recent, _is_whole(self.keep_recent, 0), "a whole number of turns, at least 0")
        tokens = self.keep_recent_tokens
        _require("keep_recent_tokens", tokens, tokens is None or _is_whole(tokens, 0), "None, or a whole number of tokens, at least 0")
        _require("gist_share", self.gist_share, 0.0 < self.gist_share < 1.0, "above 0.0, below 1.0")
        _require("fan_in", self.fan_in, _is_whole(self.fan_in, 2), "a whole number, at least 2")

    def gist_cap(self, max_tokens: int, standing: int) -> int:
        """Return how large one new gist may be beside `standing` tokens of older ones: half of the room left."""
        return max(MIN_GIST_TOKENS, (int(self.gist_share * max_tokens) - standing) // 2)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _require(name: str, value: object, condition: bool, legal: str) -> None:  # noqa: FBT001 - a check reads best with its condition in place
    if not condition:
        raise ReachError(name, value, legal)
