"""The figures of a run: what came in, what went out, what was kept of each class."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Self

from attrs import define, field, fields_dict

from polycontext.linearity import ResourceClass
from polycontext.polynomial import Projection

FATES = ("kept", "summarised", "dropped")


@define
class Figures:
    """The sums over many rows; adding is associative, so that pieces are summed in any grouping.

    `classes` counts messages by class and fate, such as ``("PRESERVED", "kept")``. A rule is kept
    if it stands verbatim in the shortened messages. `reasons` counts rejected rows by error.
    """

    rows: int = 0
    shortened: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    rules: int = 0
    rules_kept: int = 0
    classes: Counter[tuple[str, str]] = field(factory=Counter[tuple[str, str]])
    reasons: Counter[str] = field(factory=Counter[str])

    @property
    def rejected(self) -> int:
        """Return the number of rejected rows."""
        return self.reasons.total()

    def count(self, projection: Projection) -> None:
        """Add a shortened row."""
        self.rows += 1
        self.shortened += projection.changed
        self.tokens_before += projection.tokens_before
        self.tokens_after += projection.tokens_after
        found = zip(FATES, (projection.kept, projection.gisted, projection.dropped), strict=True)
        self.classes.update(
            (projection.classes[each].name, fate)
            for fate, ids in found
            for each in ids
            if each in projection.classes
        )
        if projection.rules:
            self.rules += len(projection.rules)
            view = "\n".join(_one_line(text) for text in _texts(projection.messages))
            self.rules_kept += sum(_one_line(rule) in view for rule in projection.rules)

    def reject(self, error: str) -> None:
        """Add a rejected row."""
        self.rows += 1
        self.reasons[error] += 1

    def add(self, other: "Figures") -> None:
        """Add the figures of further rows."""
        for name in fields_dict(Figures):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        kinds = [each.name for each in reversed(ResourceClass)]
        return {
            "rows": self.rows,
            "shortened": self.shortened,
            "rejected": dict(sorted(self.reasons.items())),
            "tokens": {"in": self.tokens_before, "out": self.tokens_after},
            "messages": {
                kind: {fate: self.classes[kind, fate] for fate in FATES} for kind in kinds
            },
            "rules": {"stated": self.rules, "kept": self.rules_kept},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the figures that `as_json` returned."""
        return cls(
            rows=data["rows"],
            shortened=data["shortened"],
            tokens_before=data["tokens"]["in"],
            tokens_after=data["tokens"]["out"],
            rules=data["rules"]["stated"],
            rules_kept=data["rules"]["kept"],
            classes=Counter(
                {
                    (kind, fate): count
                    for kind, fates in data["messages"].items()
                    for fate, count in fates.items()
                }
            ),
            reasons=Counter(data["rejected"]),
        )


def _texts(value: object) -> Iterator[str]:
    """Yield every text in JSON data."""
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            pass


def _one_line(text: str) -> str:
    return " ".join(text.split())
