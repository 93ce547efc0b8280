"""The ledger of rules: the standing instructions of the user, and what ended them.

The ledger is a fold over the user's turns. Nothing of it is stored beside them: rewinding, forking
and importing a conversation carry its rules, and erasing a turn erases its rules. Only a user turn
states, replaces or revokes a rule. Code, pasted text, quotations and attachments do not.
"""

import re
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache

from attrs import evolve, field, frozen

from polycontext.base import Column
from polycontext.linearity.classification import (
    RuleKind,
    find_rules,
    sentence_spans,
    unquoted,
    wording_of,
)

from .turn import Turn

RULE = "rule"
"""The metadata key of a user turn that adds its text as a rule, or revokes rules by their ids."""

REMOVALS = "polycontext.rules"
"""The name of the document whose keys are the ids of removed rules."""

PREFERENCE = RuleKind.PREFERENCE.value
"""The kind of rules that come after all others."""

RULES_TITLE = "Standing instructions:"
"""The heading of the rules in a summary, one line for each."""

REMOVED = "removed"
"""Stands in `Rule.ended_by` for a rule that was removed without a turn."""


def is_rule(turn: Turn) -> bool:
    """Return whether `turn` was written to add or to revoke rules, and says nothing else.

    Callers may store other values under the same key; they change no rule.
    """
    match turn.metadata.get(RULE):
        case {"kind": str(), "scope": str()}:
            return True
        case _:
            return bool(revoked_ids(turn))


def revoked_ids(turn: Turn) -> tuple[str, ...]:
    """Return the ids of the rules that `turn` was written to revoke."""
    match turn.metadata.get(RULE):
        case {"revokes": [*ids]} if all(isinstance(each, str) for each in ids):
            return tuple(ids)
        case _:
            return ()


@frozen
class Rule:
    """A rule of the user, verbatim and whole.

    `id` is the id of its turn with a number. `author` is the name of the user, if the turn has one.
    `kind` and `scope` say what kind of rule it is and when it applies, if known. `ended_by` is the
    id of the turn that replaced or revoked it, or "" as long as it stands.
    """

    id: str
    text: str
    turn_id: str
    author: str = ""
    kind: str = RuleKind.INSTRUCTION.value
    scope: str = ""
    ended_by: str = ""

    @property
    def stands(self) -> bool:
        """Return whether nothing has replaced, revoked or removed the rule."""
        return not self.ended_by


@frozen(eq=False, slots=False)
class RuleLedger:
    """The rules of a conversation: those found so far, and the turns that are not searched yet.

    Immutable; appending a turn is O(1), because its text is searched when `all` is first read.
    """

    _found: tuple[Rule, ...] = ()
    _unread: Column[Turn] = field(factory=Column[Turn])

    def after(self, *turns: Turn) -> "RuleLedger":
        """Return the rules after `turns`, which the user wrote."""
        is_read = "all" in self.__dict__
        found, unread = (self.all, Column[Turn]()) if is_read else (self._found, self._unread)
        for turn in turns:
            unread = unread.appended(turn)
        return RuleLedger(found, unread)

    @cached_property
    def all(self) -> tuple[Rule, ...]:
        """Return every rule, in the order in which they were stated."""
        reader = _Reader(self._found)
        for turn in self._unread:
            reader.read(turn)
        return reader.found

    @property
    def standing(self) -> tuple[Rule, ...]:
        """Return the rules that stand, in order."""
        return tuple(rule for rule in self.all if rule.stands)

    def without(self, ids: Collection[str]) -> "RuleLedger":
        """Return the rules with those of `ids` removed, as far as they stand."""
        return RuleLedger(
            tuple(
                evolve(rule, ended_by=REMOVED) if rule.stands and rule.id in ids else rule
                for rule in self.all
            )
        )

    def __eq__(self, other: object) -> bool:
        return self.all == other.all if isinstance(other, RuleLedger) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return RuleLedger, (self.all,)


NO_RULES = RuleLedger()


class _Reader:
    """Reads turns in order: adds the rules that they state, and ends those that they revoke."""

    def __init__(self, known: tuple[Rule, ...]) -> None:
        self._known = known

    # Most turns change no rule, so that the rules are arranged only when one does.
    @cached_property
    def rules(self) -> dict[str, Rule]:
        return {rule.id: rule for rule in self._known}

    @cached_property
    def _standing(self) -> dict[str, Rule]:
        return {wording_of(rule.text): rule for rule in self._known if rule.stands}

    @property
    def found(self) -> tuple[Rule, ...]:
        """Return all rules, in order."""
        return tuple(self.rules.values()) if "rules" in self.__dict__ else self._known

    def read(self, turn: Turn) -> None:
        if revoked := revoked_ids(turn):
            self._end([self.rules[each] for each in revoked if each in self.rules], turn)
            return
        match turn.metadata.get(RULE):
            case {"kind": str(kind), "scope": str(scope)}:
                self._add(turn, 1, turn.text, kind, scope)
            case _ if turn.is_gist:
                self._read_summary(turn)
            case _:
                self._read_text(turn, turn.text)

    def _read_text(self, turn: Turn, text: str) -> None:
        stated = find_rules(text)
        if not stated and not self.found:
            return
        revoking = [
            (start, said)
            for start, end in (sentence_spans(text) if _may_revoke(text) else ())
            if end - start <= _LONGEST and _revokes(said := unquoted(text[start:end]))
        ][:_MOST_ENDINGS]
        number = 0
        for found in stated:
            while revoking and revoking[0][0] <= found.start:
                self._end(_revoked(self._newest(), revoking.pop(0)[1]), turn)
            said = unquoted(found.text)
            if _STRICT.search(said) or not _revokes(said):
                number += 1
                if number <= _MOST_ENDINGS and _INSTEAD.search(said):
                    self._end(_replaced(self._newest(), found.text), turn)
                self._add(turn, number, found.text, found.kind.value, found.scope)
        for _, said in revoking:
            self._end(_revoked(self._newest(), said), turn)

    def _read_summary(self, gist: Turn) -> None:
        """Read the user's lines of a summary; those under the title of rules are rules as they are.

        The summary stands for turns that are not here. If it was made here, its other lines quote
        turns that were read before they expired.
        """
        listed = False
        for number, line in enumerate(_LINE.findall(gist.text)):
            said = _USER_LINE.fullmatch(line)
            if said is None:
                listed = line == RULES_TITLE or (listed and not line.endswith(":"))
            elif listed:
                text, speaker = said[2].replace("\n ", "\n"), evolve(gist, name=said[1] or None)
                self._add(speaker, number, text, RuleKind.INSTRUCTION.value, "")
            elif not gist.sources:
                self._read_text(gist, said[2])

    def _newest(self) -> list[Rule]:
        return [*self._standing.values()][: -_MOST_COMPARED - 1 : -1]

    def _add(self, turn: Turn, number: int, text: str, kind: str, scope: str) -> None:
        wording = wording_of(text)
        if wording not in self._standing:
            while (rule_id := f"{turn.resource_id}:{number}") in self.rules:
                number += 1
            rule = Rule(rule_id, text, turn.resource_id, turn.name or "", kind, scope)
            self.rules[rule_id] = self._standing[wording] = rule

    def _end(self, rules: Iterable[Rule], turn: Turn) -> None:
        for rule in rules:
            if self.rules[rule.id].stands:
                self.rules[rule.id] = evolve(rule, ended_by=turn.resource_id)
                del self._standing[wording_of(rule.text)]


# --- what a sentence replaces or revokes ------------------------------------------------

_LONGEST, _MOST_ENDINGS, _MOST_COMPARED = 400, 50, 500
"""The longest sentence that ends a rule, in characters, how many sentences of a turn do, and with
how many of the newest rules each is compared."""
_LINE = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)
_USER_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?user(?: ([^:\n]{1,64}))?: ((?s:.+))")
_REVOKES = re.compile(
    r"\byou(?: (?:may|can|could|are (?:allowed|free) to)|'re (?:allowed|free) to)\b.*"
    r"\b(?:now|again|after all)\b|\bnow you (?:may|can)\b"
    r"|\bno longer (?:need(?:ed)?|necessary|required|appl(?:y|ies)|holds?|have to|must)\b"
    r"|\b(?:(?:don't|do not) (?:have|need) to|needn't|need not)\b.*\b(?:any ?more|any longer)\b"
    r"|\b(?:forget|ignore|disregard|drop|cancel|lift|revoke|scrap)\b.{0,40}"
    r"\b(?:rules?|instructions?|restrictions?|limits?|i (?:said|told|asked|wanted))\b"
    r"|\bdarfst\b.*\b(?:jetzt|nun|wieder)\b|\bnicht mehr (?:nötig|gelten)\b|\bgilt nicht mehr\b"
    r"|\b(?:musst|brauchst)\b.*\bnicht mehr\b|\bvergiss\b.*\b(?:regel|gesagt)"
    r"|\b(?:peux|pouvez)\b.*\b(?:maintenant|(?:de|à) nouveau)\b|\bplus (?:besoin|nécessaire)\b"
    r"|\bne s'applique plus\b|\boublie[zr]?\b.*\b(?:règle|j'ai dit)\b"
    r"|\bpuedes?\b.*\b(?:ahora|de nuevo)\b|\bya no (?:hace falta|tienes que|es necesario|se aplica)"
    r"|\bolvida\b.*\b(?:regla|dije)\b|现在可以|不用再|不必再|忘[记掉].*(?:说|规则)|取消.*规则"
    r"|もう.*(?:なくていい|必要はない|必要ありません)|ルール.*忘れて",
    re.IGNORECASE,
)
"""Words that allow again what a rule forbids, or take back what it asks."""

_CUES = [
    word.replace("_", " ")
    for word in re.findall(
        r"\w+",
        "may can could allowed free longer any_more anymore forget ignore disregard drop cancel"
        " lift revoke scrap mehr darfst vergiss peux pouvez plus olvida oublie pued ya_no"
        " 现 不 忘 取 も ル",
    )
]
"""What every sentence contains that `_REVOKES` finds; searching for it is faster."""

_ALL = re.compile(
    r"\b(?:all|any|every|alle|toutes|todas)\b.*\b(?:rules?|instructions?|reg|rè)", re.IGNORECASE
)
_PERMITS = re.compile(
    r"\b(?:may|can|could|allowed|free|darfst|peux|pouvez|puedes?)\b|可以", re.IGNORECASE
)
_OF_A_RULE = re.compile(
    r"\b(?:rules?|instructions?|restrictions?|limits?|said|told|asked|regel|gesagt|règle|dit|regla"
    r"|dije)\b|规则|ルール",
    re.IGNORECASE,
)
"""Words by which a permission without a subject of its own revokes the newest rule."""
_STRICT = re.compile(
    r"\b(?:never|always|only|don't use|do not use|nie|immer|nur|jamais|toujours|nunca|siempre)\b"
    r"|不要|必须|必ず",
    re.IGNORECASE,
)
"""Words that state a rule, also in a sentence that revokes another."""
_INSTEAD = re.compile(
    r"\b(?:instead|rather than|no longer|(?<!from )now|stattdessen|statt|(?<!ab )jetzt|plutôt"
    r"|maintenant|en su lugar|en vez|ahora)\b|改|今は|代わりに",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"(?:(?![\u3040-\u30ff\u3400-\u9fff])[^\W\d_]){2,}|\d+|[\u3040-\u30ff\u3400-\u9fff]"
)
_COMMON = frozenset(
    _WORD.findall(
        "you your may can could are allowed free again now after all need needed longer must have"
        " not don forget ignore disregard drop cancel lift revoke scrap rule rules instruction"
        " instructions restriction limit what said told asked about that this the and for with from"
        " please always never instead rather than any anymore more earlier previous last"
        " darfst jetzt nun wieder nicht mehr musst brauchst vergiss regel gesagt die das der den"
        " tout les des une que vous pouvez maintenant nouveau plus besoin oublie règle"
        " to on it is my me be do an so of at du ab es et le la un en ya no"
        " 现在可以了不要请再用必忘记掉说规则取消的"
        " puedes ahora nuevo hace falta olvida regla los las"
    )
)
_STEM = 5
_LEAST_ALIKE = 0.5


def _revokes(sentence: str) -> bool:
    return _may_revoke(sentence) and _REVOKES.search(sentence) is not None


def _may_revoke(text: str) -> bool:
    return any(map(text.lower().__contains__, _CUES))


def _revoked(newest: list[Rule], sentence: str) -> list[Rule]:
    """Return the rules that `sentence` revokes: the newest of those most like it, or all.

    "You can do that now" permits something, but does not say which rule it lifts.
    """
    about = _stems(sentence)
    if _ALL.search(sentence):
        return [rule for rule in newest if about & _stems(rule.text)] or newest
    if not about and _PERMITS.search(sentence) and not _OF_A_RULE.search(sentence):
        return []
    shared = [len(about & _stems(rule.text)) for rule in newest]
    most = max(shared, default=0)
    return [newest[shared.index(most)]] if newest and 2 * most >= len(about) else []


def _replaced(newest: list[Rule], text: str) -> list[Rule]:
    """Return the rules in whose place the rule `text` says that it stands."""
    new = _stems(text)
    return [
        old
        for old in newest
        if (shared := len(new & (known := _stems(old.text))))
        and shared >= _LEAST_ALIKE * len(new | known)
    ]


@lru_cache(_MOST_COMPARED)
def _stems(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)
