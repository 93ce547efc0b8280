"""The ledger of rules: what the user wants to hold, with its turn, and what ended it.

The ledger is a fold over the user's turns. Nothing of it is stored beside them: rewinding, forking
and importing a conversation carry its rules, and erasing a turn erases its rules. Only a user turn
states, replaces or revokes a rule. Code, pasted text, quotations and attachments do not.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from polycontext.base import Column
from polycontext.linearity.classification import RuleKind, find_rules, sentences, unquoted

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
    """Return whether `turn` was written to add or to revoke rules, and says nothing else."""
    return isinstance(turn.metadata.get(RULE), Mapping)


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
        rules = {rule.id: rule for rule in self._found}
        for turn in self._unread:
            _read(rules, turn)
        return tuple(rules.values())

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


def _read(rules: dict[str, Rule], turn: Turn) -> None:
    """Add the rules that `turn` states to `rules`, and end those that it replaces or revokes."""
    match turn.metadata.get(RULE):
        case {"revokes": ids}:
            _end(rules, ids, turn)
            return
        case {"kind": kind, "scope": scope}:
            _add(rules, turn, turn.text, kind, scope)
            return
    if turn.is_gist:
        _read_summary(rules, turn)
    else:
        _read_text(rules, turn, turn.text)


def _read_text(rules: dict[str, Rule], turn: Turn, text: str) -> None:
    for sentence in sentences(text) if rules else ():
        if len(sentence) <= _LONGEST and _REVOKES.search(unquoted(sentence)):
            _end(rules, _revoked(rules.values(), unquoted(sentence)), turn)
    for found in find_rules(text):
        said = unquoted(found.text)
        if _STRICT.search(said) or not _REVOKES.search(said):
            _end(rules, _replaced(rules.values(), found.text), turn)
            _add(rules, turn, found.text, found.kind.value, found.scope)


def _read_summary(rules: dict[str, Rule], gist: Turn) -> None:
    """Read the user's lines of a summary; those under the title of rules are rules as they are.

    The summary stands for turns that are not here. If it was made here, its other lines quote turns
    that were read before they expired.
    """
    listed = False
    for line in _LINE.findall(gist.text):
        said = _USER_LINE.fullmatch(line)
        if said is None:
            listed = line == RULES_TITLE or (listed and not line.endswith(":"))
        elif listed:
            text = said[2].replace("\n ", "\n")
            _add(rules, evolve(gist, name=said[1] or None), text, RuleKind.INSTRUCTION.value, "")
        elif not gist.sources:
            _read_text(rules, gist, said[2])


def _add(rules: dict[str, Rule], turn: Turn, text: str, kind: str, scope: str) -> None:
    if not any(rule.stands and _letters(rule.text) == _letters(text) for rule in rules.values()):
        number = 1 + sum(rule.turn_id == turn.resource_id for rule in rules.values())
        rule_id = f"{turn.resource_id}:{number}"
        rules[rule_id] = Rule(rule_id, text, turn.resource_id, turn.name or "", kind, scope)


def _end(rules: dict[str, Rule], ids: Iterable[str], turn: Turn) -> None:
    for each in [*ids]:
        if each in rules and rules[each].stands:
            rules[each] = evolve(rules[each], ended_by=turn.resource_id)


# --- what a sentence replaces or revokes ------------------------------------------------

_LONGEST = 400
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

_ALL = re.compile(
    r"\b(?:all|any|every|alle|toutes|todas)\b.*\b(?:rules?|instructions?|reg|rè)", re.IGNORECASE
)
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


def _revoked(rules: Iterable[Rule], sentence: str) -> Iterator[str]:
    """Yield the ids of the standing rules that `sentence` revokes: the one most like it, or all."""
    standing = [rule for rule in rules if rule.stands]
    if _ALL.search(sentence):
        yield from (rule.id for rule in standing)
        return
    about = _stems(sentence)
    shared = [len(about & _stems(rule.text)) for rule in standing]
    if standing and (most := max(shared)) * 2 >= len(about):
        yield next(r.id for r, n in zip(standing[::-1], shared[::-1], strict=True) if n == most)


def _replaced(rules: Iterable[Rule], rule: str) -> Iterator[str]:
    """Yield the ids of the standing rules in whose place `rule` says that it stands."""
    new = _stems(rule)
    if _INSTEAD.search(rule):
        for old in rules:
            shared, either = len(new & (known := _stems(old.text))), len(new | known)
            if old.stands and shared and shared >= _LEAST_ALIKE * either:
                yield old.id


def _stems(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
