"""Drive scripted tool loops through strict providers, and count what went wrong.

Usage: python -m tests.strict.loops --seeds 0-99999 [--jobs N] [--results FILE] [--unbound]

Each loop runs in a session of defaults under a budget of 10 to 60 % of its length, one vendor after the other by its
seed. A run goes on where its results file ends. `--unbound` takes the binding out of our code, to see that it is missed.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any
from unittest.mock import patch

from attrs import define, field

from polycontext import ContextSession
from polycontext.linearity import PolycontextError
from polycontext.nodes.models.strict import RequestRefusedError, StrictAnthropic
from polycontext.nodes.models.strict.chat import StrictChat
from polycontext.nodes.models.strict.responses import StrictResponses
from polycontext.window import REQUEST_OVERHEAD, count_turn, default_counter
from polycontext.window.providers import Rendered, get_format
from tests.strict.script import Script, Step, script_of
from tests.strict.vendors import VENDORS, Vendor

STRICT = {"anthropic": StrictAnthropic, "openai": StrictChat, "openai-responses": StrictResponses}
BATCH = 200


@define
class Found:
    """Hold what a loop came to: how many requests, steps, epochs, and what was wrong, each with its step."""

    seed: int
    vendor: str
    requests: int = 0
    steps: int = 0
    epochs: int = 0
    raised: bool = False
    wrong: list[str] = field(factory=list)


def run_loop(seed: int) -> Found:
    """Drive the loop of `seed`; an error of any kind is among what was wrong."""
    vendor, script = VENDORS[seed % len(VENDORS)], script_of(seed)
    found = Found(seed, vendor.provider)
    budget = _budget(vendor, script, found)
    session = ContextSession(budget)
    script_left = iter(enumerate(script.steps))
    current: list[tuple[int, Step]] = []
    provider = STRICT[vendor.provider](lambda _: vendor.says(current[0][1], current[0][0]))
    session.add_system(script.system)
    session.extend([vendor.user(script.task, 0)], vendor.provider)
    known: tuple[int, list[str]] = (0, [])
    for number, step in script_left:
        current[:] = [(number, step)]
        try:
            known = _step(vendor, provider, session, step, found, known)
        except RequestRefusedError as refusal:
            found.wrong.append(f"refused at step {number}: {refusal}")
            break
        except PolycontextError as error:
            found.wrong.append(f"{type(error).__name__} at step {number}: {error}")
            break
        found.steps += 1
    found.epochs = session.epoch.number
    return found


def _step(
    vendor: Vendor, provider: Any, session: ContextSession, step: Step, found: Found, known: tuple[int, list[str]]
) -> tuple[int, list[str]]:
    rendered = session.request(vendor.provider)
    request = vendor.asks(rendered)
    betas = rendered.options.get("betas", ())
    answer = provider.create(request, **({"betas": betas} if betas else {}))
    found.requests += 1
    if answer.get("input_transformations"):
        found.wrong.append(f"the provider dropped {answer['input_transformations']}")
    if session.window.total_tokens + REQUEST_OVERHEAD > session.window.max_tokens:
        found.wrong.append("over budget")
    epoch, before = known
    now = vendor.bound(request)
    if epoch == session.epoch.number and now[: len(before)] != before:
        found.wrong.append("thinking was taken away within an epoch")
    epoch = session.epoch.number
    session.extend(vendor.reply(answer), vendor.provider)
    ours = [*now, *_new(vendor, answer)] if session.epoch.number == epoch else []
    for call, call_id in zip(step.calls, vendor.calls(answer), strict=True):
        session.extend([vendor.result(call, call_id)], vendor.provider)
    if step.user is not None:
        session.extend([vendor.user(step.user, step.picture)], vendor.provider)
    # What came with the answer must be there next time, unless a new epoch has begun since.
    return epoch, ours if session.epoch.number == epoch else []


def _new(vendor: Vendor, answer: dict[str, Any]) -> list[str]:
    if vendor.provider == "anthropic":
        return vendor.bound({"messages": vendor.reply(answer)})
    return vendor.bound({"input": vendor.reply(answer)}) if vendor.provider == "openai-responses" else []


def _budget(vendor: Vendor, script: Script, found: Found) -> int:
    """Return the budget: the script's share of its length, or what its largest atom needs, whichever is more."""
    head = _tokens(vendor, [{"role": "user", "content": f"{script.system} {script.task}"}]) + 8
    atoms = [_tokens(vendor, _atom(vendor, step, number)) for number, step in enumerate(script.steps)]
    wanted = int(script.share * (head + sum(atoms)))
    least = head + int(1.2 * max(atoms)) + max(_tokens(vendor, [vendor.user(step.user or "hi", 0)]) for step in script.steps) + 200
    found.raised = least > wanted
    return max(wanted, least)


def _atom(vendor: Vendor, step: Step, number: int) -> list[dict[str, Any]]:
    answer = STRICT[vendor.provider](lambda _: vendor.says(step, number)).create(vendor.asks(Rendered([vendor.user("hi", 0)])))
    results = [vendor.result(call, call_id) for call, call_id in zip(step.calls, vendor.calls(answer), strict=True)]
    return [*vendor.reply(answer), *results, *([] if step.user is None else [vendor.user(step.user, step.picture)])]


def _tokens(vendor: Vendor, messages: list[dict[str, Any]]) -> int:
    return sum(count_turn(default_counter(), turn) for turn in get_format(vendor.provider).parse(messages).turns)


@contextmanager
def unbound_code() -> Iterator[None]:
    """Take the binding out of our code: thinking stands whatever becomes of its prefix."""
    with patch("polycontext.pressure.view.unbound", lambda turn, _: turn):
        yield


def run_all(seeds: Iterable[int], jobs: int, *, unbound: bool = False) -> Iterator[Found]:
    """Yield what each loop came to, in the order of the seeds."""
    run = partial(_run, unbound=unbound)
    if jobs == 1:
        yield from map(run, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(run, seeds, chunksize=20)


def _run(seed: int, *, unbound: bool) -> Found:
    if not unbound:
        return run_loop(seed)
    with unbound_code():
        return run_loop(seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the seeds that have no result yet, print progress and the sums; exit code 1 says that something was wrong."""
    parser = argparse.ArgumentParser(prog="just strict", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", default="0-1999", metavar="A-B", help="first and last seed (default: 0-1999)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at once (default: 2)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="where results are kept, one a line; a run goes on behind them")
    parser.add_argument("--unbound", action="store_true", help="take the binding out of our code, to see that it is missed")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    done = _done(options.results)
    seeds = [seed for seed in range(int(first), int(last or first) + 1) if seed not in done]
    total, wrong, started = Counter[str](), [found for found in done.values() if found["wrong"]], time.perf_counter()
    for found in done.values():
        _add(total, found)
    for number, found in enumerate(run_all(seeds, options.jobs, unbound=options.unbound), 1):
        row = {name: getattr(found, name) for name in Found.__match_args__}
        _add(total, row)
        if found.wrong:
            wrong.append(row)
            print(f"seed {found.seed} ({found.vendor}): {found.wrong[0][:300]}", flush=True)
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if number % BATCH == 0:
            print(
                f"{number} of {len(seeds)} loops, {(time.perf_counter() - started) / number * 1e3:.1f} ms each, {len(wrong)} wrong",
                flush=True,
            )
    print(", ".join(f"{count} {name}" for name, count in total.items()))
    sys.exit(1 if wrong else 0)


def _done(path: Path | None) -> dict[int, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["seed"]: row for row in rows}


def _add(total: Counter[str], row: dict[str, Any]) -> None:
    total.update(
        {
            "loops": 1,
            f"{row['vendor']} loops": 1,
            "steps": row["steps"],
            "requests": row["requests"],
            "new epochs": row["epochs"] - 1,
            "budgets raised to what the largest atom needs": int(row["raised"]),
            "loops with something wrong": int(bool(row["wrong"])),
        }
    )


if __name__ == "__main__":
    main()
