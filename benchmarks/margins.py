"""Measure what the tokenizers of open models count where o200k_base counts one token.

Texts are recordings, this project's code and pages, prose in many languages, the message catalogues
of Sphinx (with ``--group docs``), and generated numbers. A share is what the family's own tokenizer
counts, divided by the bound that a session counts with: above 1, the margin is too small.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from benchmarks.retention.recordings import DATA
from polycontext.base import require_extra
from polycontext.window import default_counter
from polycontext.window.tokenizer_families import families, measured_vocabularies
from polycontext.window.tokens.open_vocabulary import OpenVocabulary
from tests.window.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
LEAST, MOST = 100, 200_000
"""Characters of one text; a shorter one says nothing."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield each kind of text with its name."""
    yield "code", _joined(ROOT.glob("window/**/*.py"))
    yield "pages", _joined(ROOT.glob("docs/*.md"))
    chance = random.Random(1)  # noqa: S311 - no secrets
    yield (
        "numbers",
        "\n".join(",".join(f"{chance.uniform(0, 1e6):.2f}" for _ in range(8)) for _ in range(500)),
    )
    yield "identifiers", "\n".join(f"{chance.getrandbits(128):032x}" for _ in range(500))
    yield from LANGUAGES.items()
    for name in ("tau_airline_gpt4o", "swebench_mini", "qmsum", "bfcl_memory"):
        place = DATA / f"{name}.jsonl"
        if place.exists():
            yield name, _conversation(place)
    spec = find_spec("sphinx")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for place in sorted(Path(folder).glob("locale/*/LC_MESSAGES/sphinx.mo")):
            with place.open("rb") as file:
                said = import_module("babel.messages.mofile").read_mo(file)
            yield f"language {place.parts[-3]}", "\n".join(str(each.string) for each in said)


def _joined(places: Iterator[Path]) -> str:
    return "".join(place.read_text(encoding="utf-8") for place in sorted(places))[:MOST]


def _conversation(place: Path) -> str:
    with place.open(encoding="utf-8") as lines:
        conversations = [json.loads(line) for line in islice(lines, 20)]
    said = (str(message.get("content")) for each in conversations for message in each["messages"])
    return "\n".join(said)[:MOST]


def measured(found: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield each vocabulary with the used share of its family's bound for each text."""
    counted = {name: default_counter().count(text) for name, text in found}
    for family, vocabulary in measured_vocabularies():
        own, margins = OpenVocabulary(vocabulary), families()[family]
        yield (
            f"{family} ({vocabulary})",
            {name: own.count(text) / margins.bound(text, counted[name]) for name, text in found},
        )


def main(arguments: Sequence[str]) -> int:
    """Print the shares; return 1 if a margin is too small."""
    argparse.ArgumentParser(prog="just bench margins", description=__doc__).parse_args(arguments)
    require_extra("splintr", extra="tokenizers", purpose="measuring margins")
    found = [each for each in texts() if len(each[1]) > LEAST]
    short = False
    for name, shares in measured(found):
        most = sorted(shares, key=shares.__getitem__, reverse=True)
        short |= shares[most[0]] > 1
        print(f"{name:<24}", *(f"{kind} {shares[kind]:.2f}" for kind in (*most[:3], most[-1])))
    print(f"{len(found)} texts; share of the bound: the three highest and the lowest")
    return int(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
