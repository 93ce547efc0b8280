"""The rules of a session: standing instructions, found in user turns or added by a caller.

See docs/rules.md.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Unpack

from polycontext.base import guided, require
from polycontext.base.effects import Steps, procedure, twin
from polycontext.linearity import ResourceClass
from polycontext.linearity.classification import RuleKind
from polycontext.window import Role, Turn
from polycontext.window.rules import REMOVALS, RULE, Rule, revoked_ids

from ..inputs import ContextOutput
from ..journal.events import Event, TurnEvent
from .commands import Add, Patch, WriteOptions
from .writer import SessionPart

_SAID = "This no longer applies: {}"
_KINDS = tuple(kind.value for kind in RuleKind)


@guided
class Rules(SessionPart):
    """The rules of the user since the last `clear`, in the order in which they were stated."""

    def list(self, *, ended: bool = False) -> tuple[Rule, ...]:
        """Return the rules that stand; with `ended`, also those replaced, revoked or removed.

        Takes time linear in the turns that were added since the last call.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Plan a trip. Never suggest a flight.")
        >>> [(rule.id, rule.text) for rule in session.rules.list()]
        [('t1:1', 'Never suggest a flight.')]
        """
        rules = self._session.window.rules
        return rules.all if ended else rules.standing

    @procedure
    def add(
        self,
        text: str,
        *,
        kind: str = RuleKind.INSTRUCTION.value,
        scope: str = "",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Add a rule in the user's name, as one user turn that says nothing else.

        Args:
            text: the rule; it is never cut.
            kind: "instruction", or "preference", which comes after all instructions.
            scope: when the rule applies, such as "for this session". It precedes the text.
            when: as in `ContextSession.add`.

        Raises:
            InvalidOptionError: an argument has the wrong type or value.
            ContextOverflowError: rules, system turns and the latest question exceed the budget.
            Any other error that `ContextSession.add` raises for a user turn.
        """
        is_text = isinstance(text, str) and bool(text.strip())
        require("text", text, is_text, "a text that is not blank")
        require("kind", kind, kind in _KINDS, " or ".join(map(repr, _KINDS)))
        require("scope", scope, isinstance(scope, str), "a text")
        said = f"{scope.strip()}: {text}" if scope.strip() else text
        command = self._build_add(said, {"kind": kind, "scope": scope.strip()})
        return self._session._write(command, **when)

    aadd = twin(add)

    @procedure
    def revoke(self, rule_id: str, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Revoke a rule in the user's name: one user turn tells the model that it has ended.

        Raises:
            InvalidOptionError: no rule with this id stands.
            Any error that `ContextSession.add` raises for a user turn.
        """

        def build() -> Add:
            text = " ".join(self._find(rule_id).text.split())
            return self._build_add(_SAID.format(text), {"revokes": [rule_id]})

        return self._session._write(build, **when)

    arevoke = twin(revoke)

    @procedure
    def remove(self, rule_id: str, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """End a rule that was found by mistake; the view stays the same.

        Raises:
            InvalidOptionError: no rule with this id stands.
        """

        def build() -> Patch:
            self._find(rule_id)
            add = [{"op": "add", "path": "", "value": {}}]
            path = rule_id.replace("~", "~0").replace("/", "~1")
            mark = [{"op": "add", "path": f"/{path}", "value": True}]
            return Patch(REMOVALS, lambda known: mark if known else [*add, *mark])

        return self._session._write(build, **when)

    aremove = twin(remove)

    def _find(self, rule_id: str) -> Rule:
        standing = {rule.id: rule for rule in self.list()}
        ids = ", ".join(standing) or "there is none"
        fits = isinstance(rule_id, str) and rule_id in standing
        require("rule_id", rule_id, fits, f"the id of a rule that stands: {ids}")
        return standing[rule_id]

    def _build_add(self, text: str, mark: Mapping[str, Any]) -> Add:
        turn = Turn(Role.USER, text, metadata={RULE: mark}, timestamp=self._session._now())
        return Add(turn, ResourceClass.REQUIRED, oversize="error")


def endings_of(ids: Collection[str], events: Iterable[Event]) -> set[str]:
    """Return the ids of the turns that a caller added to revoke rules of the turns `ids`.

    They quote the rules.
    """
    return {
        event.turn.resource_id
        for event in events
        if isinstance(event, TurnEvent)
        for rule_id in revoked_ids(event.turn)
        if rule_id.rpartition(":")[0] in ids
    }
