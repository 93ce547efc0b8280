"""A digest: a growing text that is kept within a bound of tokens.

Entries stay verbatim while there is room, and the oldest are summarised first. Gists are
log-structured (docs/pressure.md): a gist is made when room runs out, stays unchanged while later
ones are added, and is folded with its neighbours when there are many. So the cost of adding an
entry does not depend on the number of earlier ones.
"""

from collections.abc import Iterable

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, Reach
from polycontext.pressure.gist import is_gist_text
from polycontext.window import ContextWindow, Role, TokenCounter, Turn
from polycontext.window.rules import NO_RULES

from ..checks import is_not_blank, whole_from

LEAST_BOUND = 64
"""The least bound: with fewer tokens not even one gist would fit beside a new entry."""

_PROJECTOR = ContextProjector(reach=Reach(keep_recent=0))
_TARGETS = (0.9, 0.7, 0.4, 0.0)
"""How full a digest is after compression, as a share of its bound.

The later targets apply where an earlier one is not enough.
"""


@frozen
class DigestEntry:
    """One entry, or the gist that stands for the entries `first` to `last`.

    Entries are numbered from 1. `level` is 0 for an entry as it was added, 1 for a gist of entries,
    and one more for each fold.
    """

    first: int = field(validator=whole_from(1))
    last: int = field(validator=whole_from(1))
    level: int = field(validator=whole_from(0))
    text: str = field(validator=is_not_blank)

    def __attrs_post_init__(self) -> None:
        if self.last < self.first:
            raise InvalidDataError("last", f"{self.last} is before {self.first}", "first or later")
        if not self.level and self.first != self.last:
            raise InvalidDataError(
                "level", f"0 for the entries {self.first} to {self.last}", "1 or more for a gist"
            )

    @property
    def turn(self) -> Turn:
        """Return the entry as a turn of a window.

        Every entry counts as a summary. Its sources are the numbers of the first and last entry it
        stands for, so their count never grows.
        """
        role = Role.USER if self.level else Role.ASSISTANT
        sources = (
            (f"{self.first}",) if self.first == self.last else (f"{self.first}", f"{self.last}")
        )
        level = max(self.level - 1, 0)
        return Turn(
            role, self.text, resource_id=f"{self.first}-{self.last}", sources=sources, level=level
        )


@frozen
class Digest:
    r"""The texts that were added, within `bound` tokens (docs/nodes.md).

    Laws: the text never takes more than `bound` tokens; a gist stays byte-identical until it is
    folded; entries are in the order in which they were added.

    Raises:
        InvalidDataError: A bound below 64 tokens, or entries out of order.

    >>> digest = (
    ...     Digest(bound=100).add("user: soup?\nassistant: three soups").add("user: the second")
    ... )
    >>> print(digest.text)
    user: soup?
    assistant: three soups
    user: the second
    """

    bound: int = field(default=600, validator=whole_from(LEAST_BOUND))
    entries: tuple[DigestEntry, ...] = field(default=(), converter=tuple[DigestEntry, ...])

    def __attrs_post_init__(self) -> None:
        expected = 1
        for index, entry in enumerate(self.entries):
            if entry.first != expected:
                raise InvalidDataError(
                    f"entries[{index}].first", f"{entry.first} does not follow", f"{expected}"
                )
            expected = entry.last + 1

    @property
    def text(self) -> str:
        """Return the gists and entries, oldest first, joined by line breaks."""
        return "\n".join(entry.text for entry in self.entries)

    @property
    def added(self) -> int:
        """Return how many entries were ever added."""
        return self.entries[-1].last if self.entries else 0

    def add(
        self,
        text: str,
        *,
        counter: TokenCounter | None = None,
        projector: ContextProjector | None = None,
    ) -> "Digest":
        """Return the digest with `text` as its newest entry, compressed if it is over the bound.

        `counter` counts tokens and `projector` compresses, optionally with a model's summariser.
        The cost does not depend on how much was added before.

        Raises:
            InvalidDataError: The text is empty or cannot be stored.
        """
        number = self.added + 1
        entries = (*self.entries, DigestEntry(number, number, 0, text))
        window, rules = ContextWindow(self.bound, counter=counter), NO_RULES
        for entry in entries:
            window = window.append(entry.turn, ResourceClass.REQUIRED)
            rules = rules.after(evolve(entry.turn, sources=()).as_gist())
        window = window.with_facts(rules=rules)
        for target in _TARGETS:
            if window.tokens <= self.bound and window.counter.count(_text_of(window)) <= self.bound:
                break
            # A joined text may count more than its turns. Check both, and try a lower target if
            # either is over the bound.
            window = (projector or _PROJECTOR).compress(window, target).window
        standing = {entry.turn.resource_id: entry for entry in entries}
        return evolve(
            self,
            entries=[standing.get(turn.resource_id) or _gist(turn) for turn in window.all_turns()],
        )

    def add_all(
        self,
        texts: Iterable[str],
        *,
        counter: TokenCounter | None = None,
        projector: ContextProjector | None = None,
    ) -> "Digest":
        """Return the digest with `texts` added one after the other; see `add`."""
        digest = self
        for text in texts:
            digest = digest.add(text, counter=counter, projector=projector)
        return digest


def _text_of(window: ContextWindow) -> str:
    return "\n".join(turn.text for turn in window.all_turns())


def _gist(turn: Turn) -> DigestEntry:
    """Return a gist as an entry, without its header: the header's count would be wrong."""
    body = turn.text.partition("\n")[2] if is_gist_text(turn.text) else turn.text
    return DigestEntry(int(turn.sources[0]), int(turn.sources[-1]), turn.level + 1, body)
