"""Regenerate the table of models from genai-prices: names, windows, longest replies, prices.

Usage: python .ci/models.py [--check]    (run `just models`, which brings genai-prices along)

`--check` fails if the committed table is older than 90 days; run it on a schedule, not in a build.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "window" / "model_table.json"
UPDATES = {
    "model_table.json": "just models",
    "tokenizer_families.json": "just bench margins",
    "request_limits.json": "read the pages that it names",
}
"""The dated tables beside it, and how each is updated or measured."""
MOST_DAYS = 90

MAKERS = (
    *(
        "anthropic",
        "openai",
        "google",
        "x-ai",
        "deepseek",
        "mistral",
        "moonshotai",
        "meta",
        "zhipuai",
        "zai",
        "minimax",
    ),
    *("cohere", "perplexity"),
)
"""Providers of their own models; where two serve one name, the first applies."""

HOSTS = ("openrouter", "groq", "cerebras", "fireworks", "together")
"""Hosts of other providers' models.

A plain name gets the smallest of their windows; `groq/qwen3-32b` gets its host's own.
"""

NO_CHAT = re.compile(
    r"embed|tts|whisper|transcri|image|ocr|audio|realtime|guard|moderation|live|rerank|speech"
    r"|orpheus|voxtral|computer-use|voice|banana|omni"
    r"|decider|:|^ft|gpt-3\.5-turbo-instruct"
)
"""Models that cannot hold a conversation, and a host's variants after a colon."""

REPLIES: Sequence[tuple[str, int]] = (
    (r"claude-(2|3-(haiku|opus|sonnet))", 4_096),
    (r"claude-3-5", 8_192),
    (r"claude-opus-4-[01]", 32_000),
    (r"claude-(3-7|\w+-4-[05])", 64_000),
    (r"claude", 128_000),
    (r"gpt-3\.5|gpt-4-(turbo|vision|\d{4})", 4_096),
    (r"gpt-4\.1", 32_768),
    (r"gpt-4o|chatgpt-4o|gpt-5\.3$", 16_384),
    (r"gpt-5-pro", 272_000),
    (r"gpt-[56]", 128_000),
    (r"o1-preview", 32_768),
    (r"o1-mini", 65_536),
    (r"o\d|codex", 100_000),
    (r"gemini-(1|2\.0|pro|flash)", 8_192),
    (r"gemini", 65_536),
    (r"deepseek-chat", 8_192),
)
"""The longest replies, which genai-prices lacks; the first prefix of a name applies.

Read on 2026-11-24: platform.claude.com, models/overview; developers.openai.com, api/docs/models;
ai.google.dev, gemini-api/docs/models; api-docs.deepseek.com, quick_start/pricing.
"""

WINDOWS = {
    "gemini-2.5-pro": 1_048_576,
    "gemini-3-pro-preview": 1_048_576,
    "gemini-3.1-pro-preview": 1_048_576,
}
"""Windows that genai-prices lacks.

Read on 2026-11-24: docs.cloud.google.com, models/gemini/2-5-pro; ai.google.dev,
gemini-api/docs/models.
"""


def reply_of(name: str) -> int:
    """Return the tokens of a model's longest reply, or 0 if it is unknown."""
    return next((reply for pattern, reply in REPLIES if re.match(pattern, name)), 0)


def is_old(table: dict[str, Any], today: date) -> bool:
    """Return whether the table is due for an update."""
    return (today - date.fromisoformat(table["read"])).days > MOST_DAYS


def plain(name: str) -> str:
    """Return a name in the form that `polycontext.window.model_profiles` looks up."""
    short = name.strip().lower().rpartition("/")[2]
    return short.replace(".", "-") if short.startswith("claude") else short


def row(model: Any, window: int, now: datetime) -> list[Any]:
    """Return the row of a model: its window, its longest reply, and its prices if known.

    The longest reply is 0 if it is unknown. Prices are per million tokens: input, output, cache
    read, cache write.
    """
    prices = model.get_prices(now)
    fields = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    money = [getattr(prices, field, None) for field in fields]
    money = [getattr(each, "base", each) for each in money]
    told = [None if each is None else float(each) if each % 1 else int(each) for each in money]
    whole = [
        window,
        reply_of(plain(model.id)),
        *(told if told[0] is not None and told[1] is not None else []),
    ]
    while whole[-1] is None:
        whole.pop()
    return whole


def names_of(model: Any) -> Iterator[str]:
    """Yield the names of a model: its id and its aliases.

    Dated aliases are left out, because they resolve without an entry. Aliases with ``chat`` are
    left out too, because they may name another model.
    """
    yield plain(model.id)
    for clause in getattr(model.match, "or_", [model.match]):
        name = getattr(clause, "equals", None) or getattr(clause, "starts_with", None)
        if (
            name
            and name[-1].isalnum()
            and not re.search(r"chat|:|\d{8}$|\d{4}-\d\d-\d\d$|-20\d\d$", name)
        ):
            yield plain(name)


def rows() -> dict[str, list[Any]]:
    """Return the row of each name: first the makers' models, then those that only hosts serve."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - `--check` does without

    providers = {provider.id: provider for provider in get_snapshot().providers}
    now, found = datetime.now(UTC), dict[str, list[Any]]()
    for maker in MAKERS:
        for model in providers[maker].models:
            window = model.context_window or WINDOWS.get(model.id)
            if (
                window
                and not NO_CHAT.search(model.id)
                and not (maker == "google" and model.id.startswith("claude"))
            ):
                for name in names_of(model):
                    found.setdefault(name, row(model, window, now))
    hosted: dict[str, dict[str, list[Any]]] = {}
    for host in HOSTS:
        for model in providers[host].models:
            name = plain(model.id)
            if model.context_window and not NO_CHAT.search(model.id) and name not in found:
                hosted.setdefault(name, {})[host] = row(model, model.context_window, now)
    for name, served in hosted.items():
        least = min(each[0] for each in served.values())
        # Each host sets its own price, so a plain name has none.
        found[name] = [least, reply_of(name)]
        found |= {f"{host}/{name}": each for host, each in served.items()}
    return {
        name: found[name]
        for name in sorted(found)
        if name.removesuffix("-latest") == name or name.removesuffix("-latest") not in found
    }


def main(arguments: Sequence[str]) -> int:
    """Write the table, or with `--check` report whether it or the table of tokenizers is old."""
    parser = argparse.ArgumentParser(
        description="Write the table of models anew out of genai-prices."
    )
    parser.add_argument(
        "--check", action="store_true", help=f"fail where a table is older than {MOST_DAYS} days"
    )
    if parser.parse_args(arguments).check:
        today, code = datetime.now(UTC).date(), 0
        for name, command in UPDATES.items():
            table = json.loads(TABLE.with_name(name).read_text(encoding="utf-8"))
            old = is_old(table, today)
            due = f", over {MOST_DAYS} days ago: {command}" if old else ""
            print(f"{name} was read on {table['read']}{due}")
            code |= old
        return int(code)
    lines = [
        f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}"
        for name, each in rows().items()
    ]
    head = f'"read":"{datetime.now(UTC).date()}","source":"genai-prices {version("genai-prices")}"'
    TABLE.write_text(f'{{{head},"models":{{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    print(f"{TABLE.name}: {len(lines)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
