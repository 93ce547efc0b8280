"""Damage documents and read them: ``python -m benchmarks.fuzz_agent_context --documents 100000``.

For any input, the decoder must return a context that survives a round trip, or raise an error of
polycontext.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from attrs import frozen

from benchmarks.agent_context import document
from polycontext.agent_context import deserialize, serialize
from polycontext.base import PolycontextError

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, -0.0, 2**63, -(2**63) - 1, 10**400, 1e308, "", "\x00", "é",
    "\U0001f600", "NaN", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999-23:59", [], {}, [[]], [None], {"": 1}, {"extras": {}}, {"self": 1},
    {"version": 2},
)  # fmt: skip
TOKENS = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\ud800",
    b"\xff",
    b"\x00",
    b"NaN",
    b"1e999",
    b"-",
    b"[" * 300,
    b'"version":"9.0.0",',
)


@frozen
class FuzzReport:
    """The number of documents read, the refusals by error type, and the documents that crashed."""

    read: int
    refused: Mapping[str, int]
    crashes: tuple[tuple[bytes, str], ...]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container in a document with each of its keys or indices."""
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _replace(random: Random, data: Any) -> None:
    container, key = random.choice(_places(data))
    container[key] = random.choice(STRANGE)


def _remove(random: Random, data: Any) -> None:
    container, key = random.choice(_places(data))
    del container[key]


def _rename(random: Random, data: Any) -> None:
    container, key = random.choice(_places(data))
    if isinstance(container, dict):
        container[key[:-1] + random.choice(["", "_", "x", "\ud83d", "from"])] = container.pop(key)


def _graft(random: Random, data: Any) -> None:
    (container, key), (other, origin) = random.choices(_places(data), k=2)
    container[key] = json.loads(json.dumps(other[origin]))


def _bytes(random: Random, raw: bytes) -> bytes:
    at = random.randrange(len(raw))
    match random.randrange(4):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + random.choice(TOKENS) + raw[at:]
        case 2:
            return raw[:at] + bytes([raw[at] ^ (1 << random.randrange(8))]) + raw[at + 1 :]
        case _:
            end = random.randrange(at, min(len(raw), at + 200))
            return raw[:at] + raw[end:] + raw[at:end]


STRUCTURAL: tuple[Callable[[Random, Any], None], ...] = (_replace, _remove, _rename, _graft)


def mutated(random: Random, seeds: tuple[bytes, ...]) -> bytes:
    """Return a document with one to three faults, in its structure or in its bytes."""
    data = json.loads(random.choice(seeds))
    # Most damage is structural, because damaged bytes mostly fail to parse.
    if random.random() < 0.7:  # noqa: PLR2004
        for _ in range(random.randint(1, 3)):
            if data:
                random.choice(STRUCTURAL)(random, data)
        return json.dumps(data).encode()
    return _bytes(random, json.dumps(data).encode())


def _seeds() -> tuple[bytes, ...]:
    """Return small documents to damage: an empty one, and one per namespace with short arrays."""
    whole = json.loads(json.dumps(document(1)))
    small = {name: _shortened(value) for name, value in whole.items()}
    return (
        b'{"version":"1.0.0","llm":{}}',
        *(
            json.dumps({"version": "1.0.0", name: value}).encode()
            for name, value in small.items()
            if name != "version"
        ),
    )


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in list(value.items())[:8]}
    return (
        [_shortened(item) for item in value[:1]]
        if isinstance(value, list)
        else value[:40]
        if isinstance(value, str)
        else value
    )


def fuzz(documents: int, *, seed: int) -> FuzzReport:
    """Read that many damaged documents."""
    random = Random(seed)  # noqa: S311  damage must be repeatable, not secret
    seeds = _seeds()
    refused: Counter[str] = Counter()
    crashes: list[tuple[bytes, str]] = []
    for _ in range(documents):
        raw = mutated(random, seeds)
        try:
            context = deserialize(raw)
            if deserialize(serialize(context)) != context:
                crashes.append((raw, "did not come back the same"))
        except PolycontextError as error:
            refused[type(error).__name__] += 1
        except BaseException as error:  # noqa: BLE001  any other exception is a crash
            crashes.append((raw, repr(error)))
    return FuzzReport(documents - refused.total() - len(crashes), refused, tuple(crashes))


def main(arguments: list[str]) -> int:
    """Fuzz and print the report; return 1 if any document crashed the decoder."""
    parser = argparse.ArgumentParser(description="Damage AgentContext documents and read them.")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    report = fuzz(options.documents, seed=options.seed)
    print(
        f"{options.documents:,} documents: {report.read:,} read, {dict(report.refused)} refused, "
        f"{len(report.crashes)} crashes"
    )
    for raw, problem in report.crashes[:10]:
        print(problem, raw[:2000])
    return 1 if report.crashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
