"""The registry agrees with plain dicts after every action, and old versions never change."""

import copy
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from polycontext.base.json_data import thaw
from polycontext.nodes import SessionIdRegistry, format_entity_context, get_entity_context
from polycontext.nodes.entities.names import RefRefusedError
from polycontext.nodes.entities.presentation import EntityMode
from polycontext.nodes.entities.records import UnknownRefError

KINDS = {"recipes": "recipe", "dishes": "dish", "stock": "stock"}
KIND = st.sampled_from(sorted(KINDS))
ROW = st.integers(1, 4).map(lambda number: f"row-{number:08}")
LABEL = st.sampled_from(["", "Soup", "of row-00000001", "# Task"])
DATA = st.none() | st.fixed_dictionaries(
    {"n": st.integers(0, 9)}, optional={"id": ROW, "uses": st.lists(ROW, max_size=2)}
)
REFS = [
    f"{prefix}{name}_{number}"
    for name in KINDS.values()
    for prefix in ("", "gen_")
    for number in range(1, 5)
]
REASON = st.sampled_from(["why not", "see row-00000002"])

Thing = dict[str, Any]


class RegistryAgainstDicts(RuleBasedStateMachine):
    """Act on living, removed and unknown refs, and keep dicts in step."""

    @initialize()
    def start(self) -> None:
        """Begin with nothing."""
        self.registry = SessionIdRegistry()
        self.things: dict[str, Thing] = {}
        self.dead: dict[str, Thing] = {}
        self.aliases: dict[str, str] = {}
        self.counters: dict[str, int] = {}
        self.rows: set[str] = set()
        self.turn = 1
        self.versions: list[tuple[SessionIdRegistry, SessionIdRegistry]] = []

    # --- the model's own little steps

    def minted(self, prefix: str) -> str:
        """Return the next ref of a prefix."""
        self.counters[prefix] = self.counters.get(prefix, 0) + 1
        return f"{prefix}_{self.counters[prefix]}"

    def found(self, kind: str, row: str) -> str | None:
        """Return the ref of a live row."""
        return next(
            (
                ref
                for ref, thing in self.things.items()
                if (thing["kind"], thing["row"]) == (kind, row)
            ),
            None,
        )

    def current(self, ref: str) -> str:
        """Return the ref that an entity goes by now."""
        return self.aliases.get(ref, ref)

    def report(self, ref: str, status: str | None, label: str, data: Thing | None) -> None:
        """Bring a thing up to date."""
        thing = self.things[ref]
        thing.update(
            last=self.turn,
            demoted=False,
            status=status or thing["status"],
            label=label or thing["label"],
        )
        thing["data"] = thing["data"] if data is None else data

    def admit(
        self,
        prefix: str,
        kind: str,
        row: str | None,
        *,
        status: str,
        label: str,
        data: Thing | None,
    ) -> str:
        """Add a thing."""
        ref, name = self.minted(prefix), KINDS[kind]
        thing = {"kind": kind, "row": row, "label": label or name, "status": status, "data": data}
        self.things[ref] = thing | {
            "created": self.turn,
            "last": self.turn,
            "reason": None,
            "demoted": False,
        }
        return ref

    def see(self, kind: str, row: str, status: str, label: str, data: Thing | None) -> str:
        """Add a row, or bring it up to date."""
        self.rows.add(row)
        ref = self.found(kind, row)
        if ref is None:
            return self.admit(KINDS[kind], kind, row, status=status, label=label, data=data)
        self.report(ref, None if status == "linked" else status, label, data)
        return ref

    def remove(self, ref: str, reason: str, status: str | None = None) -> None:
        """Take a thing out."""
        thing = self.things.pop(ref)
        self.dead[ref] = {
            "removed": self.turn,
            "reason": reason,
            "status": status or thing["status"],
        }

    # --- actions

    @rule()
    def next_turn(self) -> None:
        """Time goes on."""
        self.turn += 1

    @rule(
        verb=st.sampled_from(["read", "create", "link"]), kind=KIND, row=ROW, label=LABEL, data=DATA
    )
    def see_a_row(self, verb: str, kind: str, row: str, label: str, data: Thing | None) -> None:
        """Read, create or link: a known row keeps its ref."""
        status = {"read": "read", "create": "created", "link": "linked"}[verb]
        expected = self.see(kind, row, status, label, data)
        self.registry, ref = getattr(self.registry, verb)(
            kind, row, label, turn=self.turn, data=data
        )
        assert ref == expected

    @rule(kind=KIND, label=LABEL, data=DATA)
    def generate(self, kind: str, label: str, data: Thing | None) -> None:
        """Generate: always a ref of its own."""
        expected = self.admit(
            f"gen_{KINDS[kind]}", kind, None, status="generated", label=label, data=data
        )
        self.registry, ref = self.registry.generate(kind, label, turn=self.turn, data=data)
        assert ref == expected

    @rule(ref=st.sampled_from(REFS), row=ROW, label=LABEL, data=DATA)
    def save(self, ref: str, row: str, label: str, data: Thing | None) -> None:
        """Save: only what lives, under another id only what is generated."""
        current = self.current(ref)
        thing = self.things.get(current)
        if thing is None or thing["row"] not in {None, row}:
            with pytest.raises(UnknownRefError if thing is None else RefRefusedError):
                self.registry.save(ref, row, label, turn=self.turn, data=data)
            return
        expected = current
        if thing["row"] is None:
            del self.things[current]
            expected = self.see(
                thing["kind"],
                row,
                "created",
                label or thing["label"],
                thing["data"] if data is None else data,
            )
            self.aliases[current] = expected
            new = self.things[expected]
            new["created"] = min(new["created"], thing["created"])
            new["reason"] = new["reason"] or thing["reason"]
        else:
            self.report(current, "created", label, data)
        self.registry, saved = self.registry.save(ref, row, label, turn=self.turn, data=data)
        assert saved == expected

    @rule(
        ref=st.sampled_from(REFS), verb=st.sampled_from(["touch", "update"]), label=LABEL, data=DATA
    )
    def reference(self, ref: str, verb: str, label: str, data: Thing | None) -> None:
        """Touch or update: only what lives; the generated stays so."""
        more = {} if verb == "touch" else {"label": label, "data": data}
        act = getattr(self.registry, verb)
        current = self.current(ref)
        if current not in self.things:
            with pytest.raises(UnknownRefError):
                act(ref, turn=self.turn, **more)
            return
        updated = verb == "update" and self.things[current]["row"] is not None
        self.report(
            current,
            "updated" if updated else None,
            more.get("label") or "",  # type: ignore[arg-type]
            more.get("data"),  # type: ignore[arg-type]
        )
        self.registry = act(ref, turn=self.turn, **more)

    @rule(
        ref=st.sampled_from(REFS),
        verb=st.sampled_from(["retain", "demote", "drop", "delete"]),
        reason=REASON,
    )
    def decide(self, ref: str, verb: str, reason: str) -> None:
        """Retain, demote, drop or delete a ref; only a saved one can be demoted or deleted."""
        given: tuple[Any, ...] = () if verb == "demote" else (reason,)
        turn = {"turn": self.turn} if verb in {"drop", "delete"} else {}
        act = partial(getattr(self.registry, verb), ref, *given, **turn)
        current = self.current(ref)
        thing = self.things.get(current)
        if thing is None or (thing["row"] is None and verb in {"demote", "delete"}):
            with pytest.raises(UnknownRefError if thing is None else RefRefusedError):
                act()
            return
        if verb in {"drop", "delete"}:
            self.remove(current, reason, "deleted" if verb == "delete" else None)
        else:
            thing.update(
                {"reason": reason} if verb == "retain" else {"reason": None, "demoted": True}
            )
        self.registry = act()

    @precondition(lambda self: len(self.things) > 2)
    @rule(include_generated=st.booleans())
    def clear_all(self, include_generated: bool) -> None:
        """Clear: what is not saved goes only if that is said."""
        for ref in [ref for ref, thing in self.things.items() if thing["row"] or include_generated]:
            self.remove(ref, "cleared")
        self.registry = self.registry.clear_all(turn=self.turn, include_generated=include_generated)

    @rule()
    def keep_a_version(self) -> None:
        """Remember a version with all that it holds."""
        self.versions.append((self.registry, copy.deepcopy(self.registry)))

    # --- what must hold

    def texts(self) -> str:
        """Return what all modes print."""
        ctx = get_entity_context(self.registry, self.turn)
        return "\n".join(format_entity_context(ctx, mode) for mode in EntityMode)

    @invariant()
    def both_know_the_same(self) -> None:
        """Refs, all that is known of each, tombstones."""
        assert list(self.registry) == list(self.things)
        for ref, thing in self.things.items():
            known = self.registry.get(ref)
            assert (known.ref, known.type, known.label, known.status) == (
                ref,
                thing["kind"],
                thing["label"],
                thing["status"],
            )
            assert (known.turn_created, known.turn_last_ref) == (thing["created"], thing["last"])
            assert known.retention_reason == thing["reason"]
            assert (None if known.data is None else thaw(known.data)) == thing["data"]
            assert thing["row"] is None or self.registry.id_of(ref) == thing["row"]
        stones = {
            stone.ref: {
                "removed": stone.turn_removed,
                "reason": stone.reason,
                "status": stone.status,
            }
            for stone in self.registry.tombstones
        }
        assert stones == self.dead

    @invariant()
    def old_refs_lead_to_the_new(self) -> None:
        """Find a saved entity by both its refs; no ref both lives and is dead."""
        for alias, ref in self.aliases.items():
            assert (alias in self.registry) is (ref in self.things)
            assert alias not in self.things
        assert not set(self.things) & set(self.dead)

    @invariant()
    def tiers_follow_from_age_reason_and_being_saved(self) -> None:
        """Every entity is in the one tier it belongs to, or in none."""
        ctx = get_entity_context(self.registry, self.turn)
        tiers: dict[str, list[str]] = {"active": [], "generated": [], "retained": [], "none": []}
        for ref, thing in self.things.items():
            recent = thing["last"] >= self.turn - 2 and not thing["demoted"]
            tiers[
                "generated"
                if thing["row"] is None
                else "active"
                if recent
                else "retained"
                if thing["reason"]
                else "none"
            ].append(ref)
        shown = {"active": ctx.active, "generated": ctx.generated, "retained": ctx.retained}
        assert {name: [each.ref for each in tier] for name, tier in shown.items()} == {
            name: tiers[name] for name in shown
        }
        assert [stone.ref for stone in ctx.tombstones] == [
            ref for ref, gone in self.dead.items() if gone["removed"] >= self.turn - 2
        ]

    @invariant()
    def no_format_shows_an_id(self) -> None:
        """No format prints an id that was ever registered."""
        texts = self.texts()
        assert not [row for row in self.rows if row in texts]

    def teardown(self) -> None:
        """No later action shows in an earlier version."""
        for registry, stored in getattr(self, "versions", []):
            assert registry == stored


TestRegistryAgainstDicts = RegistryAgainstDicts.TestCase
