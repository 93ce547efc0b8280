"""Drive scripted tool loops with native background compaction, and count what went wrong.

Usage: python -m tests.native.loops --seeds 0-999 [--jobs N]

A summary arrives some steps after its request, also in the middle of open calls; some summaries
are broken. In between, turns are recalled and erased, and our own summariser runs. At the end the
conversation moves to the other vendor and back.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import Pool
from random import Random
from types import SimpleNamespace
from typing import Any

from attrs import define, evolve, field

from polycontext import ContextSession, ResourceClass
from polycontext.models import AnthropicCompaction, OpenAICompaction
from polycontext.models.provider_editing import editing_options, take_in
from polycontext.polynomial.journal.events import CompressEvent
from polycontext.pressure import ConflictError, Fulfilment
from polycontext.pressure.native import prefix_plan
from polycontext.window import Role, Turn
from tests.polynomial.conversations import text_of
from tests.strict.script import Script, Step, script_of
from tests.strict.vendors import VENDORS, Vendor
from tests.vendors import StrictAnthropic, StrictResponses

ANTHROPIC, RESPONSES, *_ = VENDORS
EDITS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 1500},
        "keep": {"type": "tool_uses", "value": 2},
    },
    "openai-responses": {"type": "compaction", "compact_threshold": 1500},
}
"""The edit that the provider may apply."""

BATCH = 200


@define
class Found:
    """Hold what a conversation came to, and what was wrong, each with its step."""

    seed: int
    counts: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)


@define
class Loop:
    """Drive one script with two vendors; `random` says what else happens."""

    seed: int
    script: Script
    random: Random
    found: Found
    session: ContextSession = field(
        factory=lambda: ContextSession(max_tokens=1_000_000, auto=False)
    )
    now: tuple[int, Step] = field(init=False)
    flying: tuple[int, Fulfilment] | None = None
    fails: bool = False
    edited: bool = field(init=False)
    pinned: set[str] = field(factory=set)
    providers: dict[str, Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.edited = self.seed % 4 >= 2
        self.providers = {
            "anthropic": StrictAnthropic(
                lambda _: ANTHROPIC.says(self.now[1], self.now[0]), summary=self._summary
            ),
            "openai-responses": StrictResponses(lambda _: RESPONSES.says(self.now[1], self.now[0])),
        }

    def run(self) -> Found:
        """Run the script with one vendor, then the other, then back; stop at the first error."""
        first, other = (ANTHROPIC, RESPONSES) if self.seed % 2 == 0 else (RESPONSES, ANTHROPIC)
        self.session.add_system(self.script.system)
        self.session.extend([first.user(self.script.task, 0)], first.provider)
        self.session.extend([first.user("Never touch the folder attic.", 0)], first.provider)
        self.pinned = {turn.resource_id for turn in self.session.window.all_turns()}
        steps = [*enumerate(self.script.steps)]
        turn_at = max(1, 2 * len(steps) // 3)
        try:
            for vendor, part in (
                (first, steps[:turn_at]),
                (other, steps[turn_at:]),
                (first, steps[-1:]),
            ):
                for number, step in part:
                    self.now = number, step
                    self._step(vendor, step)
                self._land(due=False)
                self._replayed()
        except Exception as error:  # noqa: BLE001 - whatever is raised is what was wrong
            self.found.wrong.append(f"step {self.now[0]}: {type(error).__name__}: {error}")
        return self.found

    def _step(self, vendor: Vendor, step: Step) -> None:
        self._meanwhile(vendor)
        rendered = self.session.request(vendor.provider)
        provider = self.providers[vendor.provider]
        options = (
            editing_options(vendor.provider, EDITS[vendor.provider], options=rendered.options)
            if self.edited
            else rendered.options
        )
        request = vendor.asks(evolve(rendered, options=options))
        betas = {"betas": options.get("betas", ())} if vendor is ANTHROPIC else {}
        if self.random.random() < 0.3:
            self._land()
        answer = provider.create(request, **betas)
        self.found.counts["requests"] += 1
        if answer.get("input_transformations"):
            self.found.wrong.append(
                f"step {self.now[0]}: the provider dropped {answer['input_transformations']}"
            )
        if self.edited:
            epoch = self.session.window.epoch.number
            take_in(self.session, answer, vendor.provider)
            self.found.counts["edits taken in"] += self.session.window.epoch.number != epoch
            self._check_preserved()
        else:
            self.session.extend(vendor.reply(answer), vendor.provider)
        self._land()
        for call, call_id in zip(step.calls, vendor.calls(answer), strict=True):
            self.session.extend([vendor.result(call, call_id)], vendor.provider)
            self._land()
        if step.user is not None:
            self.session.extend([vendor.user(step.user, step.picture)], vendor.provider)
        elif not step.calls:
            self.session.extend([vendor.user("Go on.", 0)], vendor.provider)
        self._land()

    # --- what happens in between ---------------------------------------------------

    def _meanwhile(self, vendor: Vendor) -> None:
        chance, session = self.random.random(), self.session
        if self.flying is None and chance < 0.5:
            self._ask(vendor)
            self._land()
        elif chance < 0.55:
            session.compress(0.6 * session.window.total_tokens / session.window.max_tokens)
            self.found.counts["own summaries"] += 1
        elif chance < 0.6 and (gone := self._gone()):
            session.recall(self.random.choice(gone))
            self.found.counts["recalled"] += 1
        elif chance < 0.63 and (gone := self._gone()):
            self._forget(self.random.choice(gone))
        elif chance < 0.66 and (gone := self._gone()):
            self._promote(self.random.choice(gone))
        elif chance < 0.69 and not self.session.window.open_calls:
            self._go_back()

    def _ask(self, vendor: Vendor) -> None:
        window = self.session.window
        plan = prefix_plan(window, int(window.total_tokens * self.random.uniform(0.3, 0.8)))
        if plan.is_empty:
            return
        self.fails = self.random.random() < 0.1
        reading = self.session.conversation.reading if self.random.random() < 0.5 else None
        fulfilment = self._compaction(vendor).fulfil(plan, tools=vendor.tools, reading=reading)
        self.flying = self.random.randint(0, 5), fulfilment
        self.found.counts["summaries asked for"] += 1

    def _compaction(self, vendor: Vendor) -> AnthropicCompaction | OpenAICompaction:
        provider = self.providers[vendor.provider]
        if vendor is ANTHROPIC:
            return AnthropicCompaction(
                _client(lambda betas, **request: provider.create(request, betas=betas)), "claude"
            )
        return OpenAICompaction(
            _client(lambda **request: provider.compact(request)),
            "gpt",
            retained=self.random.random() < 0.5,
        )

    def _land(self, *, due: bool = True) -> None:
        """Land the summary that is under way once it is due."""
        if self.flying is None:
            return
        wait, fulfilment = self.flying
        if due and wait:
            self.flying = wait - 1, fulfilment
            return
        self.flying = None
        before = self.session.window
        try:
            output = self.session.background.commit(fulfilment)
        except ConflictError:
            self.found.counts["conflicts"] += 1
            return
        self.found.counts["not taken" if output.refused else "landed"] += 1
        if output.refused:
            if self.session.window != before:
                self.found.wrong.append(f"step {self.now[0]}: {output.refused} changed something")
            return
        self._looked_at(before, output.compression)

    def _check_preserved(self) -> None:
        standing = {turn.resource_id: turn for turn in self.session.window.all_turns()}
        for turn in self.session.log():
            if turn.resource_id in self.pinned and _words(standing.get(turn.resource_id)) != _words(
                turn
            ):
                self.found.wrong.append(
                    f"{turn.resource_id} was PRESERVED and is {standing.get(turn.resource_id)}"
                )

    def _looked_at(self, before: Any, compression: Any) -> None:
        window, plan = self.session.window, compression.plan
        came = before.total_tokens - plan.window.total_tokens
        if window.total_tokens - came > plan.tokens_promised:
            self.found.wrong.append(
                f"{window.total_tokens - came} tokens, promised were {plan.tokens_promised}"
            )
        standing = {turn.resource_id: turn for turn in window.all_turns()}
        for turn in before.all_turns():
            if before.class_of(turn) is ResourceClass.PRESERVED and _words(
                standing.get(turn.resource_id)
            ) != _words(turn):
                self.found.wrong.append(
                    f"{turn.resource_id} was PRESERVED and is {standing.get(turn.resource_id)}"
                )
        if compression.edit.keeps_bound:
            self._kept_thoughts(before, compression, standing)

    def _kept_thoughts(self, before: Any, compression: Any, standing: dict[str, Turn]) -> None:
        """See that all thinking behind the cut stands, but for that of open calls."""
        edit = compression.edit
        stop = len(before) if edit.unbound_from is None else edit.unbound_from
        for turn in before.all_turns()[edit.splices[0].stop : stop]:
            thought = [
                part for part in turn.parts if part.is_bound and part.provider == "anthropic"
            ]
            self.found.counts["thoughts kept"] += len(thought)
            if not set(thought) <= set(standing[turn.resource_id].parts):
                self.found.wrong.append(
                    f"step {self.now[0]}: the thinking of {turn.resource_id} fell"
                )

    def _gone(self) -> list[str]:
        """Return the ids of turns of the log that gists stand for."""
        standing = {turn.resource_id for turn in self.session.window.all_turns()}
        behind = {
            source for turn in self.session.window.all_turns() for source in turn.sources
        } - standing
        return sorted(each for each in behind if self.session.conversation.log.knows(each))

    def _forget(self, resource_id: str) -> None:
        session = self.session
        holders = {
            turn.resource_id for turn in session.window.all_turns() if resource_id in turn.sources
        }
        if not session.history.forget(resource_id):
            # Gone before this block was made.
            return
        self.found.counts["forgotten"] += 1
        for turn in session.window.all_turns():
            if turn.resource_id in holders and turn.native_providers:
                self.found.wrong.append(f"the provider's block holds {resource_id} still")

    def _promote(self, resource_id: str) -> None:
        if self.session.window.linearity.get(resource_id) is not ResourceClass.PRESERVED:
            self.session.promote(resource_id, ResourceClass.PRESERVED)
            self.found.counts["promoted"] += 1

    def _go_back(self) -> None:
        """Go on from an earlier point, in a copy of the session or in itself."""
        stops = [
            number
            for number, event in enumerate(self.session.history.events(), 1)
            if isinstance(event, CompressEvent) and event.edit.keeps_bound
        ]
        if not stops:
            return
        stop = self.random.choice(stops)
        if self.random.random() < 0.5:
            self.session = self.session.history.fork(f"fork-{self.now[0]}-{stop}", stop)
            self.found.counts["forks"] += 1
        else:
            self.session.history.rewind(stop)
            self.found.counts["rewinds"] += 1
        if self.session.window.open_calls:
            self.session.close_open_calls("the conversation goes on elsewhere")
        if self.session.window.all_turns()[-1].role is Role.ASSISTANT:
            self.session.add_user_turn("Once more.")

    def _replayed(self) -> None:
        again = ContextSession.history.load(text_of(self.session))
        if (
            again.window != self.session.window
            or again.conversation.log != self.session.conversation.log
        ):
            self.found.wrong.append(f"step {self.now[0]}: replaying gives another conversation")

    def _summary(self, request: Any) -> str | None:
        return (
            None
            if self.fails
            else " ".join(["It was said", *["that and more"] * self.random.randint(1, 30)])
        )


def _words(turn: Turn | None) -> Turn | None:
    """Return `turn` without what is bound to its prefix, which falls."""
    return (
        None
        if turn is None
        else evolve(
            turn,
            parts=[part for part in turn.parts if not part.is_bound and part.kind == "block"],
            tokens=None,
        )
    )


def _client(ask: Callable[..., Any]) -> Any:
    """Return what asks a strict provider in process as the vendor's SDK asks it over HTTP."""
    return SimpleNamespace(
        beta=SimpleNamespace(messages=SimpleNamespace(create=ask)),
        responses=SimpleNamespace(compact=ask),
    )


def run_loop(seed: int) -> Found:
    """Drive the conversation of `seed`."""
    return Loop(seed, script_of(seed), Random(seed), Found(seed)).run()  # noqa: S311 - no secret


def run_all(seeds: Iterable[int], jobs: int) -> Iterator[Found]:
    """Yield what each conversation came to, in the order of the seeds."""
    if jobs == 1:
        yield from map(run_loop, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(run_loop, seeds, chunksize=10)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the seeds, print progress and the sums; exit code 1 says that something was wrong."""
    parser = argparse.ArgumentParser(
        prog="just native", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "--seeds", default="0-999", metavar="A-B", help="first and last seed (default: 0-999)"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="processes at once (default: 2)"
    )
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    total, wrong, started = Counter[str](), 0, time.perf_counter()
    for number, found in enumerate(run_all(seeds, options.jobs), 1):
        total.update({"conversations": 1, **found.counts})
        if found.wrong:
            wrong += 1
            print(f"seed {found.seed}: {found.wrong[0][:400]}", flush=True)
        if number % BATCH == 0:
            print(
                (
                    f"{number} of {len(seeds)}, "
                    f"{(time.perf_counter() - started) / number * 1e3:.1f} ms each, {wrong} wrong"
                ),
                flush=True,
            )
    print(", ".join(f"{count} {name}" for name, count in total.items()))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    # What was not taken is counted here, and need not be told one by one.
    logging.getLogger("polycontext").setLevel(logging.ERROR)
    main()
