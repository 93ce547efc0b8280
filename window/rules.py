"""The ledger of rules: the standing instructions of the user, and what ended them.

The ledger is a fold over the user's turns. Nothing of it is stored beside them: rewinding, forking
and importing a conversation carry its rules, and erasing a turn erases its rules. Only a user turn
states, replaces or revokes a rule. Code, pasted text, quotations and attachments do not.
"""

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import islice

from attrs import evolve, field, frozen

from polycontext.base import Column
from polycontext.linearity.classification import FoundRule, RuleKind, find_rules
from polycontext.linearity.classification.endings import Effect, ending_of, subjects_of
from polycontext.linearity.classification.prose import (
    one_line,
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

LATER = "(later)"
"""Stands behind the speaker of a rule that may end one that is listed after it."""

REMOVED = "removed"
"""Stands in `Rule.ended_by` and `Rule.ended_how` for a rule that was removed without a turn."""


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
    id of the turn that replaced or revoked it, or "" as long as it stands, and `ended_how` is
    "replaced", "revoked" or "removed". `later_than` is the id of an earlier rule that it may end:
    it is not sure, so both stand.
    """

    id: str
    text: str
    turn_id: str
    author: str = ""
    kind: str = RuleKind.INSTRUCTION.value
    scope: str = ""
    ended_by: str = ""
    ended_how: str = ""
    later_than: str = ""

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
                evolve(rule, ended_by=REMOVED, ended_how=REMOVED)
                if rule.stands and rule.id in ids
                else rule
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
            ended = [self.rules[each] for each in revoked if each in self.rules]
            self._end(ended, turn, "revoked")
            return
        match turn.metadata.get(RULE):
            case {"kind": str(kind), "scope": str(scope)}:
                self._add(turn, 1, turn.text, kind, scope)
            case _ if turn.is_gist:
                self._read_summary(turn)
            case _:
                self._read_text(turn, turn.text)

    def _read_text(self, turn: Turn, text: str) -> None:
        # People end a rule in a few words; in a long text, such as a task, they speak of others.
        ends = bool(self._standing) and _is_short(text)
        known = [*self._standing.values()][: -_MOST_COMPARED - 1 : -1] if ends else []
        before, number = [rule for rule in known if not _is_guess(rule)], 0
        for said, found in _statements(text, with_others=ends):
            rules = _about(said, before) if ends else []
            effect, older = self._apply(said, rules, turn, states=found is not None)
            if effect in (Effect.REPLACES, Effect.MAY_END) or (found and effect is Effect.KEEPS):
                number += 1
                kind = found.kind if found else RuleKind.INSTRUCTION
                self._drop_guesses(older)
                added = self._add(turn, number, said, kind.value, found.scope if found else "")
                if older:
                    self._mark_later([added], older)

    def _apply(
        self, sentence: str, rules: list[Rule], turn: Turn, *, states: bool
    ) -> tuple[Effect, str]:
        """End the rules that `sentence` ends; return what it does, and the rule that it may end."""
        if revoked := self._revoked(sentence, rules):
            self._end(revoked, turn, "revoked")
            return Effect.ENDS, ""
        ended = ending_of([rule.text for rule in rules], sentence, states=states)
        if ended is None:
            return Effect.KEEPS, ""
        place, effect = ended
        # What states a rule in nearly the same words takes its place.
        if states and _is_alike(rules[place].text, sentence):
            effect = Effect.REPLACES
        if effect is Effect.MAY_END:
            return effect, rules[place].id
        self._end([rules[place]], turn, "revoked" if effect is Effect.ENDS else "replaced")
        return effect, ""

    def _revoked(self, sentence: str, about: list[Rule]) -> list[Rule]:
        """Return the rules that a sentence calls rules and takes back.

        They are those that it is about; or all of them, or the newest, if it is about nothing else.
        """
        said = unquoted(sentence) if len(sentence) <= _LONGEST else ""
        if not self._standing or not _DROPS.search(said) or _SPEAKS_OF.search(said):
            return []
        if _ALL.search(said):
            return about or [*self._standing.values()]
        subjects = subjects_of(said)
        if not subjects:
            return [*self._standing.values()][-1:]
        return [
            rule for rule in about if 2 * len(subjects & subjects_of(rule.text)) >= len(subjects)
        ]

    def _read_summary(self, gist: Turn) -> None:
        """Read the user's lines of a summary; those under the title of rules are rules as they are.

        The summary stands for turns that are not here. If it was made here, its other lines quote
        turns that were read before they expired.
        """
        listed, later = False, list[str]()
        for number, line in enumerate(_LINE.findall(gist.text)):
            said = _USER_LINE.fullmatch(line)
            if said is None:
                listed = line == RULES_TITLE or (listed and not line.endswith(":"))
            elif listed:
                text, speaker = said[3].replace("\n ", "\n"), evolve(gist, name=said[1] or None)
                added = self._add(speaker, number, text, RuleKind.INSTRUCTION.value, "")
                if said[2]:
                    later.append(added)
                else:
                    self._mark_later(reversed(later), added)
                    later = []
            elif not gist.sources:
                self._read_text(gist, said[3])

    def _add(self, turn: Turn, number: int, text: str, kind: str, scope: str) -> str:
        """Add a rule, unless it stands already, and return its id."""
        wording = wording_of(text)
        if wording not in self._standing:
            while (rule_id := f"{turn.resource_id}:{number}") in self.rules:
                number += 1
            rule = Rule(rule_id, text, turn.resource_id, turn.name or "", kind, scope)
            self.rules[rule_id] = self._standing[wording] = rule
        return self._standing[wording].id

    def _mark_later(self, ids: Iterable[str], older: str) -> None:
        """Move the rules `ids` behind all others, as rules that may end the rule `older`."""
        for rule_id in ids:
            if rule_id != older:
                rule = evolve(self.rules.pop(rule_id), later_than=older)
                self.rules[rule_id] = self._standing[wording_of(rule.text)] = rule

    def _drop_guesses(self, older: str) -> None:
        """Drop earlier sentences that may end the rule `older` and state none themselves.

        Only the last one stays: in a long talk about the subject of a rule, most would be none.
        """
        for each in [rule for rule in self.rules.values() if rule.later_than == older]:
            if _is_guess(each):
                del self.rules[each.id], self._standing[wording_of(each.text)]

    def _end(self, rules: Iterable[Rule], turn: Turn, how: str) -> None:
        for rule in rules:
            if self.rules[rule.id].stands:
                self.rules[rule.id] = evolve(rule, ended_by=turn.resource_id, ended_how=how)
                del self._standing[wording_of(rule.text)]


# --- what a sentence says of the rules that stand ---------------------------------------

_LONGEST, _MOST_STATEMENTS, _MOST_COMPARED = 160, 5, 500
"""The longest sentence that ends a rule, in characters, the most sentences of a turn that ends one,
and with how many of the newest rules each is compared."""
_LEAST_ALIKE = 0.7
_LINE = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)
_USER_LINE = re.compile(
    rf"(?:\[[^\]\s]{{1,80}}\] )?user(?: (?!{re.escape(LATER)}:)([^:\n]{{1,64}}?))?"
    rf"( {re.escape(LATER)})?: ((?s:.+))"
)
_DROPS = re.compile(
    r"(?:^|[,;:]\s*|\b(?:please|pls|plz|ok|okay|just|so|and|now|can|may|you|let's)\s+)"
    r"(?:forget|ignore|disregard|drop|cancel|lift|revoke|scrap)\b.{0,20}"
    r"\b(?:rules?|instructions?|restrictions?)\b|\bvergiss\b.*\bregeln?\b"
    r"|\boublie[zr]?\b.*\brègles?\b|\bolvida\b.*\breglas?\b|忘[记掉].*规则|取消.*规则|ルール.*忘れて",
    re.IGNORECASE,
)
"""Words that take back what they call a rule."""
_SPEAKS_OF = re.compile(
    r"\b(?:never|not|don't|dont|didn't|nicht|pas|jamais|no|nunca)\b|不要|ないで"
    r"|^(?!(?:can|could|would|will) you\b).*[?？]\W*$",
    re.IGNORECASE,
)
"""Words of a sentence that takes nothing back: a prohibition, or a question that is no request."""
_ALL = re.compile(r"\b(?:all|any|every|alle|toutes|todas)\b|所有|すべて", re.IGNORECASE)


def _about(sentence: str, rules: list[Rule]) -> list[Rule]:
    """Return the rules that share a subject with `sentence`."""
    about = subjects_of(unquoted(sentence)) if len(sentence) <= _LONGEST else frozenset()
    return [rule for rule in rules if about & subjects_of(rule.text)]


def _is_guess(rule: Rule) -> bool:
    """Return whether a rule stands only because it may end another one."""
    return rule.later_than != "" and rule.stands and not find_rules(rule.text)


def _is_alike(rule: str, sentence: str) -> bool:
    old, new = ({*wording_of(each).split()} for each in (rule, sentence))
    return len(old & new) >= _LEAST_ALIKE * len(old | new)


def _is_short(text: str) -> bool:
    """Return whether a text has few enough sentences to end rules."""
    return len([*islice(sentence_spans(text), _MOST_STATEMENTS + 1)]) <= _MOST_STATEMENTS


def _statements(text: str, *, with_others: bool) -> list[tuple[str, FoundRule | None]]:
    """Return the rules in a text and, if asked for, its other sentences, in order."""
    found = find_rules(text)
    said: list[tuple[int, str, FoundRule | None]] = [(one.start, one.text, one) for one in found]
    for start, end in sentence_spans(text) if with_others else ():
        if not any(one.start < end and start < one.end for one in found):
            said.append((start, one_line(text[start:end]), None))
    return [(words, rule) for _, words, rule in sorted(said, key=lambda each: each[0])]
