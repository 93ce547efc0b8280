"""Drive scripted tool loops through strict providers, and collect what went wrong.

Each loop runs in a session of defaults under a budget of 10 to 60 % of its length, one vendor after
the other by its seed. In a mixed loop, any vendor may give the next answer, also in the middle of a
tool loop; before each, the requests of all vendors are checked: none may be invalid or leave out
what the window holds without saying so.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any
from unittest.mock import patch

from attrs import define, field

from polycontext import ContextSession
from polycontext.window import REQUEST_OVERHEAD, count_turn, default_counter
from polycontext.window.providers import Rendered, check, get_format
from tests.strict.script import Script, Step, script_of
from tests.strict.transport import STRICT, Ask, in_process, over_http
from tests.strict.vendors import VENDORS, Vendor
from tests.window.tokens.what_leaves import tokens_leaving

LEAST = 100
"""Characters of the shortest data of a picture."""


class Remembering:
    """A default counter that caches each text, because requests repeat most of the last one."""

    exact = True

    def __init__(self) -> None:
        self.count = lru_cache(100_000)(default_counter().count)


COUNTER = Remembering()


@define
class Found:
    """The outcome of a loop: requests, steps, epochs, and each error with its step."""

    vendor: str
    requests: int = 0
    steps: int = 0
    epochs: int = 0
    wrong: list[str] = field(factory=list)


@define
class Loop:
    """Drive one script: send requests, store answers, answer calls, and check every request."""

    vendor: Vendor
    script: Script
    session: ContextSession
    found: Found
    now: tuple[int, Step] = field(init=False)
    epoch: int = 0
    bound: list[str] = field(factory=list)

    def says(self, _: object) -> Any:
        """Return what the model says to any request of this step."""
        number, step = self.now
        return self.vendor.says(step, number)

    def run(self, ask: Ask) -> Found:
        """Go through the script; the first thing that is refused ends it."""
        self.session.add_system(self.script.system)
        self._take([self.vendor.user(self.script.task, 0)])
        for number, step in enumerate(self.script.steps):
            self.now = number, step
            try:
                self._step(ask, step)
            except Exception as error:  # noqa: BLE001 - an SDK raises its own errors
                self.found.wrong.append(f"step {number}: {type(error).__name__}: {error}")
                break
            self.found.steps += 1
        self.found.epochs = self.session.window.epoch.number
        return self.found

    def _step(self, ask: Ask, step: Step) -> None:
        rendered = self.session.request(self.vendor.provider)
        request = self.vendor.asks(rendered)
        sent = self._looked_at(request, rendered)
        answer, said = ask(request, list(rendered.options.get("betas", ())))
        self.found.requests += 1
        if answer.get("input_transformations"):
            self.found.wrong.append(f"the provider dropped {answer['input_transformations']}")
        self._take(said)
        new = self.vendor.bound(self.vendor.said(answer))
        for call, call_id in zip(step.calls, self.vendor.calls(answer), strict=True):
            self._take([self.vendor.result(call, call_id)])
        if step.user is not None:
            self._take([self.vendor.user(step.user, step.picture)])
        # All of it must be there next time, unless a new epoch begins before.
        self.bound = [*sent, *new]

    def _looked_at(self, request: dict[str, Any], rendered: Rendered) -> list[str]:
        """Return the bound parts of a request, after a check of its thinking and its size."""
        sent, window = self.vendor.bound(request), self.session.window
        if self.epoch == self.session.window.epoch.number and sent != self.bound:
            self.found.wrong.append(
                f"step {self.now[0]}: thinking was taken away within epoch {self.epoch}"
            )
        told, leaves = (
            window.total_tokens + REQUEST_OVERHEAD,
            tokens_leaving(COUNTER, self.vendor.provider, rendered.inline()),
        )
        if not leaves <= told <= window.max_tokens:
            self.found.wrong.append(
                f"step {self.now[0]}: {leaves} tokens leave, {told} were told, of "
                f"{window.max_tokens}"
            )
        self.epoch = self.session.window.epoch.number
        return sent

    def _take(self, messages: list[Any]) -> None:
        self.session.extend(messages, self.vendor.provider)


@define
class MixedLoop(Loop):
    """Drive one script through all vendors: a vendor drawn anew gives each answer."""

    random: Random = field(factory=Random)
    asks: dict[str, Ask] = field(factory=dict)

    def _step(self, ask: Ask, step: Step) -> None:
        for vendor in VENDORS:
            self._whole(self.session.request(vendor.provider), vendor.provider)
        self.vendor = self.random.choice(VENDORS)
        # Thinking of one vendor stays behind while another answers.
        self.epoch = -1
        super()._step(self.asks[self.vendor.provider], step)

    def _whole(self, rendered: Rendered, provider: str) -> None:
        """Check that a request is valid and that nothing of the window is missing in silence."""
        check(rendered.messages, provider)
        sent = "\n".join(_texts([rendered.messages, rendered.system]))
        told = set(rendered.left_behind)
        for turn in self.session.window.all_turns():
            said = [turn.text.strip(), *(call.name for call in turn.tool_calls)]
            said += (
                name for call in turn.tool_calls for name in _texts(json.loads(call.arguments))
            )
            missing = [each for each in said if each not in sent]
            pictures = [part for part in turn.parts if part.is_medium]
            missing += [
                part.type
                for part in pictures
                if (turn.resource_id, part.type) not in told
                and not any(len(each) > LEAST and each in sent for each in _payloads(part.data))
            ]
            if missing:
                self.found.wrong.append(
                    f"step {self.now[0]}: {provider} is sent no {missing[0][:60]!r} of {turn.role} "
                    f"{turn.resource_id}"
                )


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            yield str(value)


def _payloads(data: str) -> Iterator[str]:
    return (text.rpartition(",")[2] for text in _texts(json.loads(data)))


def run_mixed(seed: int) -> Found:
    """Drive the loop of `seed` through all vendors, as `run_loop` does through one."""
    script = script_of(seed)
    found = Found("mixed")
    budget = max(budget_of(vendor, script) for vendor in VENDORS)
    random = Random(seed)  # noqa: S311 - a switch is drawn, not a secret
    loop = MixedLoop(VENDORS[0], script, ContextSession(budget), found, random=random)
    loop.asks = {
        vendor.provider: in_process(vendor, STRICT[vendor.provider](loop.says))
        for vendor in VENDORS
    }
    return loop.run(loop.asks[VENDORS[0].provider])


def run_loop(seed: int, *, http: bool = False) -> Found:
    """Drive the loop of `seed`; an error of any kind is among what was wrong."""
    vendor, script = VENDORS[seed % len(VENDORS)], script_of(seed)
    found = Found(vendor.provider)
    loop = Loop(vendor, script, ContextSession(budget_of(vendor, script)), found)
    provider = STRICT[vendor.provider](loop.says)
    if not http:
        return loop.run(in_process(vendor, provider))
    with over_http(vendor, provider) as ask:
        return loop.run(ask)


def budget_of(vendor: Vendor, script: Script) -> int:
    """Return the budget: the script's share of its length, or the largest atom's need if larger."""
    head = _tokens(vendor, [{"role": "user", "content": f"{script.system} {script.task}"}]) + 8
    atoms = [
        _tokens(vendor, _atom(vendor, step, number)) for number, step in enumerate(script.steps)
    ]
    wanted = int(script.share * (head + sum(atoms)))
    least = (
        head
        + int(1.2 * max(atoms))
        + max(
            _tokens(vendor, [vendor.user(step.user or "hi", step.picture)]) for step in script.steps
        )
        + 200
    )
    return max(wanted, least)


def _atom(vendor: Vendor, step: Step, number: int) -> list[dict[str, Any]]:
    answer = STRICT[vendor.provider](lambda _: vendor.says(step, number)).create(
        vendor.asks(Rendered([vendor.user("hi", 0)]))
    )
    results = [
        vendor.result(call, call_id)
        for call, call_id in zip(step.calls, vendor.calls(answer), strict=True)
    ]
    return [
        *vendor.reply(answer),
        *results,
        *([] if step.user is None else [vendor.user(step.user, step.picture)]),
    ]


def _tokens(vendor: Vendor, messages: list[dict[str, Any]]) -> int:
    return sum(
        count_turn(COUNTER, turn) for turn in get_format(vendor.provider).parse(messages).turns
    )


@contextmanager
def unbound_code() -> Generator[None]:
    """Take the binding out of our code: thinking stands whatever becomes of its prefix."""
    with patch("polycontext.pressure.view.unbound", lambda turn, *_: turn):
        yield
