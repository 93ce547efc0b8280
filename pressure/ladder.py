"""The ladder: all plans for one window, as a chain from gentle to harsh.

The rungs are, each with the oldest atoms first:

1. DROPPABLE atoms are dropped, in the recent tail, too.
2. Images and other parts are replaced by a line, whatever the class of the text beside them.
3. Superseded results and attachments are replaced by pointers.
4. Older gists and REQUIRED atoms go into one gist.
5. The rest of the recent tail loses its parts and goes into that gist, atom by atom.
6. The newest results, which the model has not read yet, are cut in place.
7. All bound parts are removed. If the reach allows it, results beside PRESERVED results of the
   same turn are cut, and the last user turn loses its parts and is cut.
8. The newest results and that last user turn go into the gist, too.

The text of PRESERVED turns is on no rung, nor are open calls and, otherwise, the last user turn.
Bound parts are removed with the first change before them, on whichever rung that is.

The ladder only decides which atoms are compressed. The text of each gist is chosen later from the
tokens that a plan leaves, so a plan promises here that each gist takes the least it can. The
promised tokens fall strictly from plan to plan (a step without gain is joined to the next). So the
gentlest sufficient plan is found by binary search, and plans and pressures are adjoint: for every
reachable t, ``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from itertools import accumulate, chain
from operator import neg
from typing import NamedTuple

from attrs import define, field

from polycontext.linearity import ToolRule
from polycontext.linearity.classification.classifier import Yielding
from polycontext.window import ContextWindow, Role, TokenCounter, ToolCall, Turn, count_turn

from .gist import least_summary, pointer_turn
from .reach import Columns, Kind, Reach, columns_of
from .terms import strong_terms

SURELY_ASKED = 5
"""How many of the most relevant atoms to a question may take more than their share; an answer is
usually in a few of them."""

EXCHANGE_SHARE = 0.7
"""The share of the room that the message before the last user turn may take to stay complete."""


RECENT_SHARE, MEETING_SHARE, THIN_SHARE = 0.4, 0.6, 0.93
"""The share of the room that recent turns take by default, where only users speak, and where a gist
of what they said would be thin."""

FULL_GIST, FULL_TOKENS, THIN_GIST = 1 / 25, 1_000, 1 / 12
"""At which share of the text, or at how many tokens, a first gist is full: recent turns take what
it leaves. Below `THIN_GIST` of the text, a gist of what users said is thin."""


class Rung(IntEnum):
    """How the atoms of a step are compressed."""

    DROP = 0
    BARE = 1
    POINT = 2
    GIST = 3
    """Into the one gist of the plan."""
    CUT = 4
    """Results are cut in place; their calls stay."""
    UNBIND = 5
    """All bound parts are removed, from the turn with the first of them on."""


@define
class Ladder:
    """The chain of plans for `window`.

    `tokens[j]` is the least that plan j promises, and `counts[j]` the number of its steps. `rungs`
    holds all steps in order, each as an atom index. Up to plan `whole` no text goes into a gist, up
    to plan `whole_tail` the recent tail stays complete, up to plan `whole_newest` the newest
    results do, and plan `cut_newest` cuts them.
    """

    window: ContextWindow
    reach: Reach
    columns: Columns
    least_gist: int
    tokens: list[int] = field(factory=list)
    counts: list[int] = field(factory=list)
    rungs: list[tuple[Rung, list[int]]] = field(factory=list)
    pointer_gains: dict[int, int] = field(factory=dict)
    whole: int = 0
    whole_tail: int = 0
    whole_newest: int = 0
    cut_newest: int = 0

    def gentlest(self, tokens: int) -> int:
        """Return the first plan that promises at most `tokens`, or the harshest one."""
        return min(bisect_left(self.tokens, -tokens, key=neg), len(self.tokens) - 1)

    def roomiest(self, tokens: int) -> int:
        """Return the plan for `tokens` that leaves its gists the most room.

        It keeps the newest atoms complete as far as the reach allows. Compressing all older atoms
        and spending the freed tokens on longer gists keeps more than compressing just enough.
        """
        gentlest = self.gentlest(tokens)
        if gentlest <= self.whole:
            return gentlest
        room = max(0, tokens - self.tokens[self.whole_newest])
        if room < (1 - self.reach.newest_share) * (tokens - self.tokens[self.cut_newest]):
            # The newest picture stays while it fits: no gist can say what it shows.
            shows = any(atom in self.columns.bared for atom in self.columns.newest)
            return max(self.whole_newest if shows else self.cut_newest, gentlest)
        recent, reply = self._recent(room, tokens), self.columns.reply
        answered = 0 if reply is None else self.columns.atoms.tokens[reply]
        if recent and answered <= EXCHANGE_SHARE * room:
            # What the user answers with a word is not to be read in a summary.
            recent = max(recent, answered)
        wanted, fills = tokens - int(room - recent), self.reach.fills_share
        first = self.whole if fills else self.whole_tail
        return max(bisect_left(self.tokens, -wanted, first, self.whole_newest, key=neg), gentlest)

    def _recent(self, room: float, tokens: int) -> float:
        """Return how many tokens of the room recent turns get."""
        if self.reach.recent_share is not None:
            return self.reach.recent_share * room
        share = MEETING_SHARE if self.columns.is_meeting else RECENT_SHARE
        if any(turn.is_gist for turn in self.columns.atoms.turns):
            return share * room
        gone = self.tokens[0] - tokens
        if self.columns.is_meeting and (1 - share) * room < THIN_GIST * gone:
            share = THIN_SHARE
        if not (self.columns.is_meeting or self._has_work()):
            return share * room  # What was said once may be asked for at any time.
        return max(share * room, room - max(FULL_GIST * gone, FULL_TOKENS))

    def _has_work(self) -> bool:
        """Return whether anything was done or written: calls, or code in one of four messages."""
        turns = self.columns.atoms.turns
        coded = sum("```" in turn.text for turn in turns)
        return 4 * coded >= len(turns) or any(turn.tool_calls for turn in turns)

    def select(
        self, tokens: int, order: Callable[[Sequence[str]], Sequence[int]]
    ) -> frozenset[int]:
        """Return the atoms that stay complete because they are relevant to the question.

        `order` ranks their texts. The atoms get their share of the room that `tokens` leaves; the
        first few may take all of it.
        """
        room = tokens - self.floor
        yielding = self.columns.of_kind(range(len(self.columns.kinds)), Kind.REQUIRED)
        standing, spent = list[int](), 0
        for place in order([_text_of(self.columns.atoms.turns_of(atom)) for atom in yielding]):
            after = spent + self.columns.atoms.tokens[yielding[place]]
            if after <= (room if len(standing) < SURELY_ASKED else self.reach.asked_share * room):
                standing.append(yielding[place])
                spent = after
        return frozenset(standing)

    def group_by_rung(self, step: int) -> dict[Rung, list[int]]:
        """Return the atoms that plan `step` compresses, by rung.

        Atoms that go into the gist are neither replaced by pointers nor cut.
        """
        left, found = self.counts[step], {rung: list[int]() for rung in Rung}
        for rung, atoms in self.rungs:
            found[rung].extend(atoms[: max(left, 0)])
            left -= len(atoms)
        gisted = set(found[Rung.GIST])
        for rung in (Rung.POINT, Rung.CUT):
            found[rung] = [atom for atom in found[rung] if atom not in gisted]
        return found

    @property
    def floor(self) -> int:
        """Return the fewest tokens that any plan promises.

        Gists may turn out shorter than promised.
        """
        return self.tokens[-1]

    @property
    def coming_gist(self) -> int:
        """Return the tokens that a gist takes beside the floor, 0 if the floor has one."""
        return 0 if any(rung is Rung.GIST for rung, _ in self.rungs) else self.least_gist


def ladder_of(window: ContextWindow, reach: Reach, standing: Collection[int] = ()) -> Ladder:
    """Return the chain of plans for `window`; O(n).

    The atoms `standing` (by index) are not compressed.
    """
    columns = columns_of(window, reach, standing)
    least = least_summary(window.counter, columns.most_rules)
    ladder = Ladder(window, reach, columns, least, [window.total_tokens], [0])
    _Climb(ladder).climb()
    return ladder


class _Climb:
    """Builds the rungs of a ladder and records the tokens that each step promises."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.columns = ladder.columns
        self.atoms = ladder.columns.atoms
        self.left = ladder.tokens[0]
        self.steps = 0
        self.first = len(self.atoms.turns)
        self.gains: dict[int, int] = {}
        self.has_gist = False
        self.waiting: list[int] = []

    def climb(self) -> None:
        ladder, columns = self.ladder, self.columns
        newest, everything = columns.newest, range(len(self.atoms))
        old, recent = everything[: columns.tail], everything[columns.tail :]
        self._drop(everything)
        self._bare(old)
        self._point()
        ladder.whole = self._plan
        # An older gist is taken in first: there is one gist at a time.
        self._gist(columns.of_kind(everything, Kind.SUMMARY))
        self._gist(columns.of_kind(old, Kind.REQUIRED))
        ladder.whole_tail = self._plan
        self._bare(recent)
        self._gist(
            [atom for atom in columns.of_kind(recent, Kind.REQUIRED) if atom != columns.reply]
        )
        self._gist([] if columns.reply is None else [columns.reply])
        ladder.whole_newest = self._plan
        self._bare(newest, later=())
        self._cut(
            [
                atom
                for atom in newest
                if self.atoms.turns_of(atom)[0].tool_calls or self.atoms.is_program(atom)
            ]
        )
        ladder.cut_newest = self._plan
        self._unbind()
        self._cut([*columns.beside])
        self._bare([*columns.asking], later=())
        self._cut(columns.question)
        self._gist([] if columns.is_open else [*newest])
        self._gist([*columns.question])

    @property
    def _plan(self) -> int:
        return len(self.ladder.tokens) - 1

    def _take(self, turn: int, gain: int) -> None:
        """Record a step that saves `gain` tokens and changes `turn` first.

        A step without gain is joined to the next.
        """
        self._touch(turn)
        self.steps += 1
        self.left -= gain
        if self.left < self.ladder.tokens[-1]:
            self.ladder.tokens.append(self.left)
            self.ladder.counts.append(self.steps)

    def _touch(self, turn: int) -> None:
        """Remove bound parts from the first change on, which may now be `turn` (an index)."""
        if turn < self.first:
            self.left -= sum(
                tokens for bound, tokens in self.columns.bound.items() if turn <= bound < self.first
            )
            self.first = turn

    def _drop(self, zone: range) -> None:
        dropped = self.columns.of_kind(zone, Kind.DROPPABLE)
        self.ladder.rungs.append((Rung.DROP, dropped))
        for atom in dropped:
            self._take(
                self.atoms.bounds[atom], self.atoms.tokens[atom] + self.columns.bared.get(atom, 0)
            )

    def _bare(self, zone: Sequence[int], later: Sequence[Kind] = (Kind.NEWEST,)) -> None:
        """Remove parts before the text beside them; dropped atoms have none left."""
        kinds, starts, falling = self.columns.kinds, self.atoms.bounds, self.columns.bared
        stays, asking = (Kind.DROPPABLE, *later), self.columns.asking if later else ()
        bared = [
            atom
            for atom in falling
            if atom in zone and kinds[atom] not in stays and atom not in asking
        ]
        self.ladder.rungs.append((Rung.BARE, bared))
        for atom in bared:
            first = min(self.columns.bare_turns.intersection(range(*starts[atom : atom + 2])))
            self._take(first, falling[atom])

    def _point(self) -> None:
        """Replace superseded results with pointers."""
        costs = dict[str | None, int]()
        for atom in superseded(self.columns, self.ladder.reach.rules):
            gain = pointer_gain(self.ladder.window.counter, self.columns.cut_turns(atom), costs)
            if gain > 0:
                self.gains[atom] = gain
        self.ladder.pointer_gains.update(self.gains)
        self.ladder.rungs.append((Rung.POINT, [*self.gains]))
        for atom, gain in self.gains.items():
            # The call before cut results stays.
            self._take(self.columns.cuttable(atom)[0], gain)

    def _gist(self, atoms: list[int]) -> None:
        """Record the tokens left after each of `atoms` has gone into the gist.

        Atoms that are too small for a gist wait for the next ones.
        """
        atoms, least, gains = [*self.waiting, *atoms], self.ladder.least_gist, self.gains
        tokens = list(map(self.atoms.tokens.__getitem__, atoms))
        if gains:
            tokens = [size - gains.get(atom, 0) for atom, size in zip(atoms, tokens, strict=True)]
        gathered = list(accumulate(tokens))
        first = 0 if self.has_gist else bisect_right(gathered, least)
        self.waiting = [] if self.has_gist or first < len(atoms) else atoms
        if first >= len(atoms):
            return
        self._touch(self.atoms.bounds[min(atoms)])
        before = self.left + (0 if self.has_gist else least)
        self.ladder.rungs.append((Rung.GIST, atoms))
        self.ladder.tokens.extend([before - tokens for tokens in gathered[first:]])
        self.ladder.counts.extend(range(self.steps + first + 1, self.steps + len(atoms) + 1))
        self.steps, self.left, self.has_gist = self.steps + len(atoms), self.ladder.tokens[-1], True

    def _cut(self, atoms: Sequence[int]) -> None:
        """Cut results in place if they are longer than the least that can be left of them."""
        counter, cut = self.ladder.window.counter, list[int]()
        self.ladder.rungs.append((Rung.CUT, cut))
        for atom in atoms:
            gain = sum(
                (turn.tokens or 0) - self.columns.least(turn, counter)
                for turn in self.columns.cut_turns(atom)
            )
            if gain:
                cut.append(atom)
                self.gains[atom] = gain
                self._take(self.columns.cuttable(atom)[0], gain)

    def _unbind(self) -> None:
        """Remove all bound parts."""
        bound = sorted(self.columns.bound)[:1]
        self.ladder.rungs.append((Rung.UNBIND, bound))
        for turn in bound:
            self._take(turn, 0)


def _text_of(turns: Sequence[Turn]) -> str:
    texts = ((*(call.arguments for call in turn.tool_calls), turn.text) for turn in turns)
    return "\n".join(filter(None, chain.from_iterable(texts)))


def superseded(columns: Columns, rules: Sequence[ToolRule] = ()) -> list[int]:
    """Return the atoms whose current text is in a later call or attachment, oldest first.

    `rules` state which other calls are replaced.
    """
    return sorted(_superseded_results(columns, rules) + _superseded_attachments(columns))


def superseded_ids(window: ContextWindow, reach: Reach) -> list[str]:
    """Return the ids of verbatim turns in `window` whose current text is in a later turn.

    See `superseded`.
    """
    columns = columns_of(window, reach)
    cuttable = (columns.cuttable(atom) for atom in superseded(columns, reach.rules))
    return [columns.atoms.turns[place].resource_id for places in cuttable for place in places]


def _superseded_attachments(columns: Columns) -> list[int]:
    """Return the attachments whose source is attached again later."""
    latest = {attachment.source: atom for atom, attachment in columns.attachments.items()}
    return [
        atom
        for atom, attachment in columns.attachments.items()
        if attachment.source is not None
        and latest[attachment.source] > atom
        and _yields(columns, atom)
    ]


def _superseded_results(columns: Columns, rules: Sequence[ToolRule]) -> list[int]:
    """Return the atoms all of whose calls are made and answered again later.

    Calls are equal if their names and arguments are, or as a rule for the tool states. A failure
    replaces nothing, and what a call changed stands: its result goes only if the later one has all
    identifiers in it.
    """
    replacing = {
        tool: rule for rule in rules if rule.yielding is Yielding.REPLACED for tool in rule.tools
    }
    complete: list[int] = []
    made: dict[int, list[_Answer]] = {}
    latest: dict[tuple[str, ...], tuple[int, Turn]] = {}
    for atom in range(len(columns.atoms)):
        first, *results = columns.atoms.turns_of(atom)
        if not results or columns.atoms.is_program(atom):
            continue
        by_id = {turn.tool_call_id: turn for turn in results}
        answers = [
            _Answer(_key(call, rule), call, rule is not None, by_id.get(call.id))
            for call in first.tool_calls
            for rule in [replacing.get(call.name)]
        ]
        made[atom] = answers
        if len(results) >= len(answers):
            complete.append(atom)
    times = Counter(each.key for answers in made.values() for each in answers)
    for atom in complete:
        latest |= {
            each.key: (atom, each.result)
            for each in made[atom]
            if times[each.key] > 1 and each.result is not None and not each.failed
        }
    return [
        atom
        for atom, answers in made.items()
        if answers
        and all(
            later > atom and each.is_told_in(result)
            for each in answers
            for later, result in [latest.get(each.key, (0, columns.atoms.turns[0]))]
        )
        and _yields(columns, atom)
    ]


class _Answer(NamedTuple):
    """A call and its result; `is_ruled` if a caller's rule states what replaces it."""

    key: tuple[str, ...]
    call: ToolCall
    is_ruled: bool
    result: Turn | None

    @property
    def failed(self) -> bool:
        # The extractive summariser's modules load where a call was repeated.
        from .notes.calls import has_failed, read_call  # noqa: PLC0415
        from .notes.events import Effect  # noqa: PLC0415

        text = "" if self.result is None else self.result.text
        return not read_call(self.call).command and has_failed(text, Effect.READ, shell=False)

    def is_told_in(self, later: Turn) -> bool:
        """Return whether the `later` result of the same call replaces this one."""
        from .notes.calls import read_call  # noqa: PLC0415 - as above
        from .notes.events import Effect  # noqa: PLC0415

        call = read_call(self.call)
        if call.effect is Effect.EDIT and not self.is_ruled:
            return False  # Each edit adds to those before it.
        if self.is_ruled or self.result is None or call.command or call.effect is Effect.READ:
            return True
        return strong_terms(self.result.text) <= strong_terms(later.text)


def _key(call: ToolCall, rule: ToolRule | None) -> tuple[str, ...]:
    return (call.name, *((call.arguments,) if rule is None else rule.replaces(call.arguments)))


def _yields(columns: Columns, atom: int) -> bool:
    if atom >= columns.tail or columns.kinds[atom] is not Kind.REQUIRED:
        return False
    return not any(turn.is_gist for turn in columns.atoms.turns_of(atom))


def pointer_gain(counter: TokenCounter, turns: Sequence[Turn], costs: dict[str | None, int]) -> int:
    """Return the tokens that pointers in place of `turns` save, if they are shorter.

    The cost is the same for every result of a tool, and is stored in `costs`.
    """
    gain = 0
    for turn in turns:
        # The pointer of an attachment contains its name.
        if turn.name not in costs or turn.role is not Role.TOOL:
            costs[turn.name] = count_turn(counter, pointer_turn(turn, turn.resource_id))
        gain += max(0, (turn.tokens or 0) - costs[turn.name])
    return gain
